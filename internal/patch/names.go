package patch

import (
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/udiff"
)

// names holds the two names of a section without their prefixes; "" means no file.
type names struct {
	old, new string
	odd      string // how the names were read, if not in git's plain form
}

// treeNames answers questions about the names of a tree.
type treeNames struct {
	isFile func(name string) bool // a regular file
	isDir  func(name string) bool
}

// sectionNames returns the names of a section from all the lines that carry one. These lines have to
// agree.
func sectionNames(s udiff.Section, tree treeNames) (names, *Refusal) {
	s = withPlainNames(s, tree.isFile)
	prefix, paired := pairPrefixes(s)
	var n names
	switch {
	case s.Broken != "":
		return names{}, refuseSection(s, "a name in quotes has no closing quote, or continues after it: %s", clipLine(s.Broken))
	case paired && prefix.covers(s.Old, s.New):
		n = prefix.strip(s.Old, s.New)
	case paired && s.Old == "" && s.New == "":
		n = prefix.strip(s.GitOld, s.GitNew)
	case s.Old != "" || s.New != "":
		var r *Refusal
		if n, r = lonePrefix(s, tree); r != nil {
			return names{}, r
		}
	case s.GitOld != "":
		n = stripPrefixes(s.GitOld, s.GitNew, tree.isFile)
	case s.From != "" && s.To != "":
		n = names{old: s.From, new: s.To}
	default:
		return names{}, refuseSection(s, "the names of the file cannot be read from its header")
	}
	if s.GitOld != "" && !(paired && namesAgree(n, prefix.strip(s.GitOld, s.GitNew))) && !namesAgree(n, stripPrefixes(s.GitOld, s.GitNew, tree.isFile)) {
		return names{}, refuseSection(s, "the diff --git line and the --- and +++ lines name different files")
	}
	if s.Rename || s.Copy {
		return checkMovedNames(s, n)
	}
	if s.Created {
		n.old = ""
	}
	if s.Removed || s.Gone && len(s.Hunks) == 1 && s.Hunks[0].New.Lines == 0 {
		n.new = ""
	}
	switch {
	case n.old == "" && n.new == "":
		r := refuseSection(s, "the name of the file is empty")
		r.Kind = BadPath
		return names{}, r
	case n.old != "" && n.new != "" && n.old != n.new:
		return names{}, refuseSection(s, "the section names two files, %s and %s, but is not a rename: use rename from and rename to lines", display.Line(n.old), display.Line(n.new))
	}
	return n, nil
}

// checkMovedNames checks the names of a rename or copy, which have no prefix.
func checkMovedNames(s udiff.Section, n names) (names, *Refusal) {
	moved := names{old: s.From, new: s.To, odd: n.odd}
	switch {
	case s.From == "" || s.To == "" || s.Rename && s.Copy || s.Created || s.Removed:
		return names{}, refuseSection(s, "a rename needs one rename from and one rename to line, a copy one copy from and one copy to line, and no other such line")
	case s.From == s.To:
		return names{}, refuseSection(s, "the file is renamed to its own name")
	case namesAgree(n, moved), isPrefixed(s.Old, s.From) && isPrefixed(s.New, s.To) && isPrefixed(s.GitOld, s.From) && isPrefixed(s.GitNew, s.To):
		return moved, nil
	case namesAgree(n, stripPrefixes(s.From, s.To, func(string) bool { return false })):
		n.odd = "prefixes of the rename lines taken off"
		return n, nil
	}
	return names{}, refuseSection(s, "the rename or copy lines and the other header lines name different files")
}

// isPrefixed reports whether a name on a header line is the name of a rename line, or that name behind a prefix of one
// part. A line that is absent agrees with every name.
func isPrefixed(line, name string) bool {
	_, rest, _ := strings.Cut(line, "/")
	return line == "" || line == name || rest == name
}

// namesAgree reports whether a and b name the same files, as far as both name one.
func namesAgree(a, b names) bool {
	return (a.old == b.old || a.old == "" || b.old == "") && (a.new == b.new || a.new == "" || b.new == "")
}

// prefixPair holds the prefixes of the old and the new name.
type prefixPair struct{ old, new string }

// pairPrefixes returns the prefixes that the diff --git line of a section shows. Git writes the same name twice there,
// unless the file is renamed or copied, so what differs is the prefix. ok is false if the line shows none.
func pairPrefixes(s udiff.Section) (_ prefixPair, ok bool) {
	if s.GitOld == "" || s.Rename || s.Copy || s.GitOld == s.GitNew {
		return prefixPair{}, false
	}
	i, j := len(s.GitOld), len(s.GitNew)
	for i > 0 && j > 0 && s.GitOld[i-1] == s.GitNew[j-1] {
		i, j = i-1, j-1
	}
	if _, o, ok := strings.Cut(s.GitOld, "/"); ok { // the common case: a prefix of one part
		if _, n, ok := strings.Cut(s.GitNew, "/"); ok && o == n && o != "" {
			return prefixPair{s.GitOld[:len(s.GitOld)-len(o)], s.GitNew[:len(s.GitNew)-len(n)]}, true
		}
	}
	at := strings.IndexByte(s.GitOld[i:], '/') // else the name is the longest one that both end in, part by part
	if at < 0 || i+at+1 == len(s.GitOld) {
		return prefixPair{}, false
	}
	return prefixPair{s.GitOld[:i+at+1], s.GitNew[:j+at+1]}, true
}

// covers reports whether the names of the --- and +++ lines begin with the prefixes, as far as they name a file.
func (p prefixPair) covers(old, new string) bool {
	return (old != "" || new != "") && (old == udiff.Null || strings.HasPrefix(old, p.old)) && (new == udiff.Null || strings.HasPrefix(new, p.new))
}

// strip returns the names without the prefixes.
func (p prefixPair) strip(old, new string) names {
	n := names{old: strings.TrimPrefix(old, p.old), new: strings.TrimPrefix(new, p.new)}
	if old == udiff.Null {
		n.old = ""
	}
	if new == udiff.Null {
		n.new = ""
	}
	if p != (prefixPair{"a/", "b/"}) {
		n.odd = "prefixes " + p.old + " and " + p.new + " taken off"
	}
	return n
}

// withPlainNames returns s with the leading ./ of its names taken off, and with slashes in names that have only
// backslashes and are not in the tree as they are.
func withPlainNames(s udiff.Section, isFile func(string) bool) udiff.Section {
	for _, name := range []*string{&s.GitOld, &s.GitNew, &s.Old, &s.New} {
		for strings.HasPrefix(*name, "./") && *name != "./" {
			*name = (*name)[2:]
		}
		if strings.Contains(*name, `\`) && !strings.Contains(*name, "/") && !isFile(*name) {
			*name = strings.ReplaceAll(*name, `\`, "/")
		}
	}
	return s
}

// lonePrefix returns the names of the --- and +++ lines of a section whose diff --git line says nothing of prefixes. With
// /dev/null on one side the other name alone has to tell whether it begins with a prefix: git's own b/ of a new file and
// a/ of a deleted one always are. Another letter is one if only that reading fits the tree.
func lonePrefix(s udiff.Section, tree treeNames) (names, *Refusal) {
	name, made := s.Old, s.Old == udiff.Null
	if made {
		name = s.New
	}
	first, _, _ := strings.Cut(name, "/")
	if bare := s.GitOld != "" && s.GitOld == s.GitNew; bare && made && tree.isDir(first) { // diff.noprefix
		return names{new: name, odd: "names without prefix"}, nil
	} else if bare && s.New == udiff.Null && tree.isFile(name) {
		return names{old: name, odd: "names without prefix"}, nil
	}
	if made == (s.New == udiff.Null) || made && strings.HasPrefix(name, "b/") || !made && strings.HasPrefix(name, "a/") {
		return stripPrefixes(s.Old, s.New, tree.isFile), nil
	}
	letter, rest, ok := strings.Cut(name, "/")
	if !ok || len(letter) != 1 || s.GitOld != "" && s.GitOld == s.GitNew {
		return stripPrefixes(s.Old, s.New, tree.isFile), nil
	}
	asPrefix, asDir := true, tree.isDir(letter)
	if !made {
		asPrefix, asDir = tree.isFile(rest), tree.isFile(name)
	}
	switch {
	case asPrefix && asDir:
		return names{}, refuseSection(s, "%s could be %s or %s: put a/ before the old name and b/ before the new one", display.Line(name), display.Line(name), display.Line(rest))
	case !asPrefix:
		return stripPrefixes(s.Old, s.New, tree.isFile), nil
	case made:
		return names{new: rest, odd: "prefix " + letter + "/ taken off"}, nil
	}
	return names{old: rest, odd: "prefix " + letter + "/ taken off"}, nil
}

// prefixes are the pairs of prefixes that git puts before names.
var prefixes = [][2]string{{"a/", "b/"}, {"i/", "w/"}, {"c/", "i/"}, {"c/", "w/"}, {"o/", "w/"}}

// stripPrefixes removes the prefixes of a pair of names. It removes git's own pair whatever the tree
// holds; a guess has to be confirmed by known.
func stripPrefixes(old, new string, known func(string) bool) names {
	a, inA := strings.CutPrefix(old, "a/")
	b, inB := strings.CutPrefix(new, "b/")
	switch {
	case old == udiff.Null && new == udiff.Null:
		return names{}
	case old == udiff.Null && inB:
		return names{new: b}
	case old == udiff.Null:
		return names{new: new, odd: "names without prefix"}
	case new == udiff.Null && inA:
		return names{old: a}
	case new == udiff.Null:
		return names{old: old, odd: "names without prefix"}
	case inA && inB:
		return names{old: a, new: b}
	case inA && a == new, inB && b == old:
		return names{old: strings.TrimPrefix(old, "a/"), new: strings.TrimPrefix(new, "b/"), odd: "one name without prefix"}
	case known(old):
		return names{old: old, new: new, odd: "names without prefix"}
	}
	for _, p := range prefixes[1:] {
		if o, ok := strings.CutPrefix(old, p[0]); ok && known(o) && strings.HasPrefix(new, p[1]) {
			return names{old: o, new: new[len(p[1]):], odd: "prefixes " + p[0] + " and " + p[1] + " taken off"}
		}
	}
	_, o, twoOld := strings.Cut(old, "/")
	_, n, twoNew := strings.Cut(new, "/")
	if twoOld && twoNew && o == n && known(o) && (inA || inB || old != new) {
		return names{old: o, new: n, odd: "first part of the names taken for a prefix"}
	}
	return names{old: old, new: new, odd: "names without prefix"}
}
