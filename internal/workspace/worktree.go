package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Prepare makes the branch, at Base, when there is none, and the work tree when it is
// missing or broken, and brings the work tree to the branch's tip. The error
// matches *CheckedOutError when the branch is somebody else's checkout, and
// ErrMoved when a branch of this name does not come from Base.
func (w *Workspace) Prepare(ctx context.Context) error {
	held, err := w.enter(ctx)
	if err != nil {
		return fmt.Errorf("prepare workspace: %w", err)
	}
	defer held.Close()
	tip, err := w.branch(ctx, held)
	if err == nil {
		err = w.sync(ctx, held, tip)
	}
	if err != nil {
		return fmt.Errorf("prepare workspace: %w", err)
	}
	return nil
}

// branch makes the branch when there is none, and returns its tip.
func (w *Workspace) branch(ctx context.Context, held *os.File) (run.Commit, error) {
	tip, err := w.tip(ctx)
	switch {
	case err != nil:
		return "", err
	case tip == "":
		failpoint.Hit("workspace.before-create-branch")
		if err := w.swap(ctx, held, zero(w.spec.Base), w.spec.Base); err != nil {
			return "", fmt.Errorf("create branch %s: %w", w.Branch(), err)
		}
		failpoint.Hit("workspace.after-create-branch")
		return w.spec.Base, nil
	case tip == w.spec.Base || w.admin() != "":
		return tip, nil
	}
	_, err = w.repo.Run(ctx, "merge-base", "--is-ancestor", string(w.spec.Base), string(tip))
	if git.ExitCode(err) == 1 {
		err = fmt.Errorf("branch %s: at %s, which does not come from %s: %w", w.Branch(), tip, w.spec.Base, ErrMoved)
	}
	return tip, err
}

// Remove removes the work tree and what git keeps of it. The branch stays.
func (w *Workspace) Remove(ctx context.Context) error {
	held, err := w.enter(ctx)
	if err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	defer held.Close()
	failpoint.Hit("workspace.before-remove")
	if err := w.erase(); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	failpoint.Hit("workspace.after-remove")
	if err := os.Remove(held.Name()); err != nil {
		return fmt.Errorf("remove workspace: %w", err)
	}
	return nil
}

// admin is the directory that git keeps for the work tree, empty unless the two
// belong together, are complete, and have the run's branch checked out.
func (w *Workspace) admin() string {
	if fi, err := os.Lstat(w.spec.Dir); err != nil || !fi.IsDir() {
		return ""
	}
	link, ok := strings.CutPrefix(small(filepath.Join(w.spec.Dir, ".git")), "gitdir: ")
	if !ok {
		return ""
	}
	admin := join(w.spec.Dir, link)
	if filepath.Dir(admin) != w.admins() || !w.owns(admin) || small(filepath.Join(admin, "commondir")) != commonLink {
		return ""
	}
	if small(filepath.Join(admin, "HEAD")) != "ref: "+w.ref {
		return ""
	}
	return admin
}

func (w *Workspace) admins() string { return filepath.Join(w.repo.GitDir, "worktrees") }

// owns says whether git's directory admin is that of our work tree.
func (w *Workspace) owns(admin string) bool {
	back := small(filepath.Join(admin, "gitdir"))
	return back != "" && join(admin, back) == filepath.Join(w.spec.Dir, ".git")
}

// small is the line in a small regular file, empty when it is anything else.
func small(name string) string {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 8<<10 {
		return ""
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\n")
}

func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// commonLink leads from git's directory of a work tree to the shared one.
const commonLink = "../.."

// remake makes the work tree anew, without its files, and returns git's directory for it.
func (w *Workspace) remake(ctx context.Context) (string, error) {
	if err := w.erase(); err != nil {
		return "", err
	}
	elsewhere, err := w.repo.Run(ctx, "for-each-ref", "--format=%(worktreepath)", w.ref)
	switch path := strings.TrimSuffix(string(elsewhere), "\n"); {
	case err != nil:
		return "", err
	case path != "":
		return "", &CheckedOutError{Branch: w.Branch(), Path: path}
	}
	failpoint.Hit("workspace.before-add-worktree")
	admin, err := w.add()
	if err != nil {
		return "", err
	}
	failpoint.Hit("workspace.after-add-worktree")
	return admin, nil
}

// add registers an empty work tree with git: the files that gitrepository-layout(5) names,
// made aside and put in place by one rename. A git worktree add that is killed
// half-way can leave files that make every later git fail in the user's own checkout.
func (w *Workspace) add() (string, error) {
	admin := filepath.Join(w.admins(), "ratchet-"+string(w.spec.RunID))
	link := filepath.Join(w.spec.Dir, ".git")
	fresh := w.aside("new")
	for _, dir := range []string{w.spec.Dir, w.admins(), fresh} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	for name, line := range map[string]string{
		link:                              "gitdir: " + admin,
		filepath.Join(fresh, "gitdir"):    link,
		filepath.Join(fresh, "commondir"): commonLink,
		filepath.Join(fresh, "HEAD"):      "ref: " + w.ref,
	} {
		if err := os.WriteFile(name, []byte(line+"\n"), 0o644); err != nil {
			return "", err
		}
	}
	failpoint.Hit("workspace.mid-add-worktree")
	return admin, os.Rename(fresh, admin)
}

// aside is where git's directory for the work tree is made and unmade, out of git's sight.
func (w *Workspace) aside(state string) string {
	return filepath.Join(w.repo.GitDir, "ratchet-"+string(w.spec.RunID)+"."+state)
}

// erase removes the work tree first and what git keeps of it last, so that a kill in
// between leaves something to find it by.
func (w *Workspace) erase() error {
	parent, err := os.OpenRoot(filepath.Dir(w.spec.Dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := git.RemoveAll(parent, filepath.Base(w.spec.Dir)); err != nil {
		return err
	}
	failpoint.Hit("workspace.mid-erase")
	for _, state := range []string{"new", "old"} {
		if err := os.RemoveAll(w.aside(state)); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(w.admins())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		admin := filepath.Join(w.admins(), e.Name())
		if !w.owns(admin) && e.Name() != "ratchet-"+string(w.spec.RunID) {
			continue
		}
		err := os.Rename(admin, w.aside("old")) // git sees all of it or nothing
		if err == nil {
			err = os.RemoveAll(w.aside("old"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
