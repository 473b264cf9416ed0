package explore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/prompt"
)

const (
	maxPattern = 1 << 10 // bytes
	maxMatches = 100
	maxLine    = 300 // bytes of a matching line that are shown
)

type pattern struct {
	Pattern string
	Regexp  bool
	Prefix  string
}

func (e *Explorer) searchFiles(ctx context.Context, in pattern) (string, error) {
	matches, err := in.compileTest()
	if err != nil {
		return "", err
	}
	s := search{matches: matches}
	for _, name := range e.pathsUnder(in.Prefix) {
		if ctx.Err() != nil {
			return "", errors.New("no time is left")
		}
		if s.cut = s.cut || e.scan <= 0; s.cut {
			break
		}
		content, size, err := e.files.Read(ctx, name, MaxFile)
		e.scan -= int64(len(content))
		if err != nil || size > MaxFile || isBinary(content) {
			s.skipped++
			continue
		}
		s.searchFile(name, string(content))
	}
	return s.writeReport(), nil
}

// compileTest returns the test of a line, which has no line feed.
func (in pattern) compileTest() (func(line string) bool, error) {
	switch {
	case in.Pattern == "":
		return nil, errors.New("the pattern is empty")
	case len(in.Pattern) > maxPattern:
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	case !in.Regexp:
		return func(line string) bool { return strings.Contains(line, in.Pattern) }, nil
	}
	match, err := regexp.Compile(in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression (RE2): %w", err)
	}
	return match.MatchString, nil
}

// search is one search in progress.
type search struct {
	matches func(line string) bool

	found   strings.Builder
	lines   int // found
	files   int // searched
	skipped int // too large, not a text, not to be read
	cut     bool
}

func (s *search) searchFile(name, content string) {
	s.files++
	n := 0
	for line := range strings.Lines(content) {
		n++
		if line = strings.TrimRight(line, "\r\n"); !s.matches(line) {
			continue
		}
		if s.cut = s.lines == maxMatches || s.found.Len() >= MaxResult; s.cut {
			return
		}
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "..."
		}
		fmt.Fprintf(&s.found, "%s:%d: %s\n", display.Path(name), n, line)
		s.lines++
	}
}

func (s *search) writeReport() string {
	text := fmt.Sprintf("%s in %s searched", display.Count(s.lines, "matching line", "matching lines"), display.Count(s.files, "file", "files"))
	if s.skipped > 0 {
		text += fmt.Sprintf(", %d skipped (too large or not text)", s.skipped)
	}
	if s.cut {
		text += "; not all was searched: give a longer prefix or a narrower pattern"
	}
	if s.lines == 0 {
		return text + ".\n"
	}
	return text + ". " + dataLabel + prompt.Fence("", s.found.String())
}
