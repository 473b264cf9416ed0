package check

import (
	"regexp"
	"strings"
)

// digestLength is the length of a digest, in characters (docs/contracts/run.md, 12).
const digestLength = 320

var (
	failureWords   = regexp.MustCompile(`(?i)\b(?:errors?|fail(?:ed|ures?|s)?|fatal|panic|exception|traceback|undefined|not found|no such|assert\w*|expected)\b`)
	noFailureWords = regexp.MustCompile(`(?i)\b(?:0|no) (?:errors?|fail(?:ed|ures?))\b`)
)

// Digest returns the part of the output that says most about a failure, at most 320 characters: from the
// first line that mentions a failure, else the end. It returns "" for a check that passed.
func (r Result) Digest() string {
	if r.Status == Pass {
		return ""
	}
	text := strings.TrimSpace(r.Head + "\n" + r.Tail)
	for rest := text; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		if failureWords.MatchString(line) && !noFailureWords.MatchString(line) {
			return firstRunes(rest, digestLength)
		}
		rest = after
	}
	return lastRunes(text, digestLength)
}

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// lastRunes returns the last n characters of s.
func lastRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[max(len(runes)-n, 0):])
}
