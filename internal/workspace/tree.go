package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const (
	maxFile = 64 << 20 // bytes of a file that a patch may touch, as in patch.Limits
	maxTree = 64 << 20 // bytes of one directory's tree object: about a million names
)

// Tree returns the state of commit below Prefix. It reads the repository's objects on demand and
// never reads the work tree. It is valid until ctx ends, for one goroutine at a time.
func (w *Workspace) Tree(ctx context.Context, commit run.Commit) patch.Tree {
	return TreeOf(ctx, w.objects, w.spec.Prefix, commit)
}

// TreeOf is Tree for a commit among any objects.
func TreeOf(ctx context.Context, objects *git.Objects, prefix string, commit run.Commit) patch.Tree {
	return &tree{ctx: ctx, commit: commit, prefix: prefix, store: newStore(objects)}
}

// tree keeps the context because patch.Tree has none. A plan is pure except for these reads.
type tree struct {
	ctx    context.Context
	commit run.Commit
	prefix string
	store  *store
}

func (t *tree) Lookup(name string) (patch.File, error) {
	e, err := t.findEntry(name)
	if err != nil {
		return patch.File{}, err
	}
	if !e.Mode.Regular() {
		return patch.File{}, &patch.EntryError{Path: name, Entry: entryKind(e.Mode)}
	}
	o, err := t.store.objects.Read(t.ctx, e.ID, maxFile)
	if err != nil {
		return patch.File{}, fmt.Errorf("read %s of %s: %w", name, t.commit, err)
	}
	if o.Size > maxFile {
		return patch.File{}, fmt.Errorf("%s: %d bytes: %w", name, o.Size, patch.ErrTooLarge)
	}
	return patch.File{Mode: fileMode(e.Mode), Content: o.Content}, nil
}

func (t *tree) Names(dir string) ([]string, error) {
	e, err := t.findEntry(dir)
	if err != nil {
		return nil, err
	}
	if e.Mode != git.ModeTree {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	entries, err := t.store.treeEntries(t.ctx, e.ID)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names, nil
}

func (t *tree) findEntry(name string) (git.Entry, error) {
	return t.store.findEntry(t.ctx, t.commit, t.prefix, name)
}

func fileMode(m git.Mode) patch.Mode {
	if m.Executable() {
		return patch.Executable
	}
	return patch.Regular
}

// entryKind returns the kind of an entry that is not a regular file.
func entryKind(m git.Mode) patch.EntryKind {
	switch m {
	case git.ModeTree:
		return patch.Directory
	case git.ModeSymlink:
		return patch.Symlink
	case git.ModeGitlink:
		return patch.Gitlink
	}
	return patch.Special
}

// store reads commits and trees, each tree once.
type store struct {
	objects *git.Objects

	mu    sync.Mutex
	roots map[run.Commit]git.ID
	trees map[git.ID][]git.Entry
}

func newStore(o *git.Objects) *store {
	return &store{objects: o, roots: map[run.Commit]git.ID{}, trees: map[git.ID][]git.Entry{}}
}

// rootOf returns the id of a commit's tree.
func (s *store) rootOf(ctx context.Context, commit run.Commit) (git.ID, error) {
	s.mu.Lock()
	id, ok := s.roots[commit]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	o, err := s.objects.Read(ctx, git.ID(commit), 1<<10)
	if err != nil {
		return "", fmt.Errorf("read commit: %w", err)
	}
	line, _, _ := strings.Cut(string(o.Content), "\n")
	text, ok := strings.CutPrefix(line, "tree ")
	if id = git.ID(text); o.Kind != git.Commit || !ok || !id.Valid() {
		return "", fmt.Errorf("read commit %s: it is a %s", commit, o.Kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roots[commit] = id
	return id, nil
}

// treeEntries returns the entries of one directory. The caller must not change them.
func (s *store) treeEntries(ctx context.Context, id git.ID) ([]git.Entry, error) {
	s.mu.Lock()
	entries, ok := s.trees[id]
	s.mu.Unlock()
	if ok {
		return entries, nil
	}
	o, err := s.objects.Read(ctx, id, maxTree)
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	if o.Kind != git.Tree || o.Size > maxTree {
		return nil, fmt.Errorf("read tree %s: a %s of %d bytes", id, o.Kind, o.Size)
	}
	if entries, err = git.ParseTree(id, o.Content); err != nil {
		return nil, fmt.Errorf("read tree %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[id] = entries
	return entries, nil
}

// findEntry looks up name below prefix. It returns the errors of [patch.Tree]'s Lookup, but accepts any
// kind of entry at the path itself. Names in errors are relative to prefix.
func (s *store) findEntry(ctx context.Context, commit run.Commit, prefix, name string) (git.Entry, error) {
	id, err := s.rootOf(ctx, commit)
	if err != nil {
		return git.Entry{}, err
	}
	at := git.Entry{Mode: git.ModeTree, ID: id}
	full := path.Join(prefix, name)
	if full == "." || full == "" {
		return at, nil
	}
	walked := ""
	for part := range strings.SplitSeq(full, "/") {
		if at.Mode != git.ModeTree {
			return git.Entry{}, blockedError(prefix, walked, at.Mode)
		}
		entries, err := s.treeEntries(ctx, at.ID)
		if err != nil {
			return git.Entry{}, err
		}
		next, ok := lookupEntry(entries, part)
		if !ok {
			return git.Entry{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		at, walked = next, path.Join(walked, part)
	}
	return at, nil
}

// blockedError returns the error for a path with a parent that is not a directory.
func blockedError(prefix, at string, m git.Mode) error {
	kind := patch.Parent
	if !m.Regular() {
		kind = entryKind(m)
	}
	return &patch.EntryError{Path: strings.TrimPrefix(strings.TrimPrefix(at, prefix), "/"), Entry: kind}
}

func lookupEntry(entries []git.Entry, name string) (git.Entry, bool) {
	for _, e := range entries {
		if e.Name == name {
			return e, true
		}
	}
	return git.Entry{}, false
}
