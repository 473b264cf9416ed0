package main

import (
	"cmp"
	"context"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/command/acp"
	"github.com/ratchet-dev/ratchet/starter/internal/command/answer"
	"github.com/ratchet-dev/ratchet/starter/internal/command/cancel"
	"github.com/ratchet-dev/ratchet/starter/internal/command/clean"
	"github.com/ratchet-dev/ratchet/starter/internal/command/decide"
	"github.com/ratchet-dev/ratchet/starter/internal/command/deliver"
	"github.com/ratchet-dev/ratchet/starter/internal/command/demo"
	"github.com/ratchet-dev/ratchet/starter/internal/command/diff"
	"github.com/ratchet-dev/ratchet/starter/internal/command/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/command/doctor"
	"github.com/ratchet-dev/ratchet/starter/internal/command/env"
	"github.com/ratchet-dev/ratchet/starter/internal/command/events"
	"github.com/ratchet-dev/ratchet/starter/internal/command/home"
	"github.com/ratchet-dev/ratchet/starter/internal/command/hosts"
	"github.com/ratchet-dev/ratchet/starter/internal/command/initialize"
	"github.com/ratchet-dev/ratchet/starter/internal/command/list"
	"github.com/ratchet-dev/ratchet/starter/internal/command/logs"
	"github.com/ratchet-dev/ratchet/starter/internal/command/mcp"
	"github.com/ratchet-dev/ratchet/starter/internal/command/merge"
	"github.com/ratchet-dev/ratchet/starter/internal/command/move"
	"github.com/ratchet-dev/ratchet/starter/internal/command/note"
	"github.com/ratchet-dev/ratchet/starter/internal/command/open"
	"github.com/ratchet-dev/ratchet/starter/internal/command/page"
	"github.com/ratchet-dev/ratchet/starter/internal/command/patch"
	"github.com/ratchet-dev/ratchet/starter/internal/command/peers"
	"github.com/ratchet-dev/ratchet/starter/internal/command/pr"
	"github.com/ratchet-dev/ratchet/starter/internal/command/register"
	"github.com/ratchet-dev/ratchet/starter/internal/command/report"
	"github.com/ratchet-dev/ratchet/starter/internal/command/resume"
	"github.com/ratchet-dev/ratchet/starter/internal/command/retry"
	"github.com/ratchet-dev/ratchet/starter/internal/command/review"
	"github.com/ratchet-dev/ratchet/starter/internal/command/run"
	"github.com/ratchet-dev/ratchet/starter/internal/command/schedule"
	"github.com/ratchet-dev/ratchet/starter/internal/command/session"
	"github.com/ratchet-dev/ratchet/starter/internal/command/show"
	"github.com/ratchet-dev/ratchet/starter/internal/command/status"
	"github.com/ratchet-dev/ratchet/starter/internal/command/stop"
	"github.com/ratchet-dev/ratchet/starter/internal/command/ticket"
	"github.com/ratchet-dev/ratchet/starter/internal/command/up"
	"github.com/ratchet-dev/ratchet/starter/internal/command/version"
	"github.com/ratchet-dev/ratchet/starter/internal/command/watch"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// newFactory returns the factory of one run of the program.
func newFactory(c console.Console) *factory.Factory { return factory.New(c, runProgram) }

func runProgram(ctx context.Context, c *factory.Factory) int {
	return executeCommand(ctx, c, rootCommand(c))
}

// executeCommand runs a command, which may have subcommands, and returns the exit code. If a command succeeds but its
// output cannot be written, it returns the code for a failure.
func executeCommand(ctx context.Context, c *factory.Factory, root *cobra.Command) int {
	root.SetArgs(c.Args)
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	giveBack := sync.OnceFunc(c.GiveBack)
	defer context.AfterFunc(ctx, giveBack)() // a second interrupt ends this process at once
	defer giveBack()
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !c.Began {
		err = usage.Explain(root, cmd, c.Args, err)
	}
	err = withDisk(c, err)
	c.Failed = err
	unwritten := c.Stdout.Unwritten()
	for _, failed := range []error{err, unwritten} {
		if complaint := exit.Complaint(failed); complaint != "" {
			c.ErrorScreen().Wrapped(complaint)
		}
	}
	return exit.Code(cmp.Or(err, unwritten))
}

const rootExample = `  # see it work, with nothing installed but Go and git
  starter demo

  # the engine, its Web UI and a worker, until interrupted
  starter up

  # in another terminal: a run, followed live
  starter run --repo ~/src/shop --goal 'Total() must not lose cents' --provider 'command:./agent.py'

  # decide from anywhere
  starter list
  starter diff slug#14
  starter approve slug#14 --reason 'looks right'`

func rootCommand(c *factory.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Run coding agents durably",
		Long: `Ratchet runs coding agents durably: a goal and a repository go in, a branch with
one commit for each approved patch comes out, and nothing that was finished is
lost or done twice, whatever dies in between.

RUN is the name of a run, such as slug#14 (slug/14 where the shell reads #), its number
alone, its id, or the beginning of that. approve, reject, answer, diff, watch and status
without a RUN take the only one that waits.
Exit codes: 0 done, 1 failed or refused, 2 usage, 3 the run awaits approval,
4 the run awaits input, 5 canceled, 6 the engine cannot be reached, 130 interrupted.`,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableSuggestions: true, // usage.Explain makes them
	}
	showVersion := root.Flags().Bool("version", false, "print the version of this program, and the engine that up would start")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*showVersion {
			if c.Interactive && !c.JSON {
				return c.Handle(func(ctx context.Context, _ []string) error { return home.OpenOrHelp(ctx, c, cmd) })(cmd, nil)
			}
			return cmd.Help()
		}
		return c.Handle(func(ctx context.Context, _ []string) error { return version.Print(ctx, c) })(cmd, nil)
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.RunsDir, "runs-dir", c.DefaultRunsDir(), "`directory` of the runs' records; its engine.json says where the engine is")
	flags.StringVar(&c.Queue, "task-queue", temporalclient.TaskQueue, "`name` of the task queue: that of the worker whose disk holds the runs")
	flags.BoolVar(&c.JSON, "json", false, "print JSON: one object, or one a line")
	flags.BoolVar(&c.Plain, "no-color", false, "print without colours, as NO_COLOR does")
	_ = flags.MarkHidden("task-queue") // one host in a hundred has another
	root.AddCommand(commandsOf(c)...)
	addHelp(root)
	return root
}

// commandsOf returns the commands of the program.
func commandsOf(c *factory.Factory) (all []*cobra.Command) {
	add := func(group string, commands ...*cobra.Command) {
		for _, cmd := range commands {
			cmd.GroupID = group
			all = append(all, cmd)
		}
	}
	add("start", demo.New(c), up.New(c), stop.New(c), initialize.New(c), run.New(c), ticket.New(c), schedule.New(c), resume.New(c), session.New(c), acp.New(c))
	add("after", merge.New(c), merge.NewUndo(c), pr.New(c), retry.New(c), open.New(c), show.New(c), report.New(c), clean.New(c))
	add("look", review.New(c), list.New(c), status.New(c), watch.New(c), events.New(c), diff.New(c), logs.New(c))
	add("act", decide.NewApprove(c), decide.NewReject(c), decide.NewEdit(c), answer.New(c), note.New(c), move.New(c), cancel.New(c))
	add("peers", peers.New(c), register.New(c), dispatch.New(c), dispatch.NewList(c), peers.NewInbox(c), mcp.New(c), deliver.New(c), deliver.NewList(c), deliver.NewSettle(c))
	add("tools", hosts.New(c), hosts.NewList(c), patch.New(c), doctor.New(c), env.New(c), env.NewUI(c), page.New(c))
	return append(all, register.NewHook(c))
}

// withDisk adds to the error of a lost engine that the engine's disk is full, when it is. With
// a full disk the engine answers nothing in time.
func withDisk(c *factory.Factory, err error) error {
	if exit.Code(err) != exit.Unreachable {
		return err
	}
	f, unread := engine.ReadFile(c.RunsDir)
	if unread != nil {
		return err
	}
	return engine.FullDisk(f.DB, err)
}
