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
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// Plan reads diff and decides its effect on t. It writes nothing. The error is a *Refusal, or the error of
// t.
func Plan(t Tree, diff []byte, l Limits) (*Change, error) {
	l = l.withDefaults()
	if r := l.checkText(diff); r != nil {
		return nil, r
	}
	p := &planner{tree: t, limits: l, files: make(map[string]lookupResult)}
	c, err := p.planDiff(diff, false)
	if err != nil && p.failed == nil && p.unsure {
		if c, strictErr := p.planDiff(diff, true); strictErr == nil {
			return c, nil
		}
	}
	if p.failed != nil {
		return nil, p.failed
	}
	return c, err
}

// planner makes one plan. It remembers its lookups.
type planner struct {
	tree   Tree
	limits Limits
	files  map[string]lookupResult
	failed error // the error of the tree
	unsure bool  // the diff could be read in another way too

	heldBytes    int // bytes of the files that were looked up
	changedBytes int // bytes of the changed files, before and after
	change       Change
}

// lookupResult is a remembered result of Tree.Lookup.
type lookupResult struct {
	file File
	err  error
}

// step is the change of one file by the diff, before it is placed.
type step struct {
	names
	section udiff.Section // the first of the file
	hunks   []udiff.Hunk  // of all its sections
	mode    Mode          // that the section asks for; 0 when it asks for none
}

// planDiff plans the diff. With strict, a header never ends a hunk before its counts are fulfilled.
func (p *planner) planDiff(diff []byte, strict bool) (*Change, error) {
	p.change, p.changedBytes = Change{}, 0
	d, err := udiff.Parse(diff, p.isPrefixedFile, strict)
	if err != nil {
		return nil, refuseSyntax(err)
	}
	p.unsure = d.Unsure
	for i, l := range d.Passed {
		if udiff.IsChange(l.Text) && !isHeaderOfNext(d, i) {
			return nil, &Refusal{Kind: NotADiff, Message: fmt.Sprintf("line %d of the diff describes a change without a hunk, so the diff is incomplete: %s", l.At, clipLine(string(l.Text)))}
		}
	}
	steps, r := p.buildSteps(d)
	if r != nil {
		return nil, r
	}
	if r := p.checkLayout(steps); r != nil {
		return nil, r
	}
	for _, s := range steps {
		if r := p.applyStep(s); r != nil {
			return nil, r
		}
	}
	if len(p.change.Files) == 0 {
		return nil, &Refusal{Kind: NotADiff, Message: "the diff changes nothing: it has no added and no deleted lines"}
	}
	p.reportPassed(d)
	if d.CRLF {
		p.addRepair("", 0, RepairLineEnds, "carriage returns of the answer taken off")
	}
	c := p.change
	slices.SortFunc(c.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	c.Sensitive = append(c.Sensitive, sensitiveReasons(c.Files, p.hasEntry)...)
	return &c, nil
}

// isHeaderOfNext reports whether line i of those that were passed over is one that other programs put before a --- line,
// and says no more than that line.
func isHeaderOfNext(d *udiff.Diff, i int) bool {
	l := d.Passed[i]
	name, update := strings.CutPrefix(strings.TrimSpace(string(l.Text)), "*** Update File: ")
	return slices.ContainsFunc(d.Sections, func(s udiff.Section) bool {
		next := s.At > l.At && s.At <= l.At+2
		same := func(name string) bool {
			return name != udiff.Null && strings.HasSuffix(strings.TrimSpace(string(l.Text)), path.Base(name))
		}
		return next && (udiff.IsOtherHeader(l.Text) && (same(s.Old) || same(s.New)) || update && isPrefixed(s.Old, name) && isPrefixed(s.New, name))
	})
}

// reportPassed adds a repair with the text that was passed over between the sections.
func (p *planner) reportPassed(d *udiff.Diff) {
	var text []string
	for _, l := range d.Passed {
		if line := strings.TrimSpace(string(l.Text)); !udiff.IsOtherHeader(l.Text) && strings.Trim(line, "=") != "" {
			text = append(text, line)
		}
	}
	if len(text) > 0 {
		p.addRepair("", 0, RepairTail, strings.Join(text, "\n"))
	}
}

// refuseSyntax returns the refusal of a text that udiff.Parse cannot read.
func refuseSyntax(err error) *Refusal {
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

// refuseSection returns the refusal of a section, with its line.
func refuseSection(s udiff.Section, format string, args ...any) *Refusal {
	return &Refusal{Kind: NotADiff, Message: fmt.Sprintf("line %d of the diff: ", s.At) + fmt.Sprintf(format, args...)}
}

// addRepair adds a repair to the change.
func (p *planner) addRepair(path string, hunk int, kind RepairKind, detail string) {
	p.change.Repairs = append(p.change.Repairs, Repair{Path: path, Hunk: hunk, Kind: kind, Detail: detail})
}

// lookupFile reads a file of the tree, once.
func (p *planner) lookupFile(path string) (File, error) {
	if f, ok := p.files[path]; ok {
		return f.file, f.err
	}
	file, err := p.tree.Lookup(path)
	if p.heldBytes += len(file.Content); p.heldBytes > p.limits.Total {
		file, err = File{}, ErrTooLarge
	}
	if _, other := errors.AsType[*EntryError](err); err != nil && !other && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTooLarge) && p.failed == nil {
		p.failed = fmt.Errorf("look up %s: %w", display.Line(path), err)
	}
	p.files[path] = lookupResult{file, err}
	return file, err
}

// isFile reports whether path is an allowed name and a regular file of the tree.
func (p *planner) isFile(path string) bool {
	if checkPath(path) != "" {
		return false
	}
	_, err := p.lookupFile(path)
	return err == nil
}

// hasEntry reports whether anything is at path, a regular file or not.
func (p *planner) hasEntry(path string) bool {
	_, err := p.lookupFile(path)
	e, other := errors.AsType[*EntryError](err)
	return err == nil || errors.Is(err, ErrTooLarge) || other && e.Path == path
}

// isDir reports whether path is an allowed name and a directory of the tree.
func (p *planner) isDir(path string) bool {
	if checkPath(path) != "" {
		return false
	}
	_, err := p.lookupFile(path)
	e, other := errors.AsType[*EntryError](err)
	return other && e.Path == path && e.Entry == Directory
}

// isPrefixedFile reports whether name is a file of the tree, with or without a prefix.
func (p *planner) isPrefixedFile(name string) bool {
	if p.isFile(name) {
		return true
	}
	_, rest, ok := strings.Cut(name, "/")
	return ok && p.isFile(rest)
}

// buildSteps reads the sections, one step for each file, and checks everything that does not need the
// content of a file.
func (p *planner) buildSteps(d *udiff.Diff) ([]*step, *Refusal) {
	var steps []*step
	byPath := make(map[string]*step)
	hunks := 0
	for _, s := range d.Sections {
		next, r := p.buildStep(s)
		if r != nil {
			return nil, r
		}
		path := cmp.Or(next.new, next.old)
		if hunks += len(s.Hunks); hunks > p.limits.Hunks {
			return nil, tooBig("", "the diff has more than %d hunks", p.limits.Hunks)
		}
		p.reportHeader(s, path)
		if first := byPath[path]; first != nil {
			if !first.mergeHunks(next) {
				return nil, &Refusal{Kind: Overlap, Path: path, Message: "the diff has several sections for this file that cannot be joined: put everything about it into one section"}
			}
			p.addRepair(path, 0, RepairMerged, "several sections made one")
			continue
		}
		if len(steps) == p.limits.Files {
			return nil, tooBig("", "the diff changes more than %d files", p.limits.Files)
		}
		byPath[path] = next
		steps = append(steps, next)
		if next.odd != "" {
			p.addRepair(path, 0, RepairNames, next.odd)
		}
	}
	return steps, nil
}

// reportHeader adds repairs for lines that the header of a section lacks.
func (p *planner) reportHeader(s udiff.Section, path string) {
	if s.Empty != "" {
		p.addRepair(path, 0, RepairHeader, fmt.Sprintf("the line %q has no mode", s.Empty))
	}
	if s.Old == "" && len(s.Hunks) > 0 {
		p.addRepair(path, 0, RepairHeader, "the --- or +++ line is missing")
	}
}

// buildStep reads one section.
func (p *planner) buildStep(s udiff.Section) (*step, *Refusal) {
	n, r := sectionNames(s, treeNames{p.isFile, p.isDir})
	if r == nil {
		r = checkSection(s, n)
	}
	if r != nil {
		return nil, r
	}
	if p.isUnsaidNew(s, n) {
		n.old, n.odd = "", "a file that does not exist is a new one"
	}
	return &step{names: n, section: s, hunks: s.Hunks, mode: askedMode(s)}, nil
}

// isUnsaidNew reports whether a section makes a file without saying so: there is no such file, and the
// section's one hunk begins at an empty range.
func (p *planner) isUnsaidNew(s udiff.Section, n names) bool {
	if n.old == "" || n.old != n.new || len(s.Hunks) != 1 || s.Hunks[0].Old != (udiff.Range{Start: 0, Lines: 0}) {
		return false
	}
	_, err := p.lookupFile(n.old)
	return errors.Is(err, fs.ErrNotExist)
}

// mergeHunks adds the hunks of a second section about the same file. It merges only plain changes of
// content.
func (s *step) mergeHunks(next *step) bool {
	plain := func(s *step) bool { return s.old == s.new && len(s.hunks) > 0 }
	if !plain(s) || !plain(next) || s.mode != 0 && next.mode != 0 && s.mode != next.mode {
		return false
	}
	s.hunks = append(s.hunks, next.hunks...)
	s.mode = cmp.Or(s.mode, next.mode)
	s.section.OldID = ""
	return true
}

// checkSection applies the policy to names, modes and the kind of content.
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
		return &Refusal{Kind: Policy, Path: path, Message: "binary patches are not supported; only text can be patched"}
	case len(s.Hunks) == 0 && !s.Created && !s.Removed && !s.Rename && !s.Copy && s.NewMode == "":
		return &Refusal{Kind: NotADiff, Path: path, Message: "the section has no hunks: a hunk begins with a line like @@ -1,3 +1,4 @@"}
	}
	return nil
}

// checkMode refuses every mode except the modes of regular and executable files.
func checkMode(path, mode string) *Refusal {
	switch mode {
	case "", Regular.String(), Executable.String():
		return nil
	case "120000":
		return &Refusal{Kind: Policy, Path: path, Message: "symbolic links cannot be created or changed"}
	case "160000":
		return &Refusal{Kind: Policy, Path: path, Message: "submodules cannot be created or changed"}
	}
	return &Refusal{Kind: Policy, Path: path, Message: fmt.Sprintf("mode %q is not supported; a file has mode 100644 or 100755", mode)}
}

// askedMode returns the mode that a section asks for, or 0 if it asks for none.
func askedMode(s udiff.Section) Mode {
	switch {
	case s.Removed || s.NewMode == "":
		return 0
	case s.NewMode == Executable.String():
		return Executable
	}
	return Regular
}
