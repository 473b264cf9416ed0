// Package thinking takes the thoughts out of a model's text. Many models write what they consider and discard before
// their answer, within tags such as <think>. It is no part of an answer, a plan or a verdict.
package thinking

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// The errors of Cut.
var (
	ErrOpen    = errors.New("the thoughts at its beginning have no end, so the answer after them is missing")
	ErrUnclear = errors.New("it is unclear where its thoughts end: a diff or a marker is between two closing tags, or there are too many tags")
	ErrNothing = errors.New("it contains only thoughts")
)

// names are those of the tags, in lower case.
const names = `(?:[a-z]+[:_-])?(?:think|thinking|thought|thoughts|reasoning)(?:[_-](?:process|content|block))?|antthinking|reflection|scratchpad|analysis|(?:inner|internal)_monologue`

// The expressions capture the name of the tag. Beside tags of a markup there are the tokens of chat templates, which some
// servers leave in the text.
var (
	tagOpen = regexp.MustCompile(`(?i)^[ \t]*(?:<\|?(` + names + `)(?:[ \t][^<>\n]*)?\|?>|\[(think)\]|◁(think)▷|<[|｜]begin[_▁]of[_▁](thought|thinking)[|｜]>|<unused94>(thought)` +
		`|(?:<\|start\|>assistant)?<\|channel\|>(analysis)<\|message\|>|<(details)(?: type="reasoning"[^>\n]*>|>\s*<summary>(?:think|thought|reasoning)))`)
	tagClose = regexp.MustCompile(`(?i)<\|?/(` + names + `)[ \t]*\|?>|\[/(think)\]|◁/(think)▷|<[|｜]end[_▁]of[_▁](thought|thinking)[|｜]>|<unused95>()` +
		`|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>(final)<\|message\|>|assistant(final)|</(details)>`)
	// strippedOpen begins the text of gpt-oss where a server has removed its tokens: analysisWe need to ...
	strippedOpen = regexp.MustCompile(`^analysis[A-Z]`)
	strippedEnd  = []byte("assistantfinal")
)

// maxBlocks bounds the thoughts of one text: all of it is read for each.
const maxBlocks = 64

// Cut returns text without the thoughts before its answer. An empty line stands for each line of them, so that numbers
// of lines stay true. Thoughts begin with an opening tag that begins a line before any diff, fence or marker, or with
// the text if there is a closing tag alone: some servers leave the opening tag to the prompt. They reach to the last
// closing tag that begins or ends a line. text itself is returned when it holds none.
func Cut(text []byte) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	blocks, from := 0, 0
	for ; ; blocks++ {
		begin, tag, ok := findOpening(lines, from)
		if !ok && blocks == 0 {
			begin, tag, ok = findLoneClosing(lines)
		}
		if !ok {
			break
		}
		if blocks == maxBlocks {
			return nil, ErrUnclear
		}
		end, err := findEnd(lines, begin, tag)
		if err != nil {
			return nil, err
		}
		rest := behindTag(lines[end])
		for i := begin; i < end; i++ {
			lines[i] = []byte("\n")
		}
		lines[end], from = rest, end
	}
	if blocks == 0 {
		return text, nil
	}
	rest := bytes.Join(lines, nil)
	if len(bytes.TrimSpace(rest)) == 0 {
		return nil, ErrNothing
	}
	return rest, nil
}

// findOpening returns the first line from from on that opens thoughts, and its tag. Other prose may come before it.
func findOpening(lines [][]byte, from int) (at int, tag string, ok bool) {
	for i, line := range lines[from:] {
		if i == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if m := tagOpen.FindSubmatch(line); m != nil {
			return from + i, nameOf(m), true
		}
		if from+i == 0 && strippedOpen.Match(line) && bytes.Contains(bytes.Join(lines, nil), strippedEnd) {
			return 0, "analysis", true
		}
		if isContent(line) {
			break
		}
	}
	return 0, "", false
}

// findLoneClosing returns the tag of the first closing tag that begins or ends a line, as thoughts from the first line
// on. A tag with nothing behind it ends no thoughts.
func findLoneClosing(lines [][]byte) (at int, tag string, ok bool) {
	for i, line := range lines {
		name := closingOf(line)
		if name == "" || name == "details" || isDiffLine(line) {
			continue
		}
		rest := len(bytes.TrimSpace(behindTag(line))) > 0
		for _, line := range lines[i+1:] {
			rest = rest || len(bytes.TrimSpace(line)) > 0
		}
		return 0, name, rest
	}
	return 0, "", false
}

// findEnd returns the line on which the thoughts end that begin on line begin.
func findEnd(lines [][]byte, begin int, tag string) (int, error) {
	first, last, other := -1, -1, -1
	for i := begin; i < len(lines); i++ {
		m := tagClose.FindSubmatch(lines[i])
		if m == nil || nameOf(m) != tag {
			continue
		}
		switch {
		case isDiffLine(lines[i]), closingOf(lines[i]) == "":
			if other < 0 {
				other = i
			}
		default:
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case first < 0 && other < 0:
		return 0, ErrOpen
	case first < 0:
		return other, nil
	}
	for _, line := range lines[first+1 : last+1] {
		if isContent(line) {
			return 0, ErrUnclear
		}
	}
	return last, nil
}

// behindTag returns what follows the closing tag on a line: the tag that ends the line, else the first.
func behindTag(line []byte) []byte {
	if tagAtEnd(line) != "" {
		return line[len(bytes.TrimRight(line, " \t\r\n")):]
	}
	return line[tagClose.FindIndex(line)[1]:]
}

// closingOf returns the name of the closing tag that begins or ends a line; "" if there is none.
func closingOf(line []byte) string {
	line = bytes.TrimSpace(line)
	if m := tagClose.FindSubmatch(line[:min(len(line), maxTag)]); m != nil && bytes.HasPrefix(line, m[0]) {
		return nameOf(m)
	}
	return tagAtEnd(line)
}

// maxTag is the most bytes of a closing tag.
const maxTag = 64

// tagAtEnd returns the name of the closing tag that ends a line; "" if none does.
func tagAtEnd(line []byte) string {
	line = bytes.TrimRight(line, " \t\r\n")
	from := max(0, len(line)-maxTag)
	for _, c := range "<[◁" {
		at := bytes.LastIndex(line[from:], []byte(string(c)))
		if at < 0 {
			continue
		}
		if m := tagClose.FindSubmatch(line[from+at:]); m != nil && len(m[0]) == len(line)-from-at {
			return nameOf(m)
		}
	}
	return ""
}

// nameOf returns the name in a match of tagOpen or tagClose, in lower case. An end that has another name than its
// beginning gets that one.
func nameOf(m [][]byte) string {
	for _, group := range m[1:] {
		if len(group) == 0 {
			continue
		}
		if name := strings.ToLower(string(group)); name != "final" {
			return name
		}
		return "analysis"
	}
	return "thought" // <unused95>
}

// isDiffLine reports whether a line could be one of a hunk.
func isDiffLine(line []byte) bool { return len(line) > 0 && strings.IndexByte("+- ", line[0]) >= 0 }

// isContent reports whether a line belongs to an answer's form: a fence, a marker or the header of a diff.
func isContent(line []byte) bool {
	marks := []string{"```", "~~~", "<<<AIO_", "[PATCH_", "diff --git ", "--- ", "+++ ", "@@ "}
	return slices.ContainsFunc(marks, func(mark string) bool { return bytes.HasPrefix(line, []byte(mark)) })
}
