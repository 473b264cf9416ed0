package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/gate"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// maxSource bounds the bytes that are read of a file that a check may run.
const maxSource = 256 << 10

// guardedPaths returns the paths whose change needs a person's approval in this run:
// the files that its checks run at the commit where the run stands, and the runs
// directory.
func (a *Activities) guardedPaths(ctx context.Context, w *workspace.Workspace, c Call) ([]gate.Guard, error) {
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
		guards = append(guards, gate.Guard{Path: s.Path, Why: display.Line(s.Why)})
	}
	if failed != nil {
		return nil, fmt.Errorf("look up what the checks run: %w", failed)
	}
	top := filepath.Join(c.Repository.Path, filepath.FromSlash(c.Repository.Prefix))
	if rel, err := filepath.Rel(withoutSymlinks(top), withoutSymlinks(a.runs.Dir())); err == nil && filepath.IsLocal(rel) && rel != "." {
		guards = append(guards, gate.Guard{Path: filepath.ToSlash(rel) + "/", Why: "the record of runs"})
	}
	return guards, nil
}

// withoutSymlinks returns the path with its symbolic links resolved, or the path itself
// if they cannot be.
func withoutSymlinks(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return name
}
