package activities

import (
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/gate"
)

// guardedPaths returns the paths whose change needs a person's approval in this run:
// the files that its checks name, and the runs directory.
func (a *Activities) guardedPaths(c Call) []gate.Guard {
	var guards []gate.Guard
	for _, s := range check.FindSources(c.Checks) {
		guards = append(guards, gate.Guard{Path: s.Path, Why: display.Line(s.Why)})
	}
	top := filepath.Join(c.Repository.Path, filepath.FromSlash(c.Repository.Prefix))
	if rel, err := filepath.Rel(withoutSymlinks(top), withoutSymlinks(a.runs.Dir())); err == nil && filepath.IsLocal(rel) && rel != "." {
		guards = append(guards, gate.Guard{Path: filepath.ToSlash(rel) + "/", Why: "the record of runs"})
	}
	return guards
}

// withoutSymlinks returns the path with its symbolic links resolved, or the path itself
// if they cannot be.
func withoutSymlinks(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}
