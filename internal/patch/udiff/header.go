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

func isCombined(line []byte) bool {
	return bytes.HasPrefix(line, []byte("@@@ ")) || bytes.HasPrefix(line, []byte("diff --cc ")) ||
		bytes.HasPrefix(line, []byte("diff --combined "))
}

// parseRanges reads the numbers of an @@ line. Numbers over nine digits mean
// nothing: no file has that many lines.
func parseRanges(line []byte) (old, new Range) {
	none := Range{Unstated, Unstated}
	m := hunkHeader.FindSubmatch(line)
	if m == nil {
		return none, none
	}
	old = Range{number(m[1]), count(m[2])}
	new = Range{number(m[3]), count(m[4])}
	if old.Start == Unstated || old.Lines == Unstated || new.Start == Unstated || new.Lines == Unstated {
		return none, none
	}
	return old, new
}

func count(digits []byte) int {
	if len(digits) == 0 {
		return 1
	}
	return number(digits)
}

func number(digits []byte) int {
	if len(digits) > 9 {
		return Unstated
	}
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return Unstated
	}
	return n
}

// fileName reads the name on a --- or +++ line, without its time stamp. A tab that
// no stamp follows is part of the name. whole is as of gitNames.
func fileName(line []byte) (name string, whole bool) {
	s := strings.TrimRight(string(line[len("--- "):]), "\r")
	if strings.HasPrefix(s, `"`) {
		if name, rest, ok := unquote(s); ok && (rest == "" || rest[0] == '\t' || rest[0] == ' ') {
			return name, true
		}
		return s, false
	}
	if name, rest, ok := strings.Cut(s, "\t"); ok && afterTab.MatchString(rest) {
		return name, true
	}
	return stamp.ReplaceAllString(s, ""), true
}

// gitNames reads the two names of a diff --git line. Names with blanks are not
// delimited there: then only a pair that differs in nothing but the prefix can be told
// apart, and others are left to the lines that follow. whole is false when a quote
// has no end, or the name goes on after it.
func gitNames(line []byte) (old, new string, whole bool) {
	s := strings.TrimRight(string(line[len("diff --git "):]), "\r")
	if strings.HasPrefix(s, `"`) {
		first, rest, ok := unquote(s)
		second, found := strings.CutPrefix(rest, " ")
		new, whole = plainName(second)
		return first, new, ok && found && whole
	}
	if i := strings.Index(s, ` "`); i >= 0 && strings.HasSuffix(s, `"`) {
		if second, rest, ok := unquote(s[i+1:]); ok && rest == "" {
			return s[:i], second, true
		}
	}
	if strings.Count(s, " ") == 1 {
		old, new, _ = strings.Cut(s, " ")
		return old, new, !strings.HasPrefix(new, `"`)
	}
	for i := range len(s) {
		if s[i] == ' ' && bare(s[:i]) == bare(s[i+1:]) && bare(s[:i]) != "" {
			return s[:i], s[i+1:], true
		}
	}
	return "", "", true
}

// bare is a name of a diff --git line without a one-letter prefix.
func bare(name string) string {
	if len(name) > 2 && name[1] == '/' {
		return name[2:]
	}
	return name
}

// plainName reads a name that may be quoted. whole is as of gitNames.
func plainName(s string) (name string, whole bool) {
	s = strings.TrimRight(s, "\r")
	if !strings.HasPrefix(s, `"`) {
		return s, true
	}
	name, rest, ok := unquote(s)
	return name, ok && strings.TrimRight(rest, " \t") == ""
}

// extended reads one of git's extended header lines into s and reports whether
// it was one.
func (s *Section) extended(line []byte) bool {
	text := strings.TrimRight(string(line), "\r")
	key, value := headerKey(text)
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
		s.From, whole = plainName(value)
	case "rename to":
		s.Rename = true
		s.To, whole = plainName(value)
	case "copy from":
		s.Copy = true
		s.From, whole = plainName(value)
	case "copy to":
		s.Copy = true
		s.To, whole = plainName(value)
	case "index":
		s.index(value)
	case "GIT binary patch", "Binary files":
		s.Binary = true
	default:
		return false
	}
	s.quoted(line, whole)
	if strings.HasSuffix(key, " mode") && value == "" {
		s.Empty = key
	}
	return true
}

// says reports whether s has the extended header line already, so that another one
// is another section's.
func (s *Section) says(line []byte) bool {
	switch key, _ := headerKey(strings.TrimRight(string(line), "\r")); key {
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

func headerKey(line string) (key, value string) {
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

func (s *Section) index(value string) {
	ids, mode, _ := strings.Cut(value, " ")
	old, new, ok := strings.Cut(ids, "..")
	if !ok {
		return
	}
	s.OldID, s.NewID, s.IndexMode = old, new, mode
}
