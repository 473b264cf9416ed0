// Package scratch manages the disposable checkout that a coding agent works in. The checkout is a
// repository of its own that borrows the objects of the user's repository: no git command in there
// reaches the user's repository. Beside it is a private index, and the files are compared with the
// commit by that index. The package does not trust the agent's results. It treats the files as
// bytes and reads them without following a link, and it never looks at the agent's git directory.
package scratch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// ErrNotMade reports a checkout that was never made, or that was damaged since, for example by a
// power cut. Make repairs it.
var ErrNotMade = errors.New("the checkout is missing or incomplete")

// Spec states the place of a checkout and its source.
type Spec struct {
	Repo   string // the user's repository: the top of a work tree, or the git directory of a bare one
	Prefix string // the sub-directory that the agent works in and patches are relative to
	Dir    string // the directory of the checkout; it belongs to the checkout alone
}

// Scratch is one disposable checkout. Several processes may use it, one call after the other; each
// call waits for the one before. Every call may follow a kill of the process at any point of an
// earlier one.
type Scratch struct{ spec Spec }

// The names in Dir. All but the first are out of the reach of an agent that has a sandbox.
const (
	treeName   = "tree"   // the checkout
	shadowName = "shadow" // our git directory for it
	stageName  = "stage"  // copies of the files that Changes shows to git
	madeName   = "made"   // the commit of a complete checkout
	fenceName  = ".git"   // no repository; see fence
	lockName   = "lock"
)

// Open checks spec. It changes nothing.
func Open(spec Spec) (*Scratch, error) {
	if !filepath.IsAbs(spec.Dir) || !filepath.IsAbs(spec.Repo) {
		return nil, fmt.Errorf("open checkout %q of %q: not absolute paths", spec.Dir, spec.Repo)
	}
	if spec.Prefix != "" && !filepath.IsLocal(spec.Prefix) {
		return nil, fmt.Errorf("open checkout: prefix %q: not inside the repository", spec.Prefix)
	}
	spec.Dir = filepath.Clean(spec.Dir)
	if spec.Prefix = path.Clean(filepath.ToSlash(spec.Prefix)); spec.Prefix == "." {
		spec.Prefix = ""
	}
	return &Scratch{spec}, nil
}

// WorkDir returns the directory that the agent works in. After every Make it is the same directory,
// and not only the same path.
func (s *Scratch) WorkDir() string {
	return s.pathOf(treeName, filepath.FromSlash(s.spec.Prefix))
}

// Top returns the top of the checkout.
func (s *Scratch) Top() string { return s.pathOf(treeName) }

// Borrowed returns the directories of objects that git reads in the checkout beside its own. See checkout.Borrowed.
func (s *Scratch) Borrowed(private string) ([]string, error) {
	return checkout.Borrowed(s.pathOf(shadowName), private)
}

func (s *Scratch) pathOf(parts ...string) string {
	return filepath.Join(append([]string{s.spec.Dir}, parts...)...)
}

// Made returns the commit that the checkout was made at, and false when there is no complete
// checkout. The agent's changes of the files since do not count.
func (s *Scratch) Made() (run.Commit, bool) {
	base, err := s.loadIndex()
	if err != nil {
		return "", false
	}
	return base.commit, true
}

// Remove removes the checkout and everything that belongs to it. A second call is a no-op.
func (s *Scratch) Remove(ctx context.Context) error {
	held, err := s.lockDir(ctx)
	if err != nil {
		return fmt.Errorf("remove checkout: %w", err)
	}
	defer held.Close()
	if err := s.eraseAll(); err != nil {
		return fmt.Errorf("remove checkout: %w", err)
	}
	return nil
}

func (s *Scratch) eraseAll() error {
	root, err := os.OpenRoot(s.spec.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	failpoint.Hit("scratch.before-remove")
	for _, name := range []string{madeName, treeName, shadowName, stageName, fenceName, lockName} {
		if err := git.RemoveAll(root, name); err != nil {
			return err
		}
		failpoint.Hit("scratch.mid-remove")
	}
	_ = os.Remove(s.spec.Dir) // not empty when the next call has entered already
	return nil
}

// loadIndex reads the mark and our index. The error matches ErrNotMade when they or the checkout itself
// are missing or incomplete.
func (s *Scratch) loadIndex() (*index, error) {
	mark, err := os.Lstat(s.pathOf(madeName))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMade, err)
	}
	commit := git.ID(readSmallFile(s.pathOf(madeName)))
	if tree, err := os.Lstat(s.pathOf(treeName)); !commit.Valid() || err != nil || !tree.IsDir() {
		return nil, ErrNotMade
	}
	text, err := os.ReadFile(s.pathOf(shadowName, "index"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMade, err)
	}
	base, err := parseIndex(commit, text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMade, err)
	}
	base.commit, base.made = run.Commit(commit), mark.ModTime()
	return base, nil
}
