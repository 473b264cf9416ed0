package udiff

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

var (
	hunkHeader = regexp.MustCompile(`^@@[ \t]*-(\d+)(?:,(\d+))?[ \t]+\+(\d+)(?:,(\d+))?[ \t]*@@`)
	gitMode    = regexp.MustCompile(`^[0-7]{6}$`)
	afterTab   = regexp.MustCompile(`^\s*$|^\d|^\(|^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b`)
	noFile     = regexp.MustCompile(`\t(?:1970-01-01|1969-12-31) [0-2]\d:[0-5]\d:00(?:\.0+)? [+-][0-2]\d:?[0-5]\d\r?$`) // git takes the time 0 of Unix for "no such file"
	stamp      = regexp.MustCompile(` +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( [+-]\d\d:?\d\d)?$`)
)

// IsGitHeader reports whether line begins the section of a file.
func IsGitHeader(line []byte) bool { return bytes.HasPrefix(line, []byte("diff --git ")) }

// IsHunkHeader reports whether line begins a hunk, with or without usable numbers.
func IsHunkHeader(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("@@"))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t-\r"), rest[0]) >= 0)
}

// IsFileHeader reports whether a and b are the --- and +++ lines of a file.
func IsFileHeader(a, b []byte) bool {
	return bytes.HasPrefix(a, []byte("--- ")) && bytes.HasPrefix(b, []byte("+++ "))
}

// isCombined reports whether line begins a combined diff of several parents.
func isCombined(line []byte) bool {
	return bytes.HasPrefix(line, []byte("@@@ ")) || bytes.HasPrefix(line, []byte("diff --cc ")) ||
		bytes.HasPrefix(line, []byte("diff --combined "))
}

// parseRanges reads the numbers of an @@ line. A number of more than nine digits is unusable, because no
// file has that many lines.
func parseRanges(line []byte) (old, new Range) {
	none := Range{Unstated, Unstated}
	m := hunkHeader.FindSubmatch(line)
	if m == nil {
		return none, none
	}
	old = Range{parseNumber(m[1]), parseCount(m[2])}
	new = Range{parseNumber(m[3]), parseCount(m[4])}
	if old.Start == Unstated || old.Lines == Unstated || new.Start == Unstated || new.Lines == Unstated {
		return none, none
	}
	return old, new
}

// parseHeading reads the text behind the numbers of an @@ line, or behind the @@ of a line without numbers.
func parseHeading(line []byte) []byte {
	at := hunkHeader.FindIndex(line)
	if at == nil {
		at = []int{0, len("@@")}
	}
	text := bytes.TrimSpace(line[at[1]:])
	return bytes.TrimSpace(bytes.TrimSuffix(text, []byte("@@")))
}

// parseCount returns the number of lines in a range. Without digits it is 1.
func parseCount(digits []byte) int {
	if len(digits) == 0 {
		return 1
	}
	return parseNumber(digits)
}

// parseNumber returns the value of digits, or Unstated if it is unusable.
func parseNumber(digits []byte) int {
	if len(digits) > 9 {
		return Unstated
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return Unstated
	}
	return n
}

// parseFileName reads the name on a --- or +++ line, without its time stamp. A tab that no time stamp
// follows is part of the name. whole has the meaning it has for parseGitNames.
func parseFileName(line []byte) (name string, whole bool) {
	s := strings.TrimRight(string(line[len("--- "):]), "\r")
	if strings.HasPrefix(s, `"`) {
		if name, rest, ok := UnquoteName(s); ok && (rest == "" || rest[0] == '\t' || rest[0] == ' ') {
			return name, true
		}
		return s, false
	}
	if name, rest, ok := strings.Cut(s, "\t"); ok && afterTab.MatchString(rest) {
		return name, true
	}
	return stamp.ReplaceAllString(s, ""), true
}

// parseGitNames reads the two names of a diff --git line. Names with blanks are not delimited there: only
// a pair that differs in nothing but the prefix can be told apart, and other pairs are left to the lines
// that follow. whole is false if a quote has no end, or if the name continues after it.
func parseGitNames(line []byte) (old, new string, whole bool) {
	s := strings.TrimRight(string(line[len("diff --git "):]), "\r")
	if strings.HasPrefix(s, `"`) {
		first, rest, ok := UnquoteName(s)
		second, found := strings.CutPrefix(rest, " ")
		new, whole = parsePlainName(second)
		return first, new, ok && found && whole
	}
	if i := strings.Index(s, ` "`); i >= 0 && strings.HasSuffix(s, `"`) {
		if second, rest, ok := UnquoteName(s[i+1:]); ok && rest == "" {
			return s[:i], second, true
		}
	}
	if strings.Count(s, " ") == 1 {
		old, new, _ = strings.Cut(s, " ")
		return old, new, !strings.HasPrefix(new, `"`)
	}
	for i := range len(s) {
		if s[i] == ' ' && trimLetterPrefix(s[:i]) == trimLetterPrefix(s[i+1:]) && trimLetterPrefix(s[:i]) != "" {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", true
}

// trimLetterPrefix returns a name of a diff --git line without a one-letter prefix.
func trimLetterPrefix(name string) string {
	if len(name) > 2 && name[1] == '/' {
		return name[2:]
	}
	return name
}

// parsePlainName reads a name that may be quoted. whole has the meaning it has for parseGitNames.
func parsePlainName(s string) (name string, whole bool) {
	s = strings.TrimRight(s, "\r")
	if !strings.HasPrefix(s, `"`) {
		return s, true
	}
	name, rest, ok := UnquoteName(s)
	return name, ok && strings.TrimRight(rest, " \t") == ""
}

// readExtended reads one of git's extended header lines into s and reports whether the line is one.
func (s *Section) readExtended(line []byte) bool {
	text := strings.TrimRight(string(line), "\r")
	key, value := splitHeaderKey(text)
	whole := true
	switch key {
	case "old mode":
		s.OldMode = value
	case "new mode":
		s.NewMode = value
	case "new file mode":
		s.Created, s.NewMode = true, value
	case "deleted file mode":
		s.Removed, s.OldMode = true, value
	case "rename from":
		s.Rename = true
		s.From, whole = parsePlainName(value)
	case "rename to":
		s.Rename = true
		s.To, whole = parsePlainName(value)
	case "copy from":
		s.Copy = true
		s.From, whole = parsePlainName(value)
	case "copy to":
		s.Copy = true
		s.To, whole = parsePlainName(value)
	case "index":
		s.readIndex(value)
	case "GIT binary patch", "Binary files":
		s.Binary = true
	default:
		return false
	}
	s.noteBroken(line, whole)
	if strings.HasSuffix(key, " mode") && value == "" {
		s.Empty = key
	}
	return true
}

// alreadySays reports whether s has the extended header line already, so that another one belongs to
// another section.
func (s *Section) alreadySays(line []byte) bool {
	switch key, _ := splitHeaderKey(strings.TrimRight(string(line), "\r")); key {
	case "new file mode":
		return s.Created
	case "deleted file mode":
		return s.Removed
	case "old mode":
		return s.OldMode != ""
	case "rename from", "copy from":
		return s.From != ""
	}
	return false
}

// splitHeaderKey splits an extended header line into its key and value. The key is "" if the line is no
// such line.
func splitHeaderKey(line string) (key, value string) {
	for _, key := range []string{"old mode", "new mode", "new file mode", "deleted file mode"} {
		if value, ok := strings.CutPrefix(line+" ", key+" "); ok {
			return key, strings.TrimSpace(value)
		}
	}
	for _, key := range []string{"rename from", "rename to", "copy from", "copy to", "index", "similarity index", "Binary files"} {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return key, value
		}
	}
	if line == "GIT binary patch" {
		return line, ""
	}
	return "", ""
}

// readIndex reads the value of an index line.
func (s *Section) readIndex(value string) {
	ids, mode, _ := strings.Cut(value, " ")
	if old, _, ok := strings.Cut(ids, ".."); ok {
		s.OldID, s.IndexMode = old, mode
	}
}
