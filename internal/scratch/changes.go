package scratch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/workspace"
)

// Changes returns the canonical diff of the files in the checkout against its commit, with paths
// relative to Prefix. The diff is empty when nothing was changed. Only the files count, not the
// commits made in the checkout. Files that the commit does not have count when no .gitignore covers
// them. patch.Plan of the diff, on the commit and with the same limits, gives the files as git
// would store them.
//
// The error is an *UnfitError when the checkout has a change that a patch cannot carry, and matches
// ErrNotMade when there is no checkout.
func (s *Scratch) Changes(ctx context.Context, limits patch.Limits) ([]byte, error) {
	held, err := s.lockDir(ctx)
	if err != nil {
		return nil, fmt.Errorf("changes of the checkout: %w", err)
	}
	defer held.Close()
	diff, err := s.changesLocked(ctx, held, limits)
	if errors.Is(err, ErrNotMade) { // makes Made report the same
		_ = os.Remove(s.pathOf(madeName))
	}
	if err != nil {
		return nil, fmt.Errorf("changes of the checkout: %w", err)
	}
	return diff, nil
}

func (s *Scratch) changesLocked(ctx context.Context, held *os.File, limits patch.Limits) (_ []byte, err error) {
	index, err := s.loadIndex()
	if err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(s.pathOf(treeName))
	if errors.Is(err, fs.ErrPermission) {
		return nil, &UnfitError{[]Unfit{{relativeTo(s.spec.Prefix, "."), noDirectory}}}
	}
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	stage, err := s.makeStage(held)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.close()) }()
	limits = withDefaults(limits)
	v := &survey{
		index: index, tree: tree, stage: stage, prefix: s.spec.Prefix, limits: limits,
		seen: map[string]bool{}, names: len(index.entries) + maxNames, bytes: int64(limits.Total),
		unfits: unfits{prefix: s.spec.Prefix},
	}
	if err := v.run(ctx); errors.Is(err, errEnough) {
		return nil, v.err()
	} else if err != nil {
		return nil, err
	}
	failpoint.Hit("scratch.mid-changes")
	return v.proveDiff(ctx)
}

// withDefaults fills in the limits that bound the reads, as package patch does.
func withDefaults(l patch.Limits) patch.Limits {
	l.Files = cmp.Or(l.Files, 500)
	l.File = cmp.Or(l.File, 64<<20)
	l.Total = cmp.Or(l.Total, 256<<20)
	return l
}

// proveDiff makes the patch from the results of the survey, and proves it.
func (v *survey) proveDiff(ctx context.Context) ([]byte, error) {
	if len(v.changed)+len(v.added)+len(v.gone) == 0 {
		return nil, v.err()
	}
	records, err := v.diffRecords(ctx)
	if err != nil {
		return nil, err
	}
	objects := git.NewObjects(v.stage.repo)
	defer objects.Close()
	change, err := v.readChange(ctx, objects, records)
	if err != nil {
		return nil, err
	}
	if len(change.Files) == 0 {
		return nil, v.err()
	}
	diff, err := v.proveChange(workspace.TreeOf(ctx, objects, v.prefix, v.index.commit), change)
	if err != nil {
		return nil, err
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	return diff, nil
}

// diffRecords returns git's diff of the files on the stage. It includes every new and every deleted
// file.
func (v *survey) diffRecords(ctx context.Context) ([]record, error) {
	records, err := v.stage.diffFromCommit(ctx, git.ID(v.index.commit), v.gone, slices.Concat(v.changed, v.added))
	if err != nil {
		if name, why := encodingComplaint(err, v.changed, v.added); name != "" {
			v.add(name, "%s", why)
			return nil, nil
		}
		return nil, err
	}
	told := map[string]bool{}
	for _, r := range records {
		told[r.path], told[r.renamedFrom] = true, true
	}
	for _, name := range slices.Concat(v.added, v.gone) {
		if !told[name] {
			return nil, fmt.Errorf("git left out %q", name)
		}
	}
	return records, nil
}

// encodingComplaint recognizes git's complaint about a file that is not in the encoding that its
// attribute working-tree-encoding states.
func encodingComplaint(err error, paths ...[]string) (name, why string) {
	e, ok := errors.AsType[*git.Error](err)
	if !ok || !strings.Contains(e.Stderr, "encod") {
		return "", ""
	}
	for _, name := range slices.Concat(paths...) {
		if strings.Contains(e.Stderr, "'"+name+"'") {
			return name, "the file is not in the encoding that .gitattributes states for it"
		}
	}
	return "", ""
}

// readChange reads the bytes before and after. It notes each file over the limits and leaves it out.
func (v *survey) readChange(ctx context.Context, objects *git.Objects, records []record) (*patch.Change, error) {
	c := &patch.Change{}
	if len(records) > v.limits.Files {
		v.add("", "%d files were changed; at most %d are allowed", len(records), v.limits.Files)
		return c, nil
	}
	left := v.limits.Total
	for _, r := range records {
		f, err := v.fileChange(ctx, objects, r)
		if errors.Is(err, patch.ErrTooLarge) {
			v.add(r.path, "the file has or had more than %d bytes", v.limits.File)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, side := range []*patch.File{f.Before, f.After} {
			if side != nil {
				left -= len(side.Content)
			}
		}
		if left < 0 {
			v.add("", "the changed files have more than %d bytes, before and after", v.limits.Total)
			return &patch.Change{}, nil
		}
		c.Files = append(c.Files, f)
	}
	slices.SortFunc(c.Files, func(a, b patch.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return c, nil
}

func (v *survey) fileChange(ctx context.Context, objects *git.Objects, r record) (patch.FileChange, error) {
	f := patch.FileChange{Path: relativeTo(v.prefix, r.path), Kind: kindsOf[r.status]}
	switch {
	case f.Kind == "":
		return f, fmt.Errorf("git diff-index: %s: unexpected status %c", r.path, r.status)
	case f.Kind == patch.Renamed:
		f.OldPath = relativeTo(v.prefix, r.renamedFrom)
	case f.Kind == patch.Modified && r.before == r.after:
		f.Kind = patch.ModeOnly
	}
	read := func(id git.ID, mode git.Mode) (*patch.File, error) {
		o, err := objects.Read(ctx, id, int64(v.limits.File))
		if err == nil && o.Size > int64(v.limits.File) {
			err = patch.ErrTooLarge
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.path, err)
		}
		file := &patch.File{Mode: patch.Regular, Content: o.Content}
		if mode.Executable() {
			file.Mode = patch.Executable
		}
		return file, nil
	}
	var err1, err2 error
	if f.Kind != patch.Added {
		f.Before, err1 = read(r.before, r.oldMode)
	}
	if f.Kind != patch.Deleted {
		f.After, err2 = read(r.after, r.newMode)
	}
	return f, errors.Join(err1, err2)
}

var kindsOf = map[byte]patch.Kind{'A': patch.Added, 'D': patch.Deleted, 'M': patch.Modified, 'R': patch.Renamed}

// proveChange renders c and plans it again, as the run will. It notes refused files, one by one where
// that says more.
func (v *survey) proveChange(b patch.Tree, c *patch.Change) ([]byte, error) {
	diff := c.Diff()
	planned, err := patch.Plan(b, diff, v.limits)
	refusal, refused := errors.AsType[*patch.Refusal](err)
	switch {
	case err != nil && !refused:
		return nil, err
	case err == nil && bytes.Equal(planned.Diff(), diff):
		return diff, nil
	case err == nil:
		v.add("", "the changes cannot be shown as a diff")
		return nil, nil
	}
	known := len(v.noted)
	for _, f := range c.Files {
		_, err := patch.Plan(b, (&patch.Change{Files: []patch.FileChange{f}}).Diff(), v.limits)
		if r, ok := errors.AsType[*patch.Refusal](err); ok {
			v.noted = append(v.noted, Unfit{f.Path, r.Message})
		} else if err != nil {
			return nil, err
		}
	}
	if len(v.noted) == known {
		v.noted = append(v.noted, Unfit{refusal.Path, refusal.Message})
	}
	return nil, nil
}
