package check

import (
	"fmt"
	"regexp"
	"strings"
)

// The exit codes with which a shell says that it could not start a program. A script, env, xargs or npm returns them
// in turn.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

var (
	// notStarted is a line in which a shell, env or the dynamic linker names the missing program or file.
	notStarted = regexp.MustCompile(`(?im)^.*(?:not found|no such file or directory|permission denied|cannot execute|exec format error|bad interpreter|shared libraries|is a directory).*$`)
	// makeGaveUp is make's own line about a recipe that ended with such a code; make itself exits with 2.
	makeGaveUp = regexp.MustCompile(`(?m)^g?make(?:\[\d+\])?: \*\*\* .*\bError 12[67]$`)
	// noModule is the last line of python -m for a tool that is not installed. It lists only tools, because the fixer
	// can write a module of the repository itself.
	noModule = regexp.MustCompile(`^\S*python[\d.]*(?:\.exe)?: No module named '?(?:pytest|tox|nox|mypy|ruff|flake8|pylint|black|coverage|build|pip|poetry|hatch)'?$`)
)

// cannotRun returns why a command that ended with exitCode could not run at all. It returns "" if the
// command ran and failed.
func cannotRun(exitCode int, text string) string {
	switch {
	case exitCode == exitNotFound:
		return explainMissing(exitCode, "a program is missing", text)
	case exitCode == exitNotExecutable:
		return explainMissing(exitCode, "a program cannot be executed", text)
	case exitCode == 2 && makeGaveUp.MatchString(text):
		return explainMissing(exitCode, "make could not start a program", text)
	case exitCode == 1 && noModule.MatchString(lastLine(text)):
		return lastLine(text)
	}
	return ""
}

// explainMissing returns the reason with the line that names the program, if there is one.
func explainMissing(exitCode int, what, text string) string {
	reason := fmt.Sprintf("%s (exit code %d)", what, exitCode)
	if lines := notStarted.FindAllString(text, -1); len(lines) > 0 {
		reason += ": " + firstRunes(strings.TrimSpace(lines[len(lines)-1]), digestLength)
	}
	return reason
}

// lastLine returns the last line of text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
