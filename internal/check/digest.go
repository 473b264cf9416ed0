package check

import (
	"regexp"
	"strings"
)

// digestLength is how much of a failure goes into a digest, in characters (docs/contracts/run.md, 12).
const digestLength = 320

var (
	telling = regexp.MustCompile(`(?i)\b(?:errors?|fail(?:ed|ures?|s)?|fatal|panic|exception|traceback|undefined|not found|no such|assert\w*|expected)\b`)
	nothing = regexp.MustCompile(`(?i)\b(?:0|no) (?:errors?|fail(?:ed|ures?))\b`)
)

// Digest is the part of the output that tells most about a failure, at most 320 characters: from the first line on that
// speaks of one, else the end. A check that passed has none.
func (r Result) Digest() string {
	if r.Status == Pass {
		return ""
	}
	text := strings.TrimSpace(r.Head + "\n" + r.Tail)
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if telling.MatchString(line) && !nothing.MatchString(line) {
			return firstRunes(rest, digestLength)
		}
		rest = after
	}
	return lastRunes(text, digestLength)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func lastRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[max(len(runes)-n, 0):])
}
