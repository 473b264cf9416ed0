package pi

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

//go:embed gate.ts
var gateSource []byte

// lentFiles is the directory of the files that pi loads at its start, readable only
// by our user. It is empty if there are none. It exists as long as pi runs.
type lentFiles string

// lendFiles writes the files. It fails if the gate is needed and cannot be written,
// because pi must not start without it.
func lendFiles(o agent.Options) (lentFiles, error) {
	write := map[string][]byte{}
	if needsGate(o) {
		write[lentFiles("").gatePath()] = gateSource
	}
	if o.System != "" {
		write[lentFiles("").systemPath()] = []byte(o.System)
	}
	if len(write) == 0 {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "ratchet-pi-")
	if err != nil {
		return "", fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	for name, text := range write {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			lentFiles(dir).removeFiles()
			return "", fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
	}
	return lentFiles(dir), nil
}

// needsGate reports whether calls need a permission.
func needsGate(o agent.Options) bool { return o.Sandbox != agent.FullAccess }

func (f lentFiles) gatePath() string   { return filepath.Join(string(f), "gate.ts") }
func (f lentFiles) systemPath() string { return filepath.Join(string(f), "system.md") }
func (f lentFiles) removeFiles()       { os.RemoveAll(string(f)) }
