package patch

import (
	"bytes"
	"path"
	"strings"
	"unicode"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// sensitiveReasons returns the reasons for which files need a person's approval under every policy but
// never. there reports whether the tree has something at a path. The reasons in modes and contents come first: who
// shows the list cuts it at its end.
func sensitiveReasons(files []FileChange, there func(string) bool) []Reason {
	bare := bareRepositories(files, there)
	var inside, names []Reason
	for _, f := range files {
		for _, name := range []string{f.Path, f.OldPath} {
			if name == "" {
				continue
			}
			for _, why := range []string{guardedAs(name), misreadName(name), bare(name)} {
				if why != "" {
					names = append(names, Reason{Path: name, Reason: why})
				}
			}
		}
		if why := sensitiveFile(f); why != "" {
			inside = append(inside, Reason{Path: f.Path, Reason: why})
		}
	}
	return append(inside, names...)
}

// misreadName returns how a command that is given the name may misread it, or "".
func misreadName(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		switch part[0] {
		case '-':
			return "a command may read the name as an option"
		case '~':
			return "a shell may read the name as a home directory"
		}
	}
	return ""
}

// bareRepositories returns a function that explains why a name needs approval: it is in a directory that
// git takes, or may take after another change, for a repository of its own, because it has a HEAD. The
// configuration of such a repository names programs that git runs. The top directory does not count,
// because git finds the repository that holds it first.
func bareRepositories(files []FileChange, there func(string) bool) func(name string) string {
	made := make(map[string]bool)
	for _, f := range files {
		if f.After != nil {
			made[foldCase(f.Path)] = true
		}
	}
	return func(name string) string {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if head := path.Join(dir, "HEAD"); made[foldCase(head)] || there(head) {
				return "git may treat " + display.Line(dir) + " as a repository and run programs from its configuration"
			}
		}
		return ""
	}
}

// sensitiveFile returns the reason for which the mode or the content of f needs a person's approval, or
// "".
func sensitiveFile(f FileChange) string {
	switch {
	case f.After == nil:
		return ""
	case f.After.Mode == Executable && (f.Before == nil || f.Before.Mode != Executable):
		return "it becomes executable"
	case f.After.Mode == Executable && f.Added+f.Deleted > 0:
		return "it is executable"
	case gains(f, countDirections):
		return "it gets characters that change the direction of text"
	case gains(f, countControls):
		return "it gets control characters, which make a terminal show different text"
	}
	return ""
}

// gains reports whether a file has more of something after the change than before.
func gains(f FileChange, count func(text []byte) int) bool {
	var before []byte
	if f.Before != nil {
		before = f.Before.Content
	}
	return count(f.After.Content) > count(before)
}

// countDirections returns the number of control characters of text direction in text. They make source read otherwise
// than it runs.
func countDirections(text []byte) (n int) {
	if bytes.IndexByte(text, "\u2067"[0]) < 0 && bytes.IndexByte(text, "\u061c"[0]) < 0 {
		return 0
	}
	for _, r := range string(text) {
		if unicode.Is(unicode.Bidi_Control, r) {
			n++
		}
	}
	return n
}

// countControls returns the number of control characters in text but for tabs, form feeds and line ends. A carriage
// return ends a line only before a line feed: elsewhere what follows it covers the line.
func countControls(text []byte) (n int) {
	for i, c := range text {
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\t', c == '\n', c == '\f', c == '\r' && next == '\n':
		case c < ' ', c == 0x7f, c == "\u0080"[0] && next >= 0x80 && next < 0xa0:
			n++
		}
	}
	return n
}
