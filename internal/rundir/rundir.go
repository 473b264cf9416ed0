// Package rundir keeps the record of runs on disk: state.json, events.ndjson,
// artifacts and logs, in the layout of docs/contracts/run.md, 9. The record is a
// projection that a worker writes from a run's events. The workflow is the truth.
// Every write may be repeated: a second one changes nothing.
package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// MaxArtifact is the largest number of bytes that Load reads.
const MaxArtifact = 64 << 20

// Store is a runs directory: the records of many runs, and their workspaces.
type Store struct {
	dir   string
	seals *syncedSeals
}

// Check refuses a runs directory whose files may come from another user, or from
// a repository with a commit that has files in the directory. Such a directory
// must be neither trusted nor written. A missing directory is accepted. The error
// is one line with the remedy.
func Check(ctx context.Context, dir string) error {
	err := file.CheckDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the runs directory: %w; or name another directory of yours with --runs-dir DIR", err)
	}
	name, err := git.Tracked(ctx, dir)
	if err != nil {
		return fmt.Errorf("the runs directory: %w", err)
	}
	if name != "" {
		return fmt.Errorf("the runs directory %s is not used: git has checked out %q there, so the author of a repository may have written it; name a directory outside of the repository with --runs-dir DIR", dir, name)
	}
	return nil
}

// Open opens the runs directory and makes it if it does not exist. It refuses what
// Check refuses. A .gitignore in the directory keeps it out of any git repository
// around it.
func Open(ctx context.Context, dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := Check(ctx, abs); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(abs, "workflows"), 0o700); err != nil {
		return nil, fmt.Errorf("make the runs directory: %w", err)
	}
	ignore := filepath.Join(abs, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return nil, fmt.Errorf("keep git out of the runs directory: %w", err)
		}
	}
	s := &Store{dir: abs, seals: newSyncedSeals()}
	for _, dir := range []string{s.Workspace(""), s.Scratch("")} {
		if err := writeFence(dir); err != nil {
			return nil, fmt.Errorf("keep programs out of the repository around the runs directory: %w", err)
		}
	}
	return s, nil
}

// writeFence keeps a git that runs below dir, and finds no repository there, from
// searching further up, where the user's repository may be. It writes a file .git
// that names no repository. Git stops at such a file.
func writeFence(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(dir, ".git")
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(name, []byte("gitdir: none\n"), 0o600)
}

// Dir returns the absolute path of the runs directory.
func (s *Store) Dir() string { return s.dir }

// Workspace returns the path of the run's worktree.
func (s *Store) Workspace(id run.ID) string { return filepath.Join(s.dir, "workspaces", string(id)) }

// Scratch returns the path of the run's own temporary directory, which is HOME for
// its checks.
func (s *Store) Scratch(id run.ID) string { return filepath.Join(s.dir, "tmp", string(id)) }

// Cache returns the path of the cache directory that the checks of runs on the
// repository share if the box does not hold them.
func (s *Store) Cache(repository string) string {
	return filepath.Join(s.dir, "cache", string(run.DigestOf([]byte(repository)))[:16])
}

// Layers returns the path of the directory in which the caches of the checks of a
// repository are kept between runs in the box.
func (s *Store) Layers(repository string) string {
	return filepath.Join(s.dir, "layers", string(run.DigestOf([]byte(repository)))[:16])
}

// Mirrors returns the path of the directory in a runs directory that holds the mirrors of repositories with a URL.
func Mirrors(dir string) string { return filepath.Join(dir, "mirrors") }

// Attempts returns the path of the directory in which the workers of this host note
// their current work; see package attempts.
func (s *Store) Attempts() string { return filepath.Join(s.dir, "attempts") }

// Run returns the record of one run. The first write makes the directory.
func (s *Store) Run(id run.ID) *Dir {
	path := filepath.Join(s.dir, "workflows", string(id))
	return s.dirAt(path, path)
}

// dirAt returns a directory that belongs to the record at a path, if to any.
func (s *Store) dirAt(path, record string) *Dir {
	return &Dir{path: path, record: record, seals: s.seals}
}

// OfRun returns the record of a run in a runs directory, which has one, or whose bucket has one. An empty runs directory
// has none.
func OfRun(runsDir string, id run.ID) (*Dir, error) {
	if runsDir == "" {
		return nil, fs.ErrNotExist
	}
	if err := refresh(runsDir, id); err != nil {
		return nil, err
	}
	return At(filepath.Join(runsDir, "workflows", string(id)))
}

// IDs returns the runs that have a record in a runs directory, or in its bucket.
func IDs(runsDir string) (ids []run.ID, err error) {
	ids, err = idsOnDisk(runsDir)
	if b := Bucket(runsDir); b != nil && err == nil {
		names, wrong := b.Names(context.Background(), "runs/")
		for _, name := range names {
			if id := run.ID(name); id.Validate() == nil {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids), wrong
	}
	return ids, err
}

func idsOnDisk(runsDir string) (ids []run.ID, err error) {
	entries, err := os.ReadDir(filepath.Join(runsDir, "workflows"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if id := run.ID(entry.Name()); id.Validate() == nil && entry.IsDir() {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// At returns the record in an existing directory.
func At(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", abs)
	}
	return &Dir{path: abs, seals: newSyncedSeals()}, nil
}

// Dir is the record of one run.
type Dir struct {
	path   string
	record string // that Publish publishes; empty: none
	seals  *syncedSeals
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// openRoot makes the directory if it does not exist and returns it as a root. The
// kernel enforces that no access through the root leaves the directory.
func (d *Dir) openRoot() (*os.Root, error) {
	root, err := os.OpenRoot(d.path)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(d.path)
}

func (d *Dir) readFile(name string) ([]byte, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readPlain(root, name)
}

// readPlain reads a regular file of at most MaxArtifact bytes. It does not wait for
// a pipe that was put in the file's place.
func readPlain(root *os.Root, name string) ([]byte, error) {
	f, err := file.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxArtifact+1))
	if err == nil && len(b) > MaxArtifact {
		err = fmt.Errorf("%s is larger than %d bytes", name, MaxArtifact)
	}
	return b, err
}
