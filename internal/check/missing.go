package check

import (
	"fmt"
	"regexp"
	"strings"
)

// The exit codes by which a shell says that it could not start a program. A script, env, xargs or npm that met one hands it on.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

var (
	// notStarted is a line in which a shell, env or the dynamic linker names what is missing.
	notStarted = regexp.MustCompile(`(?im)^.*(?:not found|no such file or directory|permission denied|cannot execute|exec format error|bad interpreter|shared libraries|is a directory).*$`)
	// makeGaveUp is make's own line about a recipe that ended so; make itself exits with 2.
	makeGaveUp = regexp.MustCompile(`(?m)^g?make(?:\[\d+\])?: \*\*\* .*\bError 12[67]$`)
	// noModule is what python -m says, as its last word, when the tool is not installed. Only tools are listed: a module of the
	// repository's own is for the fixer to write.
	noModule = regexp.MustCompile(`^\S*python[\d.]*(?:\.exe)?: No module named '?(?:pytest|tox|nox|mypy|ruff|flake8|pylint|black|coverage|build|pip|poetry|hatch)'?$`)
)

// cannotRun says why a command that ended with exitCode could not do its work at all, or nothing when it did and failed.
func cannotRun(exitCode int, text string) string {
	switch {
	case exitCode == exitNotFound:
		return explain(exitCode, "a program is missing", text)
	case exitCode == exitNotExecutable:
		return explain(exitCode, "a program cannot be executed", text)
	case exitCode == 2 && makeGaveUp.MatchString(text):
		return explain(exitCode, "make could not start a program", text)
	case exitCode == 1 && noModule.MatchString(lastLine(text)):
		return lastLine(text)
	}
	return ""
}

// explain quotes the line that names the program, when there is one.
func explain(exitCode int, what, text string) string {
	reason := fmt.Sprintf("%s (exit code %d)", what, exitCode)
	if lines := notStarted.FindAllString(text, -1); len(lines) > 0 {
		reason += ": " + firstRunes(strings.TrimSpace(lines[len(lines)-1]), digestLength)
	}
	return reason
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
