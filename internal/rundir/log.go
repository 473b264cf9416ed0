package rundir

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Log levels.
const (
	Info  = "INFO"
	Error = "ERROR"
)

// Log appends one line to logs/<name>.log: time, level, message, fields.
func (d *Dir) Log(name, level, msg string, fields any) error {
	root, err := d.open()
	if err != nil {
		return err
	}
	defer root.Close()
	return logLine(root, name, time.Now(), level, msg, fields)
}

func logLine(root *os.Root, name string, at time.Time, level, msg string, fields any) error {
	b, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	if err := root.MkdirAll("logs", 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(path.Join("logs", name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "[%s] [%s] %s %s\n", at.UTC().Format(time.RFC3339Nano), level, msg, b)
	return err
}

// logEvents writes what the contract wants in the logs too: the gate's
// decisions and every error.
func (d *Dir) logEvents(root *os.Root, events []run.Event) error {
	for _, e := range events {
		name, level := "", Info
		switch e.Payload.(type) {
		case run.ApprovalRequested, run.ApprovalGranted, run.ApprovalRejected:
			name = "gatekeeper"
		case run.PatchApplyFailed:
			name, level = "gatekeeper", Error
		case run.PhaseFailed:
			name, level = "provider-"+string(e.Phase), Error
		default:
			continue
		}
		if err := logLine(root, name, e.TS, level, string(e.Type), e.Payload); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	return nil
}
