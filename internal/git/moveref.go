package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// RefMove is the move of a branch from one commit to another.
type RefMove struct {
	Name     string // the full name of the branch, below refs/heads/
	Old, New ID     // Old is zero for a branch that does not exist. New is a commit
	Message  string // of the log: words with single spaces between them
}

// MoveRef moves a branch from m.Old to m.New, or creates it, if it is at m.Old, and starts no git. It does what git
// update-ref --no-deref does to the files of the repository, in the same order: it makes the lock of the branch's file
// beside it, compares the value under the lock, makes the new value durable in the lock, appends to the log, and
// renames the lock to the file. So it excludes every git, and every git excludes it. objects read the repository.
//
// MoveRef believes only files of the form that git writes. It returns false when it has moved nothing, such as for a
// lock that is there, another value, a symbolic link, or a setting under which git logs otherwise: the caller then asks
// git, which has the last word. It never waits. A process that is killed in it leaves the lock, as a killed git does.
func (r Repo) MoveRef(objects *Objects, m RefMove) (moved bool) {
	if !m.isUsual() || !objects.haveCommit(m.New) {
		return false
	}
	root, err := os.OpenRoot(r.GitDir)
	if err != nil {
		return false
	}
	defer root.Close()
	if _, err := root.Lstat("commondir"); !errors.Is(err, fs.ErrNotExist) || !logsBranches(root) {
		return false
	}
	if head, ok := readHead(root, "HEAD"); !ok || head == symbolicRef+m.Name { // git logs the move at HEAD, too
		return false
	}
	return m.move(root) == nil
}

func (m RefMove) isUsual() bool {
	return strings.HasPrefix(m.Name, "refs/heads/") && isRefName(m.Name) && m.Old != m.New && len(m.Old) == len(m.New) &&
		m.Old.Valid() && isObjectOfRef(string(m.New)) && m.Message == strings.Join(strings.Fields(m.Message), " ") &&
		!strings.ContainsFunc(m.Message, func(c rune) bool { return c < ' ' })
}

// haveCommit reports whether the repository's own files have a commit that git can read.
func (o *Objects) haveCommit(id ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	object, err := o.readFiles(id)
	if err != nil || object.Kind != Commit {
		return false
	}
	return isCommitText(id, string(object.Content))
}

// isCommitText reports whether a commit begins with a tree and its parents, in the form of like's repository.
func isCommitText(like ID, text string) bool {
	const parent = "parent "
	for name := "tree "; ; name = parent {
		line, rest, whole := strings.Cut(text, "\n")
		id, found := strings.CutPrefix(line, name)
		if !found {
			return name == parent
		}
		if !whole || len(id) != len(like) || !ID(id).Valid() {
			return false
		}
		text = rest
	}
}

// move moves the branch under its lock.
func (m RefMove) move(root *os.Root) (err error) {
	dir, lock, err := lockRef(root, m.Name)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(m.Name)
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(name+lockSuffix))
		}
	}()
	if err = m.verifyOld(root, dir); err == nil {
		_, err = lock.WriteString(string(m.New) + "\n")
	}
	if err == nil {
		err = lock.Sync()
	}
	if err = errors.Join(err, lock.Close()); err != nil {
		return err
	}
	failpoint.Hit("workspace.ref-locked")
	if err := m.appendLog(root); err != nil {
		return err
	}
	failpoint.Hit("workspace.ref-logged")
	return dir.Rename(name+lockSuffix, name)
}

const lockSuffix = ".lock"

// lockRef makes the lock of a reference, and returns it with the directory that it is in.
func lockRef(root *os.Root, name string) (dir *os.Root, lock *os.File, err error) {
	for range 3 { // git removes a directory that is empty for a moment
		if dir, err = enterDirs(root, path.Dir(name)); err == nil {
			lock, err = dir.OpenFile(path.Base(name)+lockSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
			if err == nil {
				return dir, lock, nil
			}
			dir.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil, nil, err
}

// enterDirs opens a directory below root, and makes the ones that are missing on the way there. It follows no link.
func enterDirs(root *os.Root, name string) (*os.Root, error) {
	first, rest, more := strings.Cut(name, "/")
	dir, err := enterDir(root, first)
	if err != nil || !more {
		return dir, err
	}
	defer dir.Close()
	return enterDirs(dir, rest)
}

func enterDir(parent *os.Root, name string) (*os.Root, error) {
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := parent.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = parent.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := dir.Stat("."); err != nil || !os.SameFile(info, opened) { // it is a link
		return nil, errors.Join(errUnusual, err, dir.Close())
	}
	return dir, nil
}

// verifyOld returns an error unless the branch is where the move begins. Its lock is held: git packs a reference, and
// removes its file, only under the lock.
func (m RefMove) verifyOld(root, dir *os.Root) error {
	text, err := readPlain(dir, path.Base(m.Name), maxRefFile)
	if err == nil {
		if value, ok := refValue(text); !ok || value != string(m.Old) {
			return errUnusual
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A packed reference can be the branch, or exclude its name.
	packed := refReader{root: root, found: map[string]string{}}
	patterns := []string{m.Name, m.Name + "/"}
	for parent := path.Dir(m.Name); parent != "."; parent = path.Dir(parent) {
		patterns = append(patterns, parent)
	}
	if err := packed.readPacked(patterns); err != nil {
		return err
	}
	value, found := packed.found[m.Name]
	if !found {
		value = string(m.Old.Zero())
	} else {
		delete(packed.found, m.Name)
	}
	if value != string(m.Old) || len(packed.found) > 0 {
		return errUnusual
	}
	return nil
}

// appendLog adds the move to the log of the branch. The lock of the branch is the lock of its log.
func (m RefMove) appendLog(root *os.Root) error {
	dir, err := enterDirs(root, path.Join("logs", path.Dir(m.Name)))
	if err != nil {
		return err
	}
	defer dir.Close()
	log, err := openLog(dir, path.Base(m.Name))
	if err != nil {
		return err
	}
	now := time.Now()
	_, err = fmt.Fprintf(log, "%s %s %s <%s> %d %s\t%s\n", m.Old, m.New, Name, Email, now.Unix(), now.Format("-0700"), m.Message)
	return errors.Join(err, log.Close())
}

// openLog opens a log, or makes it. It follows no link, and waits for no pipe.
func openLog(dir *os.Root, name string) (*os.File, error) {
	const appending = os.O_WRONLY | os.O_APPEND | syscall.O_NONBLOCK
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return dir.OpenFile(name, appending|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errUnusual)
	}
	log, err := dir.OpenFile(name, appending, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := log.Stat(); err != nil || !os.SameFile(info, opened) { // something else has taken its place
		return nil, errors.Join(errUnusual, err, log.Close())
	}
	return log, nil
}
