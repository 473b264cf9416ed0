package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

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

// Open implements fs.FS.
func (c *CommitFS) Open(name string) (fs.File, error) {
	failed := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return failed(fs.ErrInvalid)
	}
	e, err := c.store.findEntry(c.ctx, c.commit, "", name)
	if err != nil || e.Mode != git.ModeTree && !e.Mode.Regular() {
		return failed(errors.Join(err, fs.ErrNotExist))
	}
	f := &commitFile{info: commitInfo{name: path.Base(name), mode: e.Mode}}
	if e.Mode == git.ModeTree {
		entries, err := c.store.treeEntries(c.ctx, e.ID)
		if err != nil {
			return failed(err)
		}
		for _, e := range entries {
			if e.Mode == git.ModeTree || e.Mode.Regular() {
				f.entries = append(f.entries, commitEntry{commitInfo{name: e.Name, mode: e.Mode}, c, path.Join(name, e.Name)})
			}
		}
		return f, nil
	}
	o, err := c.store.objects.Read(c.ctx, e.ID, maxFile)
	if err != nil {
		return failed(err)
	}
	f.info.size, f.rest = o.Size, o.Content
	return f, nil
}

// commitFile is an open file or directory of a commit.
type commitFile struct {
	info    commitInfo
	rest    []byte
	entries []fs.DirEntry
}

func (f *commitFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *commitFile) Close() error               { return nil }

func (f *commitFile) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// ReadDir implements fs.ReadDirFile.
func (f *commitFile) ReadDir(n int) ([]fs.DirEntry, error) {
	list := f.entries
	if n > 0 {
		if len(list) == 0 {
			return nil, io.EOF
		}
		list = list[:min(n, len(list))]
	}
	f.entries = f.entries[len(list):]
	return list, nil
}

// commitEntry is an entry of a directory. Its size is read when it is asked for.
type commitEntry struct {
	commitInfo
	in   *CommitFS
	path string
}

func (e commitEntry) Type() fs.FileMode          { return e.Mode().Type() }
func (e commitEntry) Info() (fs.FileInfo, error) { return fs.Stat(e.in, e.path) }

type commitInfo struct {
	name string
	mode git.Mode
	size int64
}

func (i commitInfo) Name() string       { return i.name }
func (i commitInfo) Size() int64        { return i.size }
func (i commitInfo) ModTime() time.Time { return time.Time{} }
func (i commitInfo) IsDir() bool        { return i.mode == git.ModeTree }
func (i commitInfo) Sys() any           { return nil }

func (i commitInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return i.mode.Perm()
}
