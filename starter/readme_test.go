package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	clitest.Must(t, err)
	return string(text)
}

// TestReadmeCommands checks that each command and flag that the README names exists, and that the README's table names each
// command.
func TestReadmeCommands(t *testing.T) {
	text := readme(t)
	root := rootCommand(newFactory(console.Console{}))
	named := map[*cobra.Command]bool{}
	check := func(line string) {
		line, _, _ = strings.Cut(line, " #")
		words, err := shellquote.Split(line)
		clitest.Must(t, err)
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root && len(words) > 0 && words[0][0] != '-' {
			t.Errorf("README: got no command %q, %v", line, err)
			return
		}
		named[cmd] = true
		for _, word := range rest {
			name, isFlag := strings.CutPrefix(word, "--")
			name, _, _ = strings.Cut(name, "=")
			if isFlag && cmd.Flag(name) == nil && name != "help" {
				t.Errorf("README: %q: %s has no flag --%s", line, cmd.CommandPath(), name)
			}
		}
	}
	for _, m := range regexp.MustCompile("(?m)(?:^|`|\\$\\()(?:go run \\./)?starter((?: [a-z-][^`\\n|)]*)?)(?:$|[`|)])").FindAllStringSubmatch(text, -1) {
		check(strings.TrimSpace(m[1]))
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`starter[^|]*) \\|").FindAllStringSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`(?:starter ?)?([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			check(m[1])
		}
	}
	for _, cmd := range root.Commands() {
		if !cmd.Hidden && !named[cmd] && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Errorf("README does not name starter %s", cmd.Name())
		}
	}
	if len(named) < 40 {
		t.Errorf("README names %d commands, want most of the %d: the pattern does not find them", len(named), len(root.Commands()))
	}
}

// TestReadmeIsShortAndTrue checks what else the README says of itself: its length, the version of Go, and the two commands.
// That they need nothing but Go and git is what .ci/bare proves with the README's own command.
func TestReadmeIsShortAndTrue(t *testing.T) {
	text := readme(t)
	if n := strings.Count(text, "\n"); n >= 150 {
		t.Errorf("README has %d lines, want under 150", n)
	}
	mod, err := os.ReadFile("../go.mod")
	clitest.Must(t, err)
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(mod))[1]
	if want := "Go (" + version + " or newer) and git"; !strings.Contains(text, want) {
		t.Errorf("README does not say %q, which go.mod asks for", want)
	}
	for _, command := range []string{"go run ./starter demo", "go test ./..."} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(command) + `( |$)`).MatchString(text) {
			t.Errorf("README has no line with the command %q", command)
		}
	}
	list := []string{"-C", "..", "list", "-f", "{{.Name}} {{.Dir}}"}
	for _, m := range regexp.MustCompile(`go (?:run|install|build -o bin/)((?: \./\w+)+)`).FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Fields(m[1])...)
	}
	out, err := exec.Command("go", list...).CombinedOutput()
	if err != nil {
		t.Errorf("README: %s%v", out, err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "main ") {
			t.Errorf("README: not a program: %s", line)
		}
	}
}
