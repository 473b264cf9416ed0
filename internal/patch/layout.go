package patch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// layout checks the steps against the tree and against each other: what is
// changed is there, what is made is not, and no name stands in the way of another.
func (p *planner) layout(steps []*step) *Refusal {
	gone := make(map[string]bool) // names that the change frees
	used := make(map[string]bool) // names that the change reads or writes, copies' sources apart
	for _, s := range steps {
		for _, name := range s.touched() {
			if used[name] {
				return &Refusal{Kind: Overlap, Path: name, Message: "two sections of the diff use this name, one of them to rename, copy, make or delete the file"}
			}
			used[name] = true
		}
		if s.old != "" && (s.new == "" || s.section.Rename) {
			gone[s.old] = true
		}
	}
	l := &layout{planner: p, gone: gone, dirs: make(map[string][]string), made: make(map[string]string)}
	for _, s := range steps {
		if r := l.step(s); r != nil {
			return r
		}
	}
	return nil
}

// touched are the names that a step claims for itself.
func (s *step) touched() []string {
	switch {
	case s.new == "":
		return []string{s.old}
	case s.section.Rename:
		return []string{s.old, s.new}
	}
	return []string{s.new}
}

type layout struct {
	*planner
	gone map[string]bool
	dirs map[string][]string // names in directories of the tree
	made map[string]string   // folded to real: the names and directories that the change makes
}

func (l *layout) step(s *step) *Refusal {
	if s.old != "" {
		if r := l.present(s.old); r != nil {
			return r
		}
	}
	if s.new != "" && s.new != s.old {
		return l.free(s.new)
	}
	return nil
}

// present checks that name is a regular file.
func (l *layout) present(name string) *Refusal {
	_, err := l.lookup(name)
	switch e, _ := errors.AsType[*EntryError](err); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &Refusal{Kind: NoSuchFile, Path: name, Message: "there is no such file in the repository; a new file needs /dev/null as its old name" + l.alike(name)}
	case errors.Is(err, ErrTooLarge):
		return tooBig(name, "the file is too large to be patched")
	case e != nil:
		return inTheWay(name, e)
	}
	return &Refusal{Kind: BadPath, Path: name, Message: "the file cannot be read"}
}

func inTheWay(name string, e *EntryError) *Refusal {
	if e.Path == name {
		return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("this is a %s, not a regular file", e.Entry)}
	}
	return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("%s is a %s, not a directory", Display(e.Path), e.Entry)}
}

// alike names a file of the same directory whose name differs in letter case only.
func (l *layout) alike(name string) string {
	for _, other := range l.names(path.Dir(name)) {
		if fold(other) == fold(path.Base(name)) {
			return fmt.Sprintf(" (%s is there)", Display(path.Join(path.Dir(name), other)))
		}
	}
	return ""
}

// free checks that nothing is at name, that its parents are or can become
// directories, and that no other name is the same where letter case does not count.
func (l *layout) free(name string) *Refusal {
	_, err := l.lookup(name)
	switch e, _ := errors.AsType[*EntryError](err); {
	case err == nil || errors.Is(err, ErrTooLarge):
		return &Refusal{Kind: Exists, Path: name, Message: "the file to be made is there already; to change it, take it as the old name and show its lines"}
	case e != nil && (l.gone[e.Path] || e.Path == name && l.vacated(name)):
		// a file gives way to a directory, or a directory to a file
	case e != nil && e.Path == name:
		return &Refusal{Kind: Exists, Path: name, Message: fmt.Sprintf("a %s of this name is there already", e.Entry)}
	case e != nil:
		return inTheWay(name, e)
	case !errors.Is(err, fs.ErrNotExist):
		return &Refusal{Kind: BadPath, Path: name, Message: "the name cannot be looked up"}
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		if r := l.component(name, strings.Join(parts[:i], "/"), parts[i], i == len(parts)-1); r != nil {
			return r
		}
	}
	return nil
}

// component checks one part of a name that is made: part in directory dir.
func (l *layout) component(name, dir, part string, last bool) *Refusal {
	full := path.Join(dir, part)
	if !last {
		if _, err := l.lookup(full); err == nil && !l.gone[full] {
			return &Refusal{Kind: Exists, Path: name, Message: fmt.Sprintf("%s is a file, not a directory", Display(full))}
		}
	}
	for _, other := range l.names(cmp.Or(dir, ".")) {
		if other != part && fold(other) == fold(part) && !l.vacated(path.Join(dir, other)) {
			return collision(name, path.Join(dir, other))
		}
	}
	kind := "/"
	if last {
		kind = ""
	}
	if other, ok := l.made[fold(full)]; ok && (other != full+kind || last) {
		return collision(name, strings.TrimSuffix(other, "/"))
	}
	l.made[fold(full)] = full + kind
	return nil
}

// vacated reports whether the change frees a name of the tree: it is a file that
// goes, or a directory in which no file stays. An empty directory is nobody's to
// remove.
func (l *layout) vacated(name string) bool {
	if l.gone[name] {
		return true
	}
	_, err := l.lookup(name)
	if e, ok := errors.AsType[*EntryError](err); !ok || e.Entry != Directory || e.Path != name {
		return false
	}
	names := l.names(name)
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !l.vacated(path.Join(name, n)) })
}

func collision(name, other string) *Refusal {
	return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("the name collides with %s: they are one name, or a file and a directory, on some systems", Display(other))}
}

// names are the names in a directory of the tree, none when it is not there.
func (l *layout) names(dir string) []string {
	if names, ok := l.dirs[dir]; ok {
		return names
	}
	names, err := l.tree.Names(dir)
	if _, other := errors.AsType[*EntryError](err); err != nil && !other && !errors.Is(err, fs.ErrNotExist) && l.failed == nil {
		l.failed = fmt.Errorf("list %s: %w", Display(dir), err)
	}
	l.dirs[dir] = names
	return names
}
