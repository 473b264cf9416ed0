// Package checkout makes the git directories of checkouts in which foreign programs work. They are
// repositories of their own, which borrow the objects of the user's repository and share nothing
// else with it. Git commands in one of them reach no hook, no configuration and no reference of the
// user's repository.
package checkout

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Repository describes the git directory of a checkout.
type Repository struct {
	Common   string // the git directory that the work trees of the user's repository share
	WorkTree string // the top of the checkout
	Commit   git.ID // the commit of the files
	Index    string // an index of the files: git sees at once that nothing is changed
	Branch   string // the reference that HEAD names, at Commit; empty: HEAD is detached
	// Refs makes Make copy the branches and tags of the user's repository. They identify versions
	// and ranges of changes.
	Refs bool
}

// Make makes the repository at dir. Nothing may exist there yet. The repository has no remotes, no
// hooks and no configuration of any user.
func (r Repository) Make(ctx context.Context, dir string) error {
	_, err := git.Shadow(dir, dir, r.WorkTree, r.Commit, Excludes(r.Common), "core.logAllRefUpdates=true",
		"user.name="+git.Name, "user.email="+git.Email, "gc.auto=0", "maintenance.auto=false")
	if err == nil {
		err = Borrow(dir, r.Common)
	}
	if err == nil && r.Refs {
		err = r.copyRefs(ctx, dir)
	}
	if err == nil && r.Branch != "" {
		err = r.checkOut(dir)
	}
	if err == nil {
		err = git.CopyIndex(filepath.Join(dir, "index"), r.Index)
	}
	if err != nil {
		return fmt.Errorf("make repository of the checkout: %w", err)
	}
	return nil
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
	cut, err := shallow(common)
	if err != nil || len(cut) == 0 {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "shallow"), cut, 0o600)
}

// shallow returns the list of the commits at which history is cut off. It is empty when the history
// is whole.
func shallow(common string) ([]byte, error) {
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

// copyRefs writes the user's branches and tags into one file, as git-pack-refs does.
func (r Repository) copyRefs(ctx context.Context, dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "packed-refs"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, "# pack-refs with: sorted \n")
	if err == nil {
		err = r.listRefs(ctx, f)
	}
	return errors.Join(err, f.Close())
}

// listRefs writes a line for each of the user's branches and tags: its object and its name.
func (r Repository) listRefs(ctx context.Context, to io.Writer) error {
	if refs, ok := git.ReadRefs(r.Common, "refs/heads/", "refs/remotes/", "refs/tags/"); ok {
		out := bufio.NewWriter(to)
		for _, ref := range refs {
			fmt.Fprintf(out, "%s %s\n", ref.ID, ref.Name)
		}
		return out.Flush()
	}
	return git.Repo{Dir: r.Common, GitDir: r.Common}.Do(ctx, git.Command{
		Args:   []string{"for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes", "refs/tags"},
		Stdout: to,
	})
}

// checkOut puts HEAD on the branch.
func (r Repository) checkOut(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(r.Branch))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(name, []byte(r.Commit+"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: "+r.Branch+"\n"), 0o600),
	)
}
