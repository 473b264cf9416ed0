package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"testing/fstest"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// InspectLatest is Inspect for the repository of a run. The mirror of a URL gets what base means on the server now.
func InspectLatest(ctx context.Context, mirrors remote.Mirrors, r run.Repository, base string) (Source, error) {
	if r.URL == "" {
		return Inspect(ctx, r.Path, base)
	}
	at, err := mirrors.Fetch(ctx, r.URL, base)
	if err != nil {
		return Source{}, err
	}
	return Inspect(ctx, at.Path, string(at.Commit))
}

// CommitFS is the tree of a commit as a file system. It is valid until its context ends. Close it.
type CommitFS struct {
	ctx    context.Context
	commit run.Commit
	store  *store
}

// OpenCommit returns the files of a commit of the repository with the git directory dir. Links and submodules are not
// there, so no name leads out of the commit.
func OpenCommit(ctx context.Context, dir string, commit run.Commit) *CommitFS {
	return &CommitFS{ctx, commit, newStore(git.NewObjects(git.Repo{Dir: dir, GitDir: dir}))}
}

// Close ends the process that reads.
func (c *CommitFS) Close() error { return c.store.objects.Close() }

// Open implements fs.FS. A directory lists its files without their sizes.
func (c *CommitFS) Open(name string) (fs.File, error) {
	failed := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return failed(fs.ErrInvalid)
	}
	e, err := c.store.findEntry(c.ctx, c.commit, "", name)
	if err != nil || e.Mode != git.ModeTree && !e.Mode.Regular() {
		return failed(errors.Join(err, fs.ErrNotExist))
	}
	if e.Mode != git.ModeTree {
		o, err := c.store.objects.Read(c.ctx, e.ID, maxFile)
		if err != nil {
			return failed(err)
		}
		return fstest.MapFS{name: {Mode: e.Mode.Perm(), Data: o.Content}}.Open(name)
	}
	entries, err := c.store.treeEntries(c.ctx, e.ID)
	if err != nil {
		return failed(err)
	}
	files := fstest.MapFS{name: {Mode: fs.ModeDir | 0o555}}
	for _, e := range entries {
		if e.Mode == git.ModeTree {
			files[path.Join(name, e.Name)] = &fstest.MapFile{Mode: fs.ModeDir | 0o555}
		} else if e.Mode.Regular() {
			files[path.Join(name, e.Name)] = &fstest.MapFile{Mode: e.Mode.Perm()}
		}
	}
	return files.Open(name)
}
