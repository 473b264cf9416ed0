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

// sectionNames returns the names of a section from all the lines that carry one. These lines have to
// agree.
func sectionNames(s udiff.Section, known func(string) bool) (names, *Refusal) {
	var n names
	switch {
	case s.Broken != "":
		return names{}, refuseSection(s, "a name in quotes has no closing quote, or goes on after it: %s", clipLine(s.Broken))
	case s.Old != "" || s.New != "":
		n = stripPrefixes(s.Old, s.New, known)
	case s.GitOld != "":
		n = stripPrefixes(s.GitOld, s.GitNew, known)
	case s.From != "" && s.To != "":
		n = names{old: s.From, new: s.To}
	default:
		return names{}, refuseSection(s, "the names of the file cannot be read from its header")
	}
	if s.GitOld != "" && !namesAgree(n, stripPrefixes(s.GitOld, s.GitNew, known)) {
		return names{}, refuseSection(s, "the diff --git line and the --- and +++ lines name different files")
	}
	if s.Rename || s.Copy {
		return checkMovedNames(s, n)
	}
	if s.Created {
		n.old = ""
	}
	if s.Removed {
		n.new = ""
	}
	switch {
	case n.old == "" && n.new == "":
		r := refuseSection(s, "the name of the file is empty")
		r.Kind = BadPath
		return names{}, r
	case n.old != "" && n.new != "" && n.old != n.new:
		return names{}, refuseSection(s, "the section names two files, %s and %s, and is no rename: use rename from and rename to lines", display.Line(n.old), display.Line(n.new))
	}
	return n, nil
}

// checkMovedNames checks the names of a rename or copy, which have no prefix.
func checkMovedNames(s udiff.Section, n names) (names, *Refusal) {
	moved := names{old: s.From, new: s.To, odd: n.odd}
	switch {
	case s.From == "" || s.To == "" || s.Rename && s.Copy || s.Created || s.Removed:
		return names{}, refuseSection(s, "a rename needs one rename from and one rename to line, a copy one copy from and one copy to line, and nothing else of the kind")
	case s.From == s.To:
		return names{}, refuseSection(s, "the file is renamed to the name it has")
	case namesAgree(n, moved):
		return moved, nil
	case namesAgree(n, stripPrefixes(s.From, s.To, func(string) bool { return false })):
		n.odd = "prefixes of the rename lines taken off"
		return n, nil
	}
	return names{}, refuseSection(s, "the rename or copy lines and the other header lines name different files")
}

// namesAgree reports whether a and b name the same files, as far as both name one.
func namesAgree(a, b names) bool {
	return (a.old == b.old || a.old == "" || b.old == "") && (a.new == b.new || a.new == "" || b.new == "")
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
