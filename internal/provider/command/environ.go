package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// baseVariables are the variables that every program sees.
var baseVariables = []string{"PATH", "HOME", "USER", "LANG", "TMPDIR"}

func (c command) buildEnviron(req provider.Request) []string {
	ours := map[string]string{}
	names := slices.Concat(baseVariables, c.Allow)
	for _, entry := range c.Environ {
		name, value, _ := strings.Cut(entry, "=")
		ours[name] = value
		if strings.HasPrefix(name, "LC_") {
			names = append(names, name)
		}
	}
	lookup := func(name string) (string, bool) {
		value, ok := ours[name]
		return value, ok
	}
	return proc.Environ(lookup, names, map[string]string{
		proc.RunVariable:    string(req.RunID),
		"RATCHET_PHASE":     string(req.Phase),
		"RATCHET_ITERATION": strconv.Itoa(req.Iteration),
		"RATCHET_ROLE":      string(req.Role),
	})
}
