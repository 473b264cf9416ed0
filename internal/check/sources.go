package check

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Source is a file that influences the result of a check.
type Source struct {
	Path string // slash-separated, relative; a * in it stands for any part of one name
	Why  string // its role, in words that follow the path
}

// The bounds of what FindSources looks at.
const (
	maxSources = 200
	maxDirs    = 8 // of one command
)

// FindSources returns the files that the commands name and do not only read or compile: what these do is part of the
// check. A word that is no file's name does no harm, because no patch can change it, and a patch that adds the file
// influences the result, too. FindSources does not look into the files. What programs find by fixed names, such as a
// Makefile or conftest.py, package patch knows.
func FindSources(commands []string) []Source {
	var found []Source
	for _, c := range commands {
		why := fmt.Sprintf("named by the check %q", display.Clip(c, 60))
		dirs := []string{"."} // in which the commands may run
		add := func(name string) {
			if strings.HasPrefix(name, "$") { // ${ROOT}/x: most likely the top
				_, name, _ = strings.Cut(name, "/")
			}
			if name == "" || strings.HasPrefix(name, "/") {
				return
			}
			for _, dir := range dirs {
				name, ok := relativePath(path.Join(dir, name), "")
				known := slices.ContainsFunc(found, func(s Source) bool { return s.Path == name })
				if ok && !known && len(found) < maxSources {
					found = append(found, Source{Path: name, Why: why})
				}
			}
		}
		for _, words := range splitCommands(c) {
			for i, w := range words {
				if slices.Contains([]string{"cd", "pushd", "-C", "--prefix", "--directory", "--cwd", "--dir"}, w) && i+1 < len(words) && len(dirs) < maxDirs {
					dirs = append(dirs, words[i+1])
				}
			}
			program := slices.IndexFunc(words, func(w string) bool { return !prefix.MatchString(w) })
			if program >= 0 && looker.MatchString(words[program]) {
				continue
			}
			for i, w := range words {
				add(operandOf(w))
				switch {
				case i == 0:
				case words[i-1] == "-m":
					module := strings.ReplaceAll(w, ".", "/")
					add(module + ".py")
					add(module + "/__main__.py")
				case words[i-1] == "run" && slices.Contains(words[:i], "go"):
					add(w + "/*.go")
				}
			}
		}
	}
	return found
}

var (
	// reference is a variable in brackets.
	reference = regexp.MustCompile(`\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]`)
	// looker is a program that judges the files in its arguments.
	looker = regexp.MustCompile(`^(test|\[\[?|[ef]?grep|rg|ls|cat|head|tail|wc|stat|file|find|jq|echo|printf|mkdir|rm|touch|sha[0-9]+sum|md5sum|gofmt|gcc|cc|clang|g\+\+|c\+\+|clang\+\+|rustc|javac|tsc)$`)
	// prefix is a word that may come before a command.
	prefix = regexp.MustCompile(`^([!{]|if|then|elif|else|while|until|do|env|exec|eval|time|command|nohup|nice|sudo|xargs|timeout|[0-9]+[smhd]?|-.*|[A-Za-z_][A-Za-z0-9_]*=.*)$`)
)

// splitCommands splits shell commands into simple ones, each a list of words. It removes quotes, because
// the quoted text may be a command as well, as after sh -c.
func splitCommands(text string) [][]string {
	text = reference.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "$$$1")
	var all [][]string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;&|`()", r) }) {
		if words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\r'\"<>", r) }); len(words) > 0 && words[0][0] != '#' {
			all = append(all, words)
		}
	}
	return all
}

// operandOf returns the part of a word that can be a file's name: the text after the = of a flag or a variable, or after
// the letter of a short flag.
func operandOf(word string) string {
	name, value, assigned := strings.Cut(word, "=")
	switch {
	case assigned && !strings.Contains(name, "/"):
		return value
	case strings.HasPrefix(word, "--"):
		return ""
	case strings.HasPrefix(word, "-"):
		return word[min(2, len(word)):]
	}
	return word
}
