package patch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// checkLayout checks the steps against the tree and against each other: a file to change is there, a file
// to make is not, and no name stands in the way of another.
func (p *planner) checkLayout(steps []*step) *Refusal {
	gone := make(map[string]bool) // names that the change frees
	used := make(map[string]bool) // names that the change reads or writes, except for the sources of copies
	for _, s := range steps {
		for _, name := range s.touchedNames() {
			if used[name] {
				return &Refusal{Kind: Overlap, Path: name, Message: "two sections of the diff use this name, one of them to rename, copy, create or delete the file"}
			}
			used[name] = true
		}
		if s.old != "" && (s.new == "" || s.section.Rename) {
			gone[s.old] = true
		}
	}
	l := &layoutCheck{planner: p, gone: gone, dirs: make(map[string][]string), made: make(map[string]string)}
	for _, s := range steps {
		if r := l.checkStep(s); r != nil {
			return r
		}
	}
	return nil
}

// touchedNames returns the names that s claims for itself.
func (s *step) touchedNames() []string {
	switch {
	case s.new == "":
		return []string{s.old}
	case s.section.Rename:
		return []string{s.old, s.new}
	}
	return []string{s.new}
}

// layoutCheck holds the state of checkLayout.
type layoutCheck struct {
	*planner
	gone map[string]bool
	dirs map[string][]string // names in directories of the tree
	made map[string]string   // folded to real: the names and directories that the change makes
}

// checkStep checks the old and the new name of one step.
func (l *layoutCheck) checkStep(s *step) *Refusal {
	if s.old != "" {
		if r := l.checkPresent(s.old); r != nil {
			return r
		}
	}
	if s.new != "" && s.new != s.old {
		return l.checkFree(s.new)
	}
	return nil
}

// checkPresent checks that name is a regular file.
func (l *layoutCheck) checkPresent(name string) *Refusal {
	_, err := l.lookupFile(name)
	switch e, _ := errors.AsType[*EntryError](err); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &Refusal{Kind: NoSuchFile, Path: name, Message: "the repository has no such file; a new file needs /dev/null as its old name" + l.similarName(name)}
	case errors.Is(err, ErrTooLarge):
		return tooBig(name, "the file is too large to be patched")
	case e != nil:
		return refuseEntry(name, e)
	}
	return &Refusal{Kind: BadPath, Path: name, Message: "the file cannot be read"}
}

// refuseEntry returns the refusal of name because of an entry of the tree that is not a regular file.
func refuseEntry(name string, e *EntryError) *Refusal {
	if e.Path == name {
		return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("this is a %s, not a regular file", e.Entry)}
	}
	return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("%s is a %s, not a directory", display.Line(e.Path), e.Entry)}
}

// similarName returns a hint at a file of the same directory whose name differs in letter case only, or
// "".
func (l *layoutCheck) similarName(name string) string {
	for _, other := range l.namesIn(path.Dir(name)) {
		if foldCase(other) == foldCase(path.Base(name)) {
			return fmt.Sprintf(" (%s exists)", display.Line(path.Join(path.Dir(name), other)))
		}
	}
	return ""
}

// checkFree checks that nothing is at name, that its parents are or can become directories, and that no
// other name is the same where letter case does not count.
func (l *layoutCheck) checkFree(name string) *Refusal {
	_, err := l.lookupFile(name)
	switch e, _ := errors.AsType[*EntryError](err); {
	case err == nil || errors.Is(err, ErrTooLarge):
		return &Refusal{Kind: Exists, Path: name, Message: "the new file already exists; to change it, use it as the old name and show its lines"}
	case e != nil && (l.gone[e.Path] || e.Path == name && l.isVacated(name)):
		// a file gives way to a directory, or a directory to a file
	case e != nil && e.Path == name:
		return &Refusal{Kind: Exists, Path: name, Message: fmt.Sprintf("a %s of this name already exists", e.Entry)}
	case e != nil:
		return refuseEntry(name, e)
	case !errors.Is(err, fs.ErrNotExist):
		return &Refusal{Kind: BadPath, Path: name, Message: "the name cannot be looked up"}
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		if r := l.checkNewPart(name, strings.Join(parts[:i], "/"), parts[i], i == len(parts)-1); r != nil {
			return r
		}
	}
	return nil
}

// checkNewPart checks one part of a new name: part in directory dir.
func (l *layoutCheck) checkNewPart(name, dir, part string, last bool) *Refusal {
	full := path.Join(dir, part)
	if last || !slices.Contains(l.namesIn(cmp.Or(dir, ".")), part) {
		if rule := checkPortable(part); rule != "" {
			return &Refusal{Kind: BadPath, Path: name, Message: rule}
		}
	}
	if !last {
		if _, err := l.lookupFile(full); err == nil && !l.gone[full] {
			return &Refusal{Kind: Exists, Path: name, Message: fmt.Sprintf("%s is a file, not a directory", display.Line(full))}
		}
	}
	for _, other := range l.namesIn(cmp.Or(dir, ".")) {
		if other != part && foldCase(other) == foldCase(part) && !l.isVacated(path.Join(dir, other)) {
			return refuseCollision(name, path.Join(dir, other))
		}
	}
	kind := "/"
	if last {
		kind = ""
	}
	if other, ok := l.made[foldCase(full)]; ok && (other != full+kind || last) {
		return refuseCollision(name, strings.TrimSuffix(other, "/"))
	}
	l.made[foldCase(full)] = full + kind
	return nil
}

// isVacated reports whether the change frees a name of the tree: the name is a file that goes, or a
// directory in which no file stays. An empty directory is never freed, because the change does not remove
// it.
func (l *layoutCheck) isVacated(name string) bool {
	if l.gone[name] {
		return true
	}
	_, err := l.lookupFile(name)
	if e, ok := errors.AsType[*EntryError](err); !ok || e.Entry != Directory || e.Path != name {
		return false
	}
	names := l.namesIn(name)
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !l.isVacated(path.Join(name, n)) })
}

// refuseCollision returns the refusal of two names that are one on some systems.
func refuseCollision(name, other string) *Refusal {
	return &Refusal{Kind: BadPath, Path: name, Message: fmt.Sprintf("the name collides with %s: on some systems they are the same name, or a file and a directory", display.Line(other))}
}

// namesIn returns the names in a directory of the tree, none if the directory is not there.
func (l *layoutCheck) namesIn(dir string) []string {
	if names, ok := l.dirs[dir]; ok {
		return names
	}
	names, err := l.tree.Names(dir)
	if _, other := errors.AsType[*EntryError](err); err != nil && !other && !errors.Is(err, fs.ErrNotExist) && l.failed == nil {
		l.failed = fmt.Errorf("list %s: %w", display.Line(dir), err)
	}
	l.dirs[dir] = names
	return names
}
