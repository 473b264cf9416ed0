// Package checkout makes the git directories of checkouts in which foreign programs work. They are
// repositories of their own, which borrow the objects of the user's repository and share nothing
// else with it. Git commands in one of them reach no hook, no configuration and no reference of the
// user's repository.
package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Repository describes the git directory of a checkout.
type Repository struct {
	Common string // the git directory that the work trees of the user's repository share
	Commit git.ID // the commit of the files
	Index  string // an index of the files: git sees at once that nothing is changed
	Branch string // the reference that HEAD names, at Commit; empty: HEAD is detached
	// Refs makes Make copy the branches and tags of the user's repository. They identify versions
	// and ranges of changes.
	Refs bool
}

// Make makes the repository at dir. Nothing may exist there yet. The repository has no remotes, no
// hooks and no configuration of any user. It consists of the files that git needs: checks get a new one
// each time.
func (r Repository) Make(ctx context.Context, dir string) error {
	head := string(r.Commit) + "\n"
	if r.Branch != "" {
		head = "ref: " + r.Branch + "\n"
	}
	config := git.ConfigText(r.Commit, Excludes(r.Common), "core.logAllRefUpdates=true",
		"user.name="+git.Name, "user.email="+git.Email, "gc.auto=0", "maintenance.auto=false")
	for _, step := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(dir, "refs"), 0o700) },
		func() error { return writeNew(filepath.Join(dir, "HEAD"), head) },
		func() error { return writeNew(filepath.Join(dir, "config"), config) },
		func() error { return Borrow(dir, r.Common) },
		func() error { return r.writeRefs(ctx, dir) },
		func() error { return git.CopyIndex(filepath.Join(dir, "index"), r.Index) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("make repository of the checkout: %w", err)
		}
	}
	return nil
}

// writeNew writes a file that does not exist.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Excludes returns the setting that makes git ignore the same files as the user's own checkout: the
// info/exclude of the repository applies in addition to the files called .gitignore. The excludes
// of an account do not apply.
func Excludes(common string) string {
	return "core.excludesFile=" + filepath.Join(common, "info", "exclude")
}

// Borrow gives a git directory the objects of the repository at common. It also copies the list of
// the commits at which that repository's history is cut off, if there is one.
func Borrow(dir, common string) error {
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	objects := filepath.Join(common, "objects")
	if strings.ContainsAny(objects, "\n") {
		objects = udiff.QuoteName(objects)
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600); err != nil {
		return err
	}
	cut, err := shallowCommits(common)
	if err != nil || len(cut) == 0 {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "shallow"), cut, 0o600)
}

// shallowCommits returns the list of the commits at which history is cut off. It is empty when the history
// is whole.
func shallowCommits(common string) ([]byte, error) {
	name := filepath.Join(common, "shallow")
	fi, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && !fi.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

// writeRefs writes the user's branches and tags into one file, as git-pack-refs does, and the branch into a file of its
// own, which git believes before the list.
func (r Repository) writeRefs(ctx context.Context, dir string) error {
	if r.Refs {
		if err := r.packRefs(ctx, filepath.Join(dir, "packed-refs")); err != nil {
			return err
		}
	}
	if r.Branch == "" {
		return nil
	}
	name := filepath.Join(dir, filepath.FromSlash(r.Branch))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return writeNew(name, string(r.Commit)+"\n")
}

func (r Repository) packRefs(ctx context.Context, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString("# pack-refs with: sorted \n"); err == nil { // git-for-each-ref sorts by name
		err = git.Repo{Dir: r.Common, GitDir: r.Common}.Do(ctx, git.Command{
			Args:   []string{"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes", "refs/tags"},
			Stdout: f,
		})
	}
	return errors.Join(err, f.Close())
}
