package pi

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

//go:embed gate.ts
var gate []byte

// files is the directory, which nobody else can read, of what pi loads at its
// start; empty when there is nothing. It is there as long as pi is.
type files string

// lend writes them. Without a gate nothing may start that needs one.
func lend(o agent.Options) (files, error) {
	write := map[string][]byte{}
	if gated(o) {
		write[files("").gate()] = gate
	}
	if o.System != "" {
		write[files("").system()] = []byte(o.System)
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
			files(dir).remove()
			return "", fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
		}
	}
	return files(dir), nil
}

// gated says whether calls have to be asked about.
func gated(o agent.Options) bool { return o.Sandbox != agent.FullAccess }

func (f files) gate() string   { return filepath.Join(string(f), "gate.ts") }
func (f files) system() string { return filepath.Join(string(f), "system.md") }
func (f files) remove()        { os.RemoveAll(string(f)) }
