package scratch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/checkout"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// writeTimeout bounds the writing of all files of a repository.
const writeTimeout = 10 * time.Minute

// Make makes the checkout at commit, whatever was there before. The files are the files of a user's
// checkout, except that no filter runs. Around them is a repository with the history of commit and
// a detached HEAD, without branches, tags, remotes and hooks.
//
// A Make that fails leaves a checkout that is not Made.
func (s *Scratch) Make(ctx context.Context, commit run.Commit) error {
	if !git.ID(commit).Valid() {
		return fmt.Errorf("make checkout: commit %q: not a full commit id", string(commit))
	}
	held, err := s.lockDir(ctx)
	if err == nil {
		defer held.Close()
		err = s.makeLocked(ctx, held, commit)
	}
	if err != nil {
		return fmt.Errorf("make checkout of %s: %w", commit, err)
	}
	return nil
}

func (s *Scratch) makeLocked(ctx context.Context, held *os.File, commit run.Commit) error {
	out, err := git.Repo{Dir: s.spec.Repo}.Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return err
	}
	common := strings.TrimSuffix(string(out), "\n")
	if err := errors.Join(s.writeFence(), s.clearCheckout()); err != nil {
		return err
	}
	failpoint.Hit("scratch.after-clear")
	if err := s.writeFiles(ctx, held, common, commit); err != nil {
		return err
	}
	failpoint.Hit("scratch.after-files")
	if err := s.makeRepository(ctx, common, commit); err != nil {
		return err
	}
	failpoint.Hit("scratch.before-mark")
	if err := s.writeMark(commit); err != nil {
		return err
	}
	failpoint.Hit("scratch.after-mark")
	return nil
}

// writeFence writes a file that stops git from searching further up for a repository, where the user's
// may be, when it no longer finds the checkout's own. Git gives up at a file of this name that
// names no repository.
func (s *Scratch) writeFence() error {
	return os.WriteFile(s.pathOf(fenceName), []byte("gitdir: none\n"), 0o600)
}

// clearCheckout removes the old checkout, the mark first.
func (s *Scratch) clearCheckout() error {
	root, err := os.OpenRoot(s.spec.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	failpoint.Hit("scratch.before-clear")
	for _, name := range []string{madeName, shadowName, stageName} {
		if err := git.RemoveAll(root, name); err != nil {
			return err
		}
	}
	failpoint.Hit("scratch.mid-clear")
	return emptyDirectory(root, treeName, strings.Split(s.spec.Prefix, "/"))
}

// writeFiles writes the files of commit through a git directory of ours. That directory has no
// configuration of any user, and therefore no filter.
func (s *Scratch) writeFiles(ctx context.Context, held *os.File, common string, commit run.Commit) error {
	dir := s.pathOf(shadowName)
	shadow, err := git.Shadow(dir, dir, s.pathOf(treeName), git.ID(commit), checkout.Excludes(common), "index.version=2")
	if err != nil {
		return err
	}
	if err := checkout.Borrow(dir, common); err != nil {
		return err
	}
	shadow.Keep, shadow.Timeout = held, writeTimeout
	if _, err := shadow.Run(ctx, "read-tree", "--reset", "-u", string(commit)); err != nil || s.spec.Prefix == "" {
		return err
	}
	tree, err := os.OpenRoot(s.pathOf(treeName))
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.MkdirAll(filepath.FromSlash(s.spec.Prefix), 0o755) // the commit may have nothing there
}

// makeRepository makes the repository that the agent's git finds in the checkout. Its index is a copy
// of ours: git sees at once that nothing is changed.
func (s *Scratch) makeRepository(ctx context.Context, common string, commit run.Commit) error {
	r := checkout.Repository{
		Common: common, Commit: git.ID(commit), Index: s.pathOf(shadowName, "index"),
	}
	return r.Make(ctx, s.pathOf(treeName, ".git"))
}

// writeMark records that the checkout is whole. The time of the mark later shows which files may have
// been changed within the same tick of the clock.
func (s *Scratch) writeMark(commit run.Commit) error {
	f, err := os.CreateTemp(s.pathOf(shadowName), madeName+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(string(commit) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.pathOf(madeName))
	}
	return err
}

// readSmallFile returns the content of a small regular file, without the line feed at its end. It returns
// the empty string for anything else.
func readSmallFile(name string) string {
	const most = 16 << 20
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}
