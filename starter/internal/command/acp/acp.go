// Package acp is the command `starter acp`.
package acp

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
	"github.com/ratchet-dev/ratchet/starter/internal/background"
	"github.com/ratchet-dev/ratchet/starter/internal/editor"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// own are the flags of run that the editor, not a person, says.
var own = []string{"repo", "goal", "goal-file", "detach", "id"}

func New(c *factory.Factory) *cobra.Command {
	var f newrun.Flags
	cmd := &cobra.Command{
		Use:   "acp [flags of run]",
		Short: "Serve runs to an editor over the Agent Client Protocol",
		Long: `Serves runs to the editor that starts it, on standard input and output, as an agent of
the Agent Client Protocol. A session of the editor is a run: your first message is its
goal, and the editor shows plan, tool calls, diff, approvals and questions in its own
panel. What you approve there is an approval like any other. A canceled turn or a
closed editor does not end a run: /watch follows it again, /cancel ends it.

The flags of ` + "`starter run`" + ` hold for all runs that the editor starts. The settings of the
repository and of yours complete them.`,
		Example: "  starter acp --provider claude\n  starter acp --provider codex --check 'go test ./...' --approve risky",
		Args:    usage.Args(0, "no arguments, only flags: the editor says the rest"),
	}
	flags := cmd.Flags()
	f.Register(flags)
	for _, name := range own {
		_ = flags.MarkHidden(name)
	}
	cmd.RunE = c.Handle(func(ctx context.Context, _ []string) error {
		if err := c.MayDecide(); err != nil {
			return err
		}
		for _, name := range own {
			if flags.Changed(name) {
				return usage.Errorf("--%s: the editor says it for each run: leave it out", name)
			}
		}
		return editor.Serve(ctx, configOf(c, flags, f.Sandbox))
	})
	usage.FewFlags(cmd, "provider", "check", "approve", "max-cost", "max-fix", "sandbox", "tools")
	return cmd
}

// configOf returns the server's access to the other commands of this program.
func configOf(c *factory.Factory, flags *pflag.FlagSet, sandbox string) editor.Config {
	given := argsOf(flags)
	return editor.Config{
		Factory: c,
		Dial: func(ctx context.Context, say func(string)) (editor.Client, func(), error) {
			client, closeClient, err := c.Dial(ctx)
			if err != nil && startEngine(ctx, c, err, sandbox, say) == nil {
				client, closeClient, err = c.Dial(ctx)
			}
			return client, closeClient, err
		},
		Start: func(ctx context.Context, id run.ID, repository, goal string) error {
			return call(ctx, c, append([]string{"run", "--detach", "--json", "--id=" + string(id), "--repo=" + repository, "--goal=" + goal}, given...)...)
		},
		Continue: func(ctx context.Context, from, id run.ID, note string) error {
			return call(ctx, c, "retry", "--detach", "--json", "--id="+string(id), "--note="+note, string(from))
		},
		Merge: func(ctx context.Context, id run.ID) (string, error) {
			out, err := c.Call(ctx, "merge", string(id))
			return string(bytes.TrimSpace(out)), toolserver.OneLine(err)
		},
	}
}

func call(ctx context.Context, c *factory.Factory, args ...string) error {
	_, err := c.Call(ctx, args...)
	return toolserver.OneLine(err)
}

// argsOf returns the flags that were given, as arguments of a command line.
func argsOf(flags *pflag.FlagSet) (args []string) {
	names := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(newrun.Flags).Register(names)
	flags.Visit(func(f *pflag.Flag) {
		if names.Lookup(f.Name) == nil {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				args = append(args, "--"+f.Name+"="+value)
			}
			return
		}
		args = append(args, "--"+f.Name+"="+f.Value.String())
	})
	return args
}

// startEngine starts an engine in the background if none runs: a person is at the editor, as one is at a terminal.
func startEngine(ctx context.Context, c *factory.Factory, err error, sandbox string, say func(string)) error {
	person := *c.Console
	person.Interactive, person.JSON, person.Err = true, false, sayer(say)
	f := c.Fork(person)
	f.RunsDir, f.Queue = c.RunsDir, c.Queue
	return background.StartIfAway(ctx, f, err, sandbox)
}

// sayer says what is written to it.
type sayer func(string)

func (s sayer) Write(p []byte) (int, error) {
	s(strings.TrimSpace(string(p)))
	return len(p), nil
}
