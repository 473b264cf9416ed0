package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/kballard/go-shellquote"
)

// ParseServer reads NAME=COMMAND. It splits the command as a shell does, quotes included, and expands
// nothing.
func ParseServer(text string) (name string, s Server, err error) {
	name, command, ok := strings.Cut(text, "=")
	if !ok {
		return "", Server{}, fmt.Errorf("%q: give NAME=COMMAND, such as docs='npx -y docs-server'", text)
	}
	if err := checkPrintable(text); err != nil {
		return "", Server{}, err
	}
	argv, err := shellquote.Split(command)
	if err != nil {
		return "", Server{}, fmt.Errorf("the MCP server %s: split the command: %s", name, strings.ToLower(err.Error()))
	}
	if len(argv) > 0 {
		s = Server{Command: argv[0], Args: argv[1:]}
	}
	return name, s, checkServers(map[string]Server{name: s})
}

// writeSuffix marks a directory that the agent may change.
const writeSuffix = ":rw"

// ParseDir reads the path of a directory, with :rw behind it if the agent may change it. A relative path
// counts from the directory from.
func ParseDir(text, from string) (path string, write bool, err error) {
	path, write = strings.CutSuffix(text, writeSuffix)
	if path == "" {
		return "", false, errors.New("no directory given")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return filepath.Clean(path), write, checkPrintable(path)
}

// CheckTool refuses a text that is not one rule for tools: a client would take it for several, or for a flag.
func CheckTool(text string) error {
	if text == "" || strings.HasPrefix(text, "-") || !isOneRule(text) {
		return fmt.Errorf("tool %q: give one name or rule of the agent, such as 'Bash(go test *)'; repeat the option for more", text)
	}
	return checkPrintable(text)
}

// isOneRule reports whether a list of rules has the text for one: clients split lists at commas and spaces
// that are in no parentheses.
func isOneRule(text string) bool {
	depth := 0
	for _, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0 && (r == ',' || unicode.IsSpace(r)):
			return false
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

func checkPrintable(text string) error {
	for _, r := range text {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return fmt.Errorf("%q holds the character %+q, which is not printable", text, r)
		}
	}
	return nil
}
