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

	"github.com/ratchet-dev/ratchet/internal/display"
)

// nameEffect is the effect of a change on one name. A nil file means no file.
type nameEffect struct {
	path          string
	before, after *File
}

// nameEffects returns the effects of c, one for each name.
func (c *Change) nameEffects() []nameEffect {
	var all []nameEffect
	for _, f := range c.Files {
		switch f.Kind {
		case Deleted:
			all = append(all, nameEffect{f.Path, f.Before, nil})
		case Renamed:
			all = append(all, nameEffect{f.OldPath, f.Before, nil}, nameEffect{f.Path, nil, f.After})
		case Modified, ModeOnly:
			all = append(all, nameEffect{f.Path, f.Before, f.After})
		default:
			all = append(all, nameEffect{f.Path, nil, f.After})
		}
	}
	return all
}

// swappedNames returns a function that returns, for a name of effects, the name that is a file on one side
// of the change and a directory on the other: the name itself or one of its parents. It returns "" for all
// other names.
func swappedNames(halves []nameEffect) func(name string) string {
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

// prepareJournal decides which file is written or removed at which name.
func (w *writer) prepareJournal(c *Change) (journal, error) {
	var j journal
	dirs := make(map[string]bool)
	mark := rand.Text()[:8]
	halves := c.nameEffects()
	top := swappedNames(halves)
	at := make(map[string]int) // the indices in j.Puts of the names that are swapped
	for i, h := range halves {
		old, fresh := fmt.Sprintf("%s%s-%d.old", ownPrefix, mark, i), fmt.Sprintf("%s%s-%d.new", ownPrefix, mark, i)
		if name := top(h.path); name != "" {
			if _, ok := at[name]; !ok {
				at[name] = len(j.Puts)
				j.Puts = append(j.Puts, journalEntry{Path: name, Temp: fresh, Old: old, Existed: true})
			}
			j.Puts[at[name]].addEffect(h)
			continue
		}
		p := journalEntry{Path: h.path, Existed: h.before != nil}
		if h.before != nil {
			p.Old, p.before = old, h.before
		}
		if h.after != nil {
			p.Temp = fresh
			p.setContent(h.after)
			if err := w.addMissingDirs(path.Dir(h.path), dirs); err != nil {
				return journal{}, fmt.Errorf("%s: %w", display.Line(h.path), err)
			}
		}
		j.Puts = append(j.Puts, p)
	}
	j.Dirs = slices.Sorted(maps.Keys(dirs))
	return j, nil
}

// setContent sets the new file of p.
func (p *journalEntry) setContent(f *File) {
	p.content, p.Sum, p.perm = f.Content, blobID(f.Content), 0o666
	if f.Mode == Executable {
		p.perm = 0o777
	}
}

// addEffect adds an effect on the name of p, or on a name below it, to an entry that swaps a file and a
// directory.
func (p *journalEntry) addEffect(h nameEffect) {
	rest := strings.TrimPrefix(strings.TrimPrefix(h.path, p.Path), "/")
	switch {
	case rest == "" && h.after != nil:
		p.setContent(h.after)
	case rest == "":
		p.before = h.before
	case h.after != nil:
		part := journalEntry{Path: h.path}
		part.setContent(h.after)
		p.Tree, p.parts = append(p.Tree, rest), append(p.parts, part)
	default:
		p.Held, p.parts = append(p.Held, rest), append(p.parts, journalEntry{Path: h.path, Existed: true, before: h.before})
	}
}

// addMissingDirs adds the directories on the way to name that are not there.
func (w *writer) addMissingDirs(name string, missing map[string]bool) error {
	for ; name != "."; name = path.Dir(name) {
		d, err := openSubdir(w.root, name)
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
