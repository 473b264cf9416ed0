package patch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/patch/udiff"
)

// Plan reads diff and decides what it does to t. Nothing is written. The error is
// a *Refusal, or what t failed with.
func Plan(t Tree, diff []byte, l Limits) (*Change, error) {
	l = l.withDefaults()
	if r := l.text(diff); r != nil {
		return nil, r
	}
	p := &planner{tree: t, limits: l, files: make(map[string]found)}
	c, err := p.plan(diff, false)
	if err != nil && p.failed == nil && p.unsure {
		if c, strictErr := p.plan(diff, true); strictErr == nil {
			return c, nil
		}
	}
	if p.failed != nil {
		return nil, p.failed
	}
	return c, err
}

// planner makes one plan. It remembers what it has looked up.
type planner struct {
	tree   Tree
	limits Limits
	files  map[string]found
	failed error // what the tree failed with
	unsure bool  // the diff could be read in another way too

	held   int // bytes of files that were looked up
	read   int // bytes of files before and after
	change Change
}

type found struct {
	file File
	err  error
}

// step is what the diff does to one file, before it is placed.
type step struct {
	names
	section udiff.Section // the first of the file
	hunks   []udiff.Hunk  // of all its sections
	mode    Mode          // that the section asks for; 0 when it asks for none
}

func (p *planner) plan(diff []byte, strict bool) (*Change, error) {
	p.change, p.read = Change{}, 0
	d, err := udiff.Parse(diff, p.knownName, strict)
	if err != nil {
		return nil, unreadable(err)
	}
	p.unsure = d.Unsure
	steps, r := p.steps(d)
	if r != nil {
		return nil, r
	}
	if r := p.layout(steps); r != nil {
		return nil, r
	}
	for _, s := range steps {
		if r := p.apply(s); r != nil {
			return nil, r
		}
	}
	if len(p.change.Files) == 0 {
		return nil, &Refusal{Kind: NotADiff, Message: "the diff changes nothing: it has no added and no deleted lines"}
	}
	if d.CRLF {
		p.repair("", 0, RepairLineEnds, "carriage returns of the answer taken off")
	}
	c := p.change
	slices.SortFunc(c.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	c.Sensitive = append(c.Sensitive, sensitive(c.Files, p.there)...)
	return &c, nil
}

func unreadable(err error) *Refusal {
	r := &Refusal{Kind: NotADiff, Message: err.Error()}
	s, ok := errors.AsType[*udiff.SyntaxError](err)
	if ok && s.Line > 0 {
		r.Message = fmt.Sprintf("line %d of the diff: %s", s.Line, s.Msg)
	}
	if ok && s.TooBig {
		r.Kind = TooBig
	}
	return r
}

func malformed(s udiff.Section, format string, args ...any) *Refusal {
	return &Refusal{Kind: NotADiff, Message: fmt.Sprintf("line %d of the diff: ", s.At) + fmt.Sprintf(format, args...)}
}

func (p *planner) repair(path string, hunk int, kind RepairKind, detail string) {
	p.change.Repairs = append(p.change.Repairs, Repair{Path: path, Hunk: hunk, Kind: kind, Detail: detail})
}

// lookup reads a file of the tree, once.
func (p *planner) lookup(path string) (File, error) {
	if f, ok := p.files[path]; ok {
		return f.file, f.err
	}
	file, err := p.tree.Lookup(path)
	if p.held += len(file.Content); p.held > p.limits.Total {
		file, err = File{}, ErrTooLarge
	}
	if _, other := errors.AsType[*EntryError](err); err != nil && !other && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTooLarge) && p.failed == nil {
		p.failed = fmt.Errorf("look up %s: %w", Display(path), err)
	}
	p.files[path] = found{file, err}
	return file, err
}

func (p *planner) known(path string) bool {
	if checkPath(path) != "" {
		return false
	}
	_, err := p.lookup(path)
	return err == nil
}

// there reports whether something is at path, be it no regular file.
func (p *planner) there(path string) bool {
	_, err := p.lookup(path)
	e, other := errors.AsType[*EntryError](err)
	return err == nil || errors.Is(err, ErrTooLarge) || other && e.Path == path
}

// knownName is known for a name that may have a prefix.
func (p *planner) knownName(name string) bool {
	if p.known(name) {
		return true
	}
	_, rest, ok := strings.Cut(name, "/")
	return ok && p.known(rest)
}

// steps reads the sections, one step a file, and checks everything that can be said without
// the file's content.
func (p *planner) steps(d *udiff.Diff) ([]*step, *Refusal) {
	var steps []*step
	byPath := make(map[string]*step)
	hunks := 0
	for _, s := range d.Sections {
		next, r := p.step(s)
		if r != nil {
			return nil, r
		}
		path := cmp.Or(next.new, next.old)
		if hunks += len(s.Hunks); hunks > p.limits.Hunks {
			return nil, tooBig("", "the diff has more than %d hunks", p.limits.Hunks)
		}
		p.reportHeader(s, path)
		if first := byPath[path]; first != nil {
			if !first.merge(next) {
				return nil, &Refusal{Kind: Overlap, Path: path, Message: "the diff has several sections for this file that cannot be one: put everything about it into one section"}
			}
			p.repair(path, 0, RepairMerged, "several sections made one")
			continue
		}
		if len(steps) == p.limits.Files {
			return nil, tooBig("", "the diff changes more than %d files", p.limits.Files)
		}
		byPath[path] = next
		steps = append(steps, next)
		if next.odd != "" {
			p.repair(path, 0, RepairNames, next.odd)
		}
	}
	return steps, nil
}

// reportHeader notes lines that the header of a section lacks.
func (p *planner) reportHeader(s udiff.Section, path string) {
	if s.Empty != "" {
		p.repair(path, 0, RepairHeader, fmt.Sprintf("the line %q says no mode", s.Empty))
	}
	if s.Old == "" && len(s.Hunks) > 0 {
		p.repair(path, 0, RepairHeader, "the --- and +++ lines are missing, or one of them is")
	}
}

// step reads one section.
func (p *planner) step(s udiff.Section) (*step, *Refusal) {
	n, r := sectionNames(s, p.known)
	if r == nil {
		r = checkSection(s, n)
	}
	if r != nil {
		return nil, r
	}
	if p.unsaidNew(s, n) {
		n.old, n.odd = "", "a file that is not there is a new one"
	}
	return &step{names: n, section: s, hunks: s.Hunks, mode: newMode(s)}, nil
}

// unsaidNew reports whether a section makes a file without saying so: there is no such
// file, and its one hunk begins where there is nothing.
func (p *planner) unsaidNew(s udiff.Section, n names) bool {
	if n.old == "" || n.old != n.new || len(s.Hunks) != 1 || s.Hunks[0].Old != (udiff.Range{Start: 0, Lines: 0}) {
		return false
	}
	_, err := p.lookup(n.old)
	return errors.Is(err, fs.ErrNotExist)
}

// merge adds the hunks of a second section about the same file. Only plain changes
// of content can be merged.
func (s *step) merge(next *step) bool {
	plain := func(s *step) bool { return s.old == s.new && len(s.hunks) > 0 }
	if !plain(s) || !plain(next) || s.mode != 0 && next.mode != 0 && s.mode != next.mode {
		return false
	}
	s.hunks = append(s.hunks, next.hunks...)
	s.mode = cmp.Or(s.mode, next.mode)
	s.section.OldID = ""
	return true
}

// checkSection applies the policy to names, modes and kind of content.
func checkSection(s udiff.Section, n names) *Refusal {
	for _, name := range []string{n.old, n.new} {
		if name == "" {
			continue // made or deleted
		}
		if rule := checkPath(name); rule != "" {
			return &Refusal{Kind: BadPath, Path: name, Message: rule}
		}
	}
	path := cmp.Or(n.new, n.old)
	for _, mode := range []string{s.OldMode, s.NewMode, s.IndexMode} {
		if r := checkMode(path, mode); r != nil {
			return r
		}
	}
	switch {
	case s.Binary:
		return &Refusal{Kind: Policy, Path: path, Message: "binary patches are not taken; only text can be patched"}
	case len(s.Hunks) == 0 && !s.Created && !s.Removed && !s.Rename && !s.Copy && s.NewMode == "":
		return &Refusal{Kind: NotADiff, Path: path, Message: "the section has no hunks: a hunk begins with a line like @@ -1,3 +1,4 @@"}
	}
	return nil
}

func checkMode(path, mode string) *Refusal {
	switch mode {
	case "", Regular.String(), Executable.String():
		return nil
	case "120000":
		return &Refusal{Kind: Policy, Path: path, Message: "symbolic links cannot be made or changed"}
	case "160000":
		return &Refusal{Kind: Policy, Path: path, Message: "submodules cannot be made or changed"}
	}
	return &Refusal{Kind: Policy, Path: path, Message: fmt.Sprintf("mode %q is not taken; a file has mode 100644 or 100755", mode)}
}

// newMode is the mode that a section asks for, 0 when it asks for none.
func newMode(s udiff.Section) Mode {
	switch {
	case s.Removed || s.NewMode == "":
		return 0
	case s.NewMode == Executable.String():
		return Executable
	}
	return Regular
}
