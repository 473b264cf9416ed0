package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/gate"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// maxSource bounds what is read of a file that a check may run.
const maxSource = 256 << 10

// guards are the paths whose change needs a person in this run: what its checks
// run at the commit where it stands, and the runs directory.
func (a *Activities) guards(ctx context.Context, w *workspace.Workspace, c Call) ([]gate.Guard, error) {
	var failed error
	read := func(name string) (string, bool) {
		text, _, err := w.Read(ctx, c.Head, name, maxSource)
		if _, other := errors.AsType[*patch.EntryError](err); err != nil && !other && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		return string(text), err == nil
	}
	var guards []gate.Guard
	for _, s := range check.FindSources(c.Checks, read) {
		guards = append(guards, gate.Guard{Path: s.Path, Why: patch.Display(s.Why)})
	}
	if failed != nil {
		return nil, fmt.Errorf("look up what the checks run: %w", failed)
	}
	top := filepath.Join(c.Repository.Path, filepath.FromSlash(c.Repository.Prefix))
	if rel, err := filepath.Rel(resolved(top), resolved(a.runs.Dir())); err == nil && filepath.IsLocal(rel) && rel != "." {
		guards = append(guards, gate.Guard{Path: filepath.ToSlash(rel) + "/", Why: "the record of runs"})
	}
	return guards, nil
}

// resolved is a path without symbolic links, as far as that can be told.
func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}
