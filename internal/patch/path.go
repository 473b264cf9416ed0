package patch

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/ratchet-dev/ratchet/internal/display"
)

const (
	maxPath      = 1024 // bytes
	maxComponent = 255  // bytes
)

// ownPrefix begins the names of the temporary files that WriteChange makes.
const ownPrefix = ".ratchet-"

var (
	shortGit = regexp.MustCompile(`^gi[^.]{0,5}~[0-9]+$`)
	device   = regexp.MustCompile(`^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)
)

// checkPath returns the rule that forbids a name, or "" if no rule does.
func checkPath(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > maxPath:
		return fmt.Sprintf("the name has more than %d bytes", maxPath)
	case !utf8.ValidString(name):
		return "the name is not UTF-8"
	case strings.HasPrefix(name, "/"):
		return "the name is absolute; names are relative to the top of the repository"
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return fmt.Sprintf("the name holds the invisible character U+%04X", r)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if rule := checkComponent(part); rule != "" {
			return rule
		}
	}
	return ""
}

// checkComponent returns the rule that forbids one part of a name, or "" if no rule does.
func checkComponent(part string) string {
	visible := strings.Map(func(r rune) rune {
		if display.IsDeceptive(r) { // some file systems pass over such a character
			return -1
		}
		return r
	}, part)
	folded := strings.ToLower(strings.TrimRight(visible, " ."))
	folded, _, _ = strings.Cut(folded, ":") // a stream of the file, on some systems
	folded = strings.TrimRight(folded, " .")
	switch {
	case part == "":
		return "a part of the name is empty"
	case part == "." || part == "..":
		return `a part of the name is "` + part + `"`
	case len(part) > maxComponent:
		return fmt.Sprintf("a part of the name has more than %d bytes", maxComponent)
	case folded == ".git" || shortGit.MatchString(folded):
		return "the name is in git's own directory, or could be mistaken for it"
	case strings.HasPrefix(folded, ownPrefix):
		return "a part of the name is reserved while a patch is applied"
	}
	return ""
}

// checkPortable returns the rule that forbids one part of a name that a patch makes, or "" if no rule does. The rules hold
// for every system on which the repository may be checked out. A name that is there already may break them.
func checkPortable(part string) string {
	stem, _, _ := strings.Cut(strings.ToLower(strings.TrimRight(part, " .")), ".")
	for _, r := range part {
		if display.IsDeceptive(r) {
			return fmt.Sprintf("the name holds the invisible character U+%04X", r)
		}
	}
	switch {
	case strings.ContainsAny(part, `\:`):
		return "the name holds a backslash or a colon"
	case strings.HasSuffix(part, " ") || strings.HasSuffix(part, "."):
		return "a part of the name ends in a blank or a dot"
	case device.MatchString(strings.TrimRight(stem, " ")):
		return "a part of the name is a device on some systems"
	}
	return ""
}

// foldCase returns the same text for names that are equal on a file system, such as that of macOS, that ignores letter
// case and Unicode normalization.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, norm.NFD.String(name))
}
