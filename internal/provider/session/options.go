package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// withOptions returns the options of a start with the run's options. An option that the agent does not take
// ends the call: it is never left out.
func (c *activeCall) withOptions(o agent.Options) (agent.Options, error) {
	x := c.req.Work.Options
	if x.IsZero() {
		return o, nil
	}
	if err := x.Validate(c.Adapter.Kind()); err != nil {
		return o, &failure.Error{Code: failure.BadRequest, Message: err.Error()}
	}
	if err := c.Places.Check(x); err != nil {
		return o, err
	}
	return o, o.AddSetup(x, func(string) (string, bool) { return "", false }) // a run chooses no variables
}

// Places are directories that no option shows to an agent.
type Places struct {
	Home string // the home directory as a whole; empty: unknown
	// State is the state of this program: its runs, and the secrets of its engine. Empty means none.
	State string
}

// Check returns a *failure.Error for a directory that is not there or may not be shown to an agent.
func (p Places) Check(x setup.Options) error {
	for _, dir := range slices.Concat(x.Dirs, x.ReadDirs) {
		if err := p.checkDir(dir); err != nil {
			return &failure.Error{Code: failure.BadRequest, Message: fmt.Sprintf("directory %s: %v", dir, err)}
		}
	}
	return nil
}

func (p Places) checkDir(path string) error {
	if err := box.CheckPath(path, p.Home); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return fmt.Errorf("it is not a directory")
	}
	if p.State == "" {
		return nil
	}
	state, err := filepath.Abs(p.State)
	if err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(state); err == nil {
		state = resolved
	}
	if contains(real, state) || contains(state, real) {
		return fmt.Errorf("it is in the runs directory, or contains it, which agents must not see")
	}
	return nil
}

// contains reports whether path is dir or below it.
func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
