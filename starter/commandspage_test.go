package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// TestCommandsPage compares docs/commands.md with the commands and flags of the program.
func TestCommandsPage(t *testing.T) {
	const path, command = "../docs/commands.md", "go test ./starter -run TestCommandsPage -update"
	var page strings.Builder
	fmt.Fprintf(&page, "# Commands and flags of `starter`\n\nGenerated: do not edit, run `%s`. Examples are in `starter COMMAND --help`.\n", command)
	writeCommand(&page, rootCommand(newFactory(console.Console{Environ: []string{"HOME=/home/you"}})))
	if *update {
		clitest.Must(t, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != page.String() {
		t.Errorf("docs/commands.md differs from the commands (%v); fix: %s", err, command)
	}
}

// writeCommand writes a section for cmd and one for each command below it.
func writeCommand(w *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(w, "\n## %s\n\n%s.\n", strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.Short)
	head := "\n| flag | meaning |\n|---|---|\n"
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		switch {
		case f.DefValue == "" || f.DefValue == "[]" || f.DefValue == "false" || f.DefValue == "0" || f.DefValue == "0s":
		case f.Name == "by":
			usage += "; default: your user"
		default:
			usage += "; default: " + f.DefValue
		}
		usage = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(usage)
		fmt.Fprintf(w, "%s| `%s` | %s |\n", head, name, usage)
		head = ""
	})
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			writeCommand(w, sub)
		}
	}
}
