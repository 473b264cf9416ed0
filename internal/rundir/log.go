package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Log levels.
const (
	Info  = "INFO"
	Error = "ERROR"
)

// Log appends one line to logs/<name>.log: time, level, message, and the fields as JSON.
func (d *Dir) Log(name, level, msg string, fields any) error {
	root, err := d.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	return logLine(root, name, time.Now(), level, msg, fields)
}

// Logged reports whether a line of logs/<name>.log has the text. A log that cannot be read has none.
func (d *Dir) Logged(name, text string) bool {
	root, err := d.openRoot()
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := file.OpenIn(root, path.Join("logs", name+".log"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

func logLine(root *os.Root, name string, at time.Time, level, msg string, fields any) error {
	b, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	var f *os.File
	err = inDir(root, "logs", func() (err error) {
		f, err = openLogFile(root, path.Join("logs", name+".log"))
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "[%s] [%s] %s %s\n", at.UTC().Format(time.RFC3339Nano), level, msg, b)
	return err
}

// openLogFile opens a log. It does not wait for a pipe in the log's place, but
// removes it.
func openLogFile(root *os.Root, name string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | unix.O_NONBLOCK
	f, err := root.OpenFile(name, flags, 0o600)
	if err == nil {
		info, serr := f.Stat()
		if serr != nil || info.Mode().IsRegular() {
			return f, serr
		}
		err = errors.Join(unix.ENXIO, f.Close())
	}
	if !errors.Is(err, unix.ENXIO) {
		return nil, err
	}
	if err := root.RemoveAll(name); err != nil {
		return nil, err
	}
	return root.OpenFile(name, flags|os.O_EXCL, 0o600)
}

// passage is the entry in the gate's log for a patch that passed the gate.
type passage struct {
	Policy   run.Policy `json:"policy"`
	Approval string     `json:"approvalId,omitempty"` // empty: no person was asked
	Risks    []string   `json:"risks"`
	run.PatchApplied
}

// logEvents writes the events to the logs that the contract wants there too: the
// gate's decisions, every error, and the end of the run.
func (d *Dir) logEvents(j *journal, events []run.Event) error {
	for _, e := range events {
		name, level := "", Info
		var fields any = e.Payload
		switch p := e.Payload.(type) {
		case run.ApprovalRequested, run.ApprovalGranted, run.ApprovalRejected:
			name = "gatekeeper"
		case run.PatchApplied:
			name, fields = "gatekeeper", j.passageOf(e, p)
		case run.PatchApplyFailed:
			name, level = "gatekeeper", Error
		case run.PhaseFailed:
			name, level = "provider-"+string(e.Phase), Error
		case run.RunFailed:
			name, level = "run", Error
		case run.RunCanceled, run.RunCompleted:
			name = "run"
		default:
			continue
		}
		if err := logLine(j.root, name, e.TS, level, string(e.Type), fields); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	return nil
}

// passageOf returns the reason why the patch passed the gate: the policy, and the
// approval. The approval is empty if no person had to be asked.
func (j *journal) passageOf(applied run.Event, p run.PatchApplied) passage {
	out := passage{Risks: []string{}, PatchApplied: p}
	for _, l := range slices.Backward(j.lines) {
		if l.seq >= applied.Seq() {
			continue
		}
		switch e := l.decodeEvent(run.ApprovalGrantedEvent, run.PatchProducedEvent); p := e.Payload.(type) {
		case run.ApprovalGranted:
			out.Approval = p.ApprovalID
		case run.PatchProduced:
			out.Risks = append(out.Risks, risksOf(p, out.Patch)...)
			out.Policy = j.readPolicy()
			return out
		}
	}
	return out
}

// risksOf returns the risks of the patch. The patch may come from a rival.
func risksOf(p run.PatchProduced, patch run.Digest) []string {
	if p.Patch.Digest == patch {
		return p.Risks
	}
	for _, r := range p.Rivals {
		if r.Proposal != nil && r.Proposal.Patch.Digest == patch {
			return r.Proposal.Risks
		}
	}
	return nil
}

func (j *journal) readPolicy() run.Policy {
	created, _ := j.lines[0].decodeEvent(run.RunCreatedEvent).Payload.(run.RunCreated)
	return created.Policy
}

// decodeEvent decodes the line if its event has one of the types. Otherwise it returns the
// zero event.
func (l line) decodeEvent(types ...run.EventType) (e run.Event) {
	for _, t := range types {
		if bytes.Contains(l.b, []byte(`"type":"`+t+`"`)) && json.Unmarshal(l.b, &e) == nil && e.Type == t {
			return e
		}
	}
	return run.Event{}
}
