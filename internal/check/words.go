package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// reference is a variable in brackets.
	reference = regexp.MustCompile(`\$[({]([A-Za-z_][A-Za-z0-9_]*)[)}]`)
	variable  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	// interpreter is a program that runs the file in its arguments.
	interpreter = regexp.MustCompile(`^(\.|source|(ba|z|da|k|a)?sh|python[0-9.]*|pypy3?|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia|pwsh)$`)
	// looker is a program that judges the files in its arguments.
	looker = regexp.MustCompile(`^(test|\[\[?|[ef]?grep|rg|ls|cat|head|tail|wc|stat|file|find|jq|echo|printf|mkdir|rm|touch|sha[0-9]+sum|md5sum|gofmt|gcc|cc|clang|g\+\+|c\+\+|clang\+\+|rustc|javac|tsc)$`)
	// prefix is a word that may come before a command.
	prefix = regexp.MustCompile(`^([-@+!{]+|if|then|elif|else|while|until|do|env|exec|eval|time|command|nohup|nice|sudo|xargs|timeout|[0-9]+[smhd]?|-.*|[A-Za-z_][A-Za-z0-9_]*=.*|[a-z_]+:|uv|uvx|poetry|pipenv|hatch|pdm|bundle|npx|run)$`)
)

// splitCommands splits shell commands into simple ones, each a list of words. It removes quotes, because
// the quoted text may be a command as well, as after sh -c.
func splitCommands(text string) [][]string {
	text = reference.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), "$$$1")
	var all [][]string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n;&|`()", r) }) {
		if words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\r'\"<>", r) }); len(words) > 0 && words[0][0] != '#' {
			all = append(all, words)
		}
	}
	return all
}

// runDirs returns the directories in which commands may run: the given ones, and the ones to which the
// text changes from there.
func runDirs(from []string, text string) []string {
	all := slices.Clone(from)
	for _, words := range splitCommands(text) {
		for i, w := range words {
			into := ""
			switch flag, value, _ := strings.Cut(w, "="); flag {
			case "cd", "pushd", "-C", "--prefix", "--directory", "--cwd", "--dir":
				if into = value; into == "" && i+1 < len(words) {
					into = words[i+1]
				}
			}
			for _, dir := range from {
				if into, ok := relativePath(path.Join(dir, into), ""); ok && into != dir && len(all) < maxDirs {
					all = append(all, into)
				}
			}
		}
	}
	return all
}

// operandOf returns the part of a word that can be a file's name: the text after the = of a flag, or after
// the letter of a short one.
func operandOf(word string) string {
	if flag, value, ok := strings.Cut(word, "="); ok && (strings.HasPrefix(flag, "-") || variable.MatchString(word)) {
		return value
	}
	switch {
	case strings.HasPrefix(word, "--"):
		return ""
	case strings.HasPrefix(word, "-"):
		return word[min(2, len(word)):]
	}
	return word
}

// programsOf returns the names of the files that a simple command runs.
func programsOf(words []string) []string {
	i := slices.IndexFunc(words, func(w string) bool { return !prefix.MatchString(w) })
	if i < 0 {
		return nil
	}
	program := strings.TrimLeft(words[i], "@-+!{")
	if strings.Contains(program, "/") && !interpreter.MatchString(path.Base(program)) {
		return []string{program}
	}
	return runBy(program, words[i+1:])
}

// runBy returns the names of the files that a program with args runs, if it is an interpreter: the words
// after its flags, and its first other argument.
func runBy(program string, args []string) []string {
	if program == "go" && len(args) > 1 && args[0] == "run" {
		return []string{path.Join(args[1], "*.go")}
	}
	if !interpreter.MatchString(path.Base(program)) {
		return nil
	}
	var names []string
	for ; len(args) > 0; args = args[1:] {
		switch w := args[0]; {
		case w == "-m" && len(args) > 1:
			module := strings.ReplaceAll(args[1], ".", "/")
			return append(names, module+".py", module+"/__main__.py")
		case strings.HasPrefix(w, "-") && len(args) > 1:
			names = append(names, operandOf(w), args[1])
		case strings.HasPrefix(w, "-"), w == "run":
		case path.Ext(w) == "": // a program without its ending, or the directory of one
			return append(names, w, w+".js", path.Join(w, "index.js"), path.Join(w, "__main__.py"))
		default:
			return append(names, w)
		}
	}
	return names
}
