package patch

import (
	"bytes"
	"path"
	"strings"
	"unicode"
)

// sensitive gives what in files needs a person under every policy but never.
// there reports whether the tree has something at a path.
func sensitive(files []FileChange, there func(string) bool) []Reason {
	bare := bareRepositories(files, there)
	var reasons []Reason
	for _, f := range files {
		for _, name := range []string{f.Path, f.OldPath} {
			if name == "" {
				continue
			}
			for _, why := range []string{guardedAs(name), misread(name), bare(name)} {
				if why != "" {
					reasons = append(reasons, Reason{Path: name, Reason: why})
				}
			}
		}
		if why := sensitiveFile(f); why != "" {
			reasons = append(reasons, Reason{Path: f.Path, Reason: why})
		}
	}
	return reasons
}

// misread says what commands that are given a name take it for.
func misread(name string) string {
	for part := range strings.SplitSeq(name, "/") {
		switch part[0] {
		case '-':
			return "a command may take the name for an option"
		case '~':
			return "a shell may take the name for a home directory"
		}
	}
	return ""
}

// bareRepositories says of a name that it lies in a directory that git takes, or
// may take with another change, for a repository of its own: one with a HEAD. The
// configuration of such a repository names programs that git runs. The top is
// none, for there git finds the repository that holds it.
func bareRepositories(files []FileChange, there func(string) bool) func(name string) string {
	made := make(map[string]bool)
	for _, f := range files {
		if f.After != nil {
			made[fold(f.Path)] = true
		}
	}
	return func(name string) string {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if head := path.Join(dir, "HEAD"); made[fold(head)] || there(head) {
				return "git may take " + Display(dir) + " for a repository and run what its configuration names"
			}
		}
		return ""
	}
}

func sensitiveFile(f FileChange) string {
	switch {
	case f.After == nil:
		return ""
	case f.After.Mode == Executable && (f.Before == nil || f.Before.Mode != Executable):
		return "it becomes executable"
	case f.After.Mode == Executable && f.Added+f.Deleted > 0:
		return "it is executable"
	case addsDirection(f):
		return "it gains characters that change the direction of text"
	}
	return ""
}

// addsDirection reports whether a file gains control characters of text direction,
// which make source read otherwise than it runs.
func addsDirection(f FileChange) bool {
	var before []byte
	if f.Before != nil {
		before = f.Before.Content
	}
	return count(f.After.Content) > count(before)
}

func count(text []byte) (n int) {
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
