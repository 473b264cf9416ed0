package patch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// half is what a change does to one name: nil is no file.
type half struct {
	path          string
	before, after *File
}

// halves are what c does, name by name.
func (c *Change) halves() []half {
	var all []half
	for _, f := range c.Files {
		switch f.Kind {
		case Deleted:
			all = append(all, half{f.Path, f.Before, nil})
		case Renamed:
			all = append(all, half{f.OldPath, f.Before, nil}, half{f.Path, nil, f.After})
		case Modified, ModeOnly:
			all = append(all, half{f.Path, f.Before, f.After})
		default:
			all = append(all, half{f.Path, nil, f.After})
		}
	}
	return all
}

// swapped gives for the name of a half the name that is a file on one side of the
// change and a directory on the other, which it is or lies below; empty for all others.
func swapped(halves []half) func(name string) string {
	gone, made := make(map[string]bool), make(map[string]bool)
	for _, h := range halves {
		gone[h.path] = gone[h.path] || h.after == nil
		made[h.path] = made[h.path] || h.before == nil
	}
	tops := make(map[string]bool)
	for _, h := range halves {
		for dir := path.Dir(h.path); dir != "."; dir = path.Dir(dir) {
			if gone[dir] && made[h.path] || made[dir] && gone[h.path] {
				tops[dir] = true
			}
		}
	}
	return func(name string) string {
		for ; name != "."; name = path.Dir(name) {
			if tops[name] {
				return name
			}
		}
		return ""
	}
}

// prepare says what will be put where.
func (w *writer) prepare(c *Change) (journal, error) {
	var j journal
	dirs := make(map[string]bool)
	mark := rand.Text()[:8]
	halves := c.halves()
	top := swapped(halves)
	at := make(map[string]int) // the puts of names that are swapped
	for i, h := range halves {
		old, fresh := fmt.Sprintf("%s%s-%d.old", ownPrefix, mark, i), fmt.Sprintf("%s%s-%d.new", ownPrefix, mark, i)
		if name := top(h.path); name != "" {
			if _, ok := at[name]; !ok {
				at[name] = len(j.Puts)
				j.Puts = append(j.Puts, put{Path: name, Temp: fresh, Old: old, Existed: true})
			}
			j.Puts[at[name]].join(h)
			continue
		}
		p := put{Path: h.path, Existed: h.before != nil}
		if h.before != nil {
			p.Old, p.before = old, h.before
		}
		if h.after != nil {
			p.Temp = fresh
			p.makes(h.after)
			if err := w.missingDirs(path.Dir(h.path), dirs); err != nil {
				return journal{}, fmt.Errorf("%s: %w", Display(h.path), err)
			}
		}
		j.Puts = append(j.Puts, p)
	}
	j.Dirs = slices.Sorted(maps.Keys(dirs))
	return j, nil
}

// makes sets the new file of p.
func (p *put) makes(f *File) {
	p.content, p.Sum, p.perm = f.Content, blobID(f.Content), 0o666
	if f.Mode == Executable {
		p.perm = 0o777
	}
}

// join adds what happens to the name of p, or to one below it, to a put that swaps.
func (p *put) join(h half) {
	rest := strings.TrimPrefix(strings.TrimPrefix(h.path, p.Path), "/")
	switch {
	case rest == "" && h.after != nil:
		p.makes(h.after)
	case rest == "":
		p.before = h.before
	case h.after != nil:
		part := put{Path: h.path}
		part.makes(h.after)
		p.Tree, p.parts = append(p.Tree, rest), append(p.parts, part)
	default:
		p.Held, p.parts = append(p.Held, rest), append(p.parts, put{Path: h.path, Existed: true, before: h.before})
	}
}

// missingDirs adds the directories on the way to name that are not there.
func (w *writer) missingDirs(name string, missing map[string]bool) error {
	for ; name != "."; name = path.Dir(name) {
		d, err := descend(w.root, name)
		if err == nil {
			return d.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing[name] = true
	}
	return nil
}
