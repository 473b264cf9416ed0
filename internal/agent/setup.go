package agent

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

// errNoVariable reports a variable that the worker lacks.
var errNoVariable = errors.New("the worker has no such variable")

// AddSetup adds what a caller has chosen to the options of a start. Servers is the path of a file with
// the content of setup.Options.ServerFile; empty if there are none. Lookup finds a variable of the
// worker.
func (o *Options) AddSetup(s setup.Options, servers string, lookup func(string) (string, bool)) error {
	o.Sticky.Mode, o.System, o.Dirs, o.MCPConfig = s.Mode, s.System, s.Dirs, servers
	o.Tools, o.NoTools = s.Tools, s.NoTools
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
