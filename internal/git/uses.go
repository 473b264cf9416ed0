package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Use is the use of a branch by a work tree. Git refuses to move a branch in use, and may set it when the use ends.
type Use struct {
	Ref  string // the full name of the branch; empty: any may be in use
	Task Task
	Tree string // the top of the work tree
	File string // reports the use
}

// Task is the way in which a work tree uses a branch.
type Task string

const (
	CheckedOut Task = "checked out"
	Rebased    Task = "being rebased"
	Bisected   Task = "being bisected"
	Unread     Task = "unread" // the File cannot be read
)

// InUseError reports a branch that a work tree uses, or may use.
type InUseError struct {
	Use
	Branch string // short name
	Gone   bool   // Tree does not exist, and git still lists it
	Repo   string // lists it
}

func (e *InUseError) Error() string {
	how := "is " + string(e.Task)
	if e.Task == Unread {
		how = "may be " + string(CheckedOut)
	}
	return fmt.Sprintf("branch %s %s at %s: %s", e.Branch, how, e.Tree, e.Advice())
}

// Advice says how the branch becomes free.
func (e *InUseError) Advice() string {
	switch {
	case e.Gone:
		return fmt.Sprintf("that directory does not exist; if you removed it, run `git worktree prune` in %s", e.Repo)
	case e.Task == Rebased:
		return "finish that rebase, or end it with `git rebase --abort`"
	case e.Task == Bisected:
		return "end the bisection with `git bisect reset`"
	case e.Task == Unread:
		return fmt.Sprintf("cannot read %s: repair it, or remove that work tree and run `git worktree prune` in %s", e.File, e.Repo)
	}
	return "switch that work tree to another branch"
}

// NewInUseError returns the error about a use of the branch ref of the repository with the git directory common.
func NewInUseError(common, ref string, use Use) *InUseError {
	_, err := os.Stat(use.Tree)
	return &InUseError{Use: use, Branch: strings.TrimPrefix(ref, branches), Gone: errors.Is(err, fs.ErrNotExist), Repo: mainTree(common)}
}

// CheckUnused returns an *InUseError if a work tree of the repository uses the branch ref, or may use it. What the HEAD
// of a bare repository names is in no use.
func (r Repo) CheckUnused(ctx context.Context, ref string) error {
	uses := slices.DeleteFunc(FindUses(r.GitDir), func(u Use) bool { return u.Ref != ref && u.Ref != "" })
	isHead := func(u Use) bool { return u.File == filepath.Join(r.GitDir, "HEAD") }
	if slices.ContainsFunc(uses, isHead) {
		bare, err := r.Run(ctx, "rev-parse", "--is-bare-repository")
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(bare)) == "true" {
			uses = slices.DeleteFunc(uses, isHead)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	surest := slices.MaxFunc(uses, func(a, b Use) int { return strings.Compare(a.Ref, b.Ref) })
	return NewInUseError(r.GitDir, ref, surest)
}

const branches = "refs/heads/"

// useFiles tell, beside HEAD, of the uses of branches in the git directory of a work tree. The first of each three
// lines names a branch: a list has two ids after each name, the other files have one line.
var useFiles = []struct {
	name string
	task Task
}{
	{"rebase-merge/head-name", Rebased}, {"rebase-merge/update-refs", Rebased}, {"rebase-apply/head-name", Rebased}, {"BISECT_START", Bisected},
}

// FindUses returns the uses of branches by all work trees of the repository with the git directory common. HEAD names
// none during a rebase or a bisection: other files do. It starts no git, and returns a use of any branch for a file
// that is not as git writes it.
func FindUses(common string) []Use {
	root, err := os.OpenRoot(common)
	if err != nil {
		return []Use{{Task: Unread, Tree: mainTree(common), File: common}}
	}
	defer root.Close()
	uses := treeUses(root, ".", mainTree(common))
	entries, err := fs.ReadDir(root.FS(), "worktrees")
	if err != nil && !isMissing(err) {
		return append(uses, Use{Task: Unread, Tree: mainTree(common), File: filepath.Join(common, "worktrees")})
	}
	for _, entry := range entries {
		dir := path.Join("worktrees", entry.Name())
		if tree, listed := linkedTree(root, dir); listed {
			uses = append(uses, treeUses(root, dir, tree)...)
		}
	}
	return uses
}

// mainTree returns the work tree beside a git directory; the directory itself if it is bare.
func mainTree(common string) string { return strings.TrimSuffix(common, "/.git") }

// linkedTree returns the work tree that has its git directory at dir. It returns false for anything that git does not
// list as one.
func linkedTree(root *os.Root, dir string) (tree string, listed bool) {
	own := filepath.Join(root.Name(), dir)
	text, err := readPlain(root, path.Join(dir, "gitdir"))
	if isMissing(err) {
		return "", false
	}
	if err != nil {
		return own, true
	}
	file := strings.TrimSuffix(text, "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(own, file)
	}
	return filepath.Dir(file), true
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxUseFile bounds a file that reports uses.
const maxUseFile = 1 << 20

var errUnusual = errors.New("not in git's format")

// readPlain reads a regular file of a git directory. It follows no link at its end, and waits for no pipe.
func readPlain(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxUseFile {
		return "", errUnusual
	}
	text, err := root.ReadFile(name)
	return string(text), err
}

// treeUses returns the uses by the work tree that has its git directory at dir.
func treeUses(root *os.Root, dir, tree string) (uses []Use) {
	add := func(ref string, task Task, name string) {
		uses = append(uses, Use{Ref: ref, Task: task, Tree: tree, File: filepath.Join(root.Name(), dir, name)})
	}
	text, err := readPlain(root, path.Join(dir, "HEAD"))
	head := strings.TrimSpace(text)
	target, symbolic := strings.CutPrefix(head, "ref:")
	switch {
	case err == nil && symbolic:
		add(strings.TrimSpace(target), CheckedOut, "HEAD")
	case err != nil || !ID(head).Valid():
		add("", Unread, "HEAD")
	}
	for _, f := range useFiles {
		text, err := readPlain(root, path.Join(dir, f.name))
		if err != nil && !isMissing(err) {
			add("", Unread, f.name)
		}
		i := 0
		for line := range strings.Lines(text) {
			name := branches + strings.TrimPrefix(strings.TrimSuffix(line, "\n"), branches)
			if i%3 == 0 && !strings.Contains(name, " ") { // git says "detached HEAD" for none
				add(name, f.task, f.name)
			}
			i++
		}
	}
	return uses
}
