package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

// errNoVariable reports a variable that the worker lacks.
var errNoVariable = errors.New("the worker does not have this variable")

// AddSetup adds what a caller has chosen to the options of a start. Lookup finds a variable of the
// worker.
func (o *Options) AddSetup(s setup.Options, lookup func(string) (string, bool)) error {
	o.Sticky.Mode, o.System, o.Servers = s.Mode, s.System, s.Servers
	o.Dirs, o.ReadDirs, o.Tools, o.NoTools = s.Dirs, s.ReadDirs, s.Tools, s.NoTools
	if s.MaxOutputTokens > 0 && (o.MaxOutputTokens == 0 || s.MaxOutputTokens < o.MaxOutputTokens) {
		o.MaxOutputTokens = s.MaxOutputTokens
	}
	for _, entry := range s.Env {
		if !strings.Contains(entry, "=") {
			value, ok := lookup(entry)
			if !ok {
				return fmt.Errorf("%s: %w", entry, errNoVariable)
			}
			entry += "=" + value
		}
		o.Env = append(o.Env, entry)
	}
	return nil
}

// OptionChecker is an adapter that can tell before a start that its agent will not take some options.
type OptionChecker interface {
	Adapter

	// CheckOptions returns a *failure.Error if no session with these options can start, as far as that is
	// known before. It needs no Dir, and begins no session.
	CheckOptions(ctx context.Context, o Options) error
}
