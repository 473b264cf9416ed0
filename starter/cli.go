package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
)

// console holds everything of its process that a command uses.
type console struct {
	program     string // how the user called it; empty: starter
	args        []string
	in          io.Reader
	out, err    io.Writer
	environ     []string
	now         func() time.Time
	interactive bool // a person can be asked
	screen      bool // out is a terminal
	width       func() int
	height      func() int  // of the terminal in lines; nil or 0: not known
	supervised  func() bool // a worker of Ratchet started this process, or an ancestor of it; nil: none did

	json  bool
	plain bool // no colours

	silent *bool   // the user's file wants no bell; nil: it was not read
	stdout *output // around out
	lines  *dialog.Lines
	atEnd  []func() // give the terminal back
}

// open returns the console of one command, with the input, output and environment of c.
func (c console) open() *console {
	c.stdout, c.lines, c.atEnd = &output{Writer: c.out}, nil, nil
	return &c
}

// giveBack gives the terminal back as the command found it.
func (c *console) giveBack() {
	for _, f := range c.atEnd {
		f()
	}
}

func (c *console) getenv(name string) string {
	for _, entry := range c.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// cli is one run of the program.
type cli struct {
	*console
	runsDir string
	server  string // address of a server that the Temporal configuration names; empty: the engine of the runs directory
	queue   string // the task queue of the host whose disk holds the runs
	verbose bool   // show the outputs of tools
	byAgent bool   // an agent, not a person, starts the run of this command
	began   bool   // the command line was understood

	execute func(context.Context, *cli) int // the whole program, for commands that call others
}

// newFactory returns the factory of one command line, and execute is what runs one.
func newFactory(c console, execute func(context.Context, *cli) int) *cli {
	return &cli{console: c.open(), execute: execute}
}

// fork returns the factory of another command line of the same program.
func (c *cli) fork(of console) *cli { return newFactory(of, c.execute) }

// run runs the command line, and returns its exit code.
func (c *cli) run(ctx context.Context) int { return c.execute(ctx, c) }

// newCLI returns the factory of one run of the program.
func newCLI(c console) *cli { return newFactory(c, runProgram) }

func runProgram(ctx context.Context, c *cli) int { return c.executeCommand(ctx, c.rootCommand()) }

// executeCommand runs a command, which may have subcommands, and returns the exit code. Where the output of a command that
// succeeded is cut off, the code is that of a failure.
func (c *cli) executeCommand(ctx context.Context, root *cobra.Command) int {
	root.SetArgs(c.args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	giveBack := sync.OnceFunc(c.giveBack)
	defer context.AfterFunc(ctx, giveBack)() // a second interrupt ends this process at once
	defer giveBack()
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !c.began {
		err = explainUsage(root, cmd, c.args, err)
	}
	err = c.withDisk(err)
	unwritten := c.stdout.unwritten()
	for _, failed := range []error{err, unwritten} {
		if complaint := complaintOf(failed); complaint != "" {
			c.errorScreen().Wrapped(complaint)
		}
	}
	return codeOf(cmp.Or(err, unwritten))
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

func (c *cli) rootCommand() *cobra.Command {
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

		DisableSuggestions: true, // explainUsage makes them
	}
	showVersion := root.Flags().Bool("version", false, "print the version of this program, and the engine that up would start")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*showVersion {
			if c.interactive && !c.json {
				return c.handleWith(func(ctx context.Context, _ []string) error { return c.openBoardOrHelp(ctx, cmd) })(cmd, nil)
			}
			return cmd.Help()
		}
		return c.handleWith(func(ctx context.Context, _ []string) error { return c.printVersion(ctx) })(cmd, nil)
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.runsDir, "runs-dir", c.defaultRunsDir(), "`directory` of the runs' records; its engine.json says where the engine is")
	flags.StringVar(&c.queue, "task-queue", temporalclient.TaskQueue, "`name` of the task queue: that of the worker whose disk holds the runs")
	flags.BoolVar(&c.json, "json", false, "print JSON: one object, or one a line")
	flags.BoolVar(&c.plain, "no-color", false, "print without colours, as NO_COLOR does")
	root.AddGroup(
		&cobra.Group{ID: "start", Title: "Start"}, &cobra.Group{ID: "look", Title: "Look"},
		&cobra.Group{ID: "act", Title: "Decide and guide"}, &cobra.Group{ID: "after", Title: "Finish"}, &cobra.Group{ID: "peers", Title: "Other agents' sessions"},
		&cobra.Group{ID: "tools", Title: "Tools"})
	add := func(group string, commands ...*cobra.Command) {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("start", c.demoCommand(), c.upCommand(), c.stopCommand(), c.initCommand(), c.runCommand(), c.scheduleCommand(), c.resumeCommand(), c.sessionCommand())
	add("after", c.mergeCommand(), c.prCommand(), c.retryCommand(), c.continueCommand(), c.openCommand(), c.showCommand(), c.reportCommand(), c.cleanCommand())
	add("look", c.reviewCommand(), c.listCommand(), c.statusCommand(), c.watchCommand(), c.eventsCommand(), c.diffCommand(), c.logsCommand())
	add("act", c.approveCommand(), c.rejectCommand(), c.answerCommand(), c.noteCommand(), c.cancelCommand())
	add("peers", c.peersCommand(), c.registerCommand(), c.dispatchCommand(), c.dispatchesCommand(), c.inboxCommand(), c.mcpCommand())
	add("tools", c.patchCommand(), c.agentsCommand(), c.doctorCommand(), c.envCommand(), c.uiCommand(), c.pageCommand())
	add("peers", c.deliverCommand(), c.deliveriesCommand(), c.deliveryCommand())
	root.AddCommand(c.hookCommand())
	root.SetHelpCommandGroupID("tools")
	root.SetCompletionCommandGroupID("tools")
	return root
}

// handleWith returns a cobra handler that calls handle. It records that the command line was
// understood.
func (c *cli) handleWith(handle func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c.began = true
		if err := c.checkRunsDir(); err != nil {
			return err
		}
		return handle(cmd.Context(), args)
	}
}

// found is a run and the client that reaches it.
type found struct {
	*runs.Client
	id   run.ID
	name run.Name // empty: it has none
}

// shownName returns how the run is called in front of people.
func (r found) shownName() string { return r.name.Shown(r.id) }

// onRun returns a cobra handler that calls handle with the run that the first argument names.
func (c *cli) onRun(handle func(ctx context.Context, r found, args []string) error) func(*cobra.Command, []string) error {
	return c.onRunOr(0, handle)
}

// onRunOr is onRun for a command that may be called without a run: with that many arguments it takes the only
// run that waits in one of the ways.
func (c *cli) onRunOr(without int, handle func(ctx context.Context, r found, args []string) error, kinds ...run.Status) func(*cobra.Command, []string) error {
	return c.handleWith(func(ctx context.Context, args []string) error {
		client, closeClient, err := c.dialEngine(ctx)
		if err != nil {
			return err
		}
		defer closeClient()
		var id run.ID
		if len(args) == without && kinds != nil {
			id, err = c.pickRun(ctx, client, kinds...)
		} else {
			id, err = client.Find(ctx, args[0])
			args = args[1:]
		}
		if err != nil {
			return err
		}
		r, err := c.describeRun(ctx, client, id)
		if err != nil {
			return err
		}
		return c.explainEnd(ctx, r, handle(ctx, r, args))
	})
}

// explainEnd returns the error of a command about a run. Where the command met the end of a workflow that was ended from
// outside, the error says so, as status does.
func (c *cli) explainEnd(ctx context.Context, r found, err error) error {
	if !errors.Is(err, runs.ErrOver) {
		return err
	}
	return cmp.Or(c.endedOutside(ctx, r), err)
}

// endedOutside returns an error if the workflow of a run was ended from outside while the run is not over.
func (c *cli) endedOutside(ctx context.Context, r found) error {
	e, err := r.Describe(ctx, r.id)
	if err != nil || e.Open {
		return nil
	}
	st, err := r.State(ctx, r.id)
	if err != nil || st.Status.Terminal() {
		return nil
	}
	return c.outsideError(r, e.Outcome, st.Status)
}

// outsideError is the error about a run whose workflow was ended from outside.
func (c *cli) outsideError(r found, outcome string, status run.Status) error {
	return fmt.Errorf("run %s: its workflow was ended from outside (%s) while it was %s: its record can be resumed with `%s`",
		r.shownName(), outcome, status, c.hintCommand("resume %s", r.id))
}

// describeRun returns a run with the name that the engine knows. It refuses a run that a configured server does not know:
// a record of it on this host is another engine's.
func (c *cli) describeRun(ctx context.Context, client *runs.Client, id run.ID) (found, error) {
	r := withName(ctx, client, id)
	if r.name != "" || c.server == "" {
		return r, nil
	}
	_, err := client.Describe(ctx, id)
	if _, unknown := errors.AsType[*runs.NotFoundError](err); unknown {
		if _, recorded := c.openRecord(id); recorded == nil {
			err = fmt.Errorf("the server at %s, which TEMPORAL_ADDRESS or its profile names, does not know run %s: its record in %s is another engine's; unset TEMPORAL_ADDRESS to ask that one",
				display.Line(c.server), id, display.Line(c.runsDir))
		}
		return r, err
	}
	return r, nil
}

// withName returns a run with the name that the engine knows.
func withName(ctx context.Context, client *runs.Client, id run.ID) found {
	r := found{Client: client, id: id}
	if e, err := client.Describe(ctx, id); err == nil {
		r.name = e.Name
	}
	return r
}

func (c *cli) dialEngine(ctx context.Context) (*runs.Client, func(), error) {
	o := temporalclient.Options{RunsDir: c.runsDir}
	target, err := c.resolveEngine()
	if err != nil {
		return nil, nil, err
	}
	t, err := target.Dial(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return c.clientOf(t), t.Close, nil
}

// resolveEngine finds the engine of this command, and takes over its runs directory: the variables of `starter env` may
// name an engine of another one, where its records are.
func (c *cli) resolveEngine() (temporalclient.Target, error) {
	target, err := temporalclient.Resolve(temporalclient.Options{RunsDir: c.runsDir})
	if err != nil {
		return target, err
	}
	if target.Source == temporalclient.Configuration {
		c.server = target.Address
	}
	if target.RunsDir != "" {
		c.runsDir = target.RunsDir
	}
	return target, nil
}

func (c *cli) clientOf(t client.Client) *runs.Client {
	r := runs.New(t, c.queue)
	r.Record, r.MayDecide, r.Here, r.By = c.recordedEvents, c.mayDecide, hereLabel, c.userName()
	r.RunsDir = c.runsDir
	return r
}

// exactArgs and argsBetween return argument checks. Their errors name the wanted arguments.
func exactArgs(n int, want string) cobra.PositionalArgs { return argsBetween(n, n, want) }

func argsBetween(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			_, name, _ := strings.Cut(cmd.CommandPath(), " ")
			return fmt.Errorf("%s wants %s", name, want)
		}
		return nil
	}
}

const (
	wantsRun   = "one RUN: a name from `starter list`, such as slug#14, its number or its id"
	mayHaveRun = "at most one RUN: a name from `starter list`, such as slug#14, its number or its id"
)

// bothWaits are the ways in which a run waits for a person.
var bothWaits = []run.Status{run.AwaitingApproval, run.AwaitingInput}

// openRecord returns the directory of a run on this host.
func (c *cli) openRecord(id run.ID) (*rundir.Dir, error) {
	return rundir.At(filepath.Join(c.runsDir, "workflows", string(id)))
}

func (c *cli) recordedEvents(id run.ID) ([]run.Event, error) {
	dir, err := c.openRecord(id)
	if err != nil {
		return nil, err
	}
	return dir.Events()
}

// hintCommand returns a command line of this program that reaches the same engine.
func (c *cli) hintCommand(format string, args ...any) string {
	line := cmp.Or(c.program, "starter") + " " + fmt.Sprintf(format, args...)
	if c.runsDir != c.defaultRunsDir() {
		line += " --runs-dir " + shellquote.Join(c.runsDir)
	}
	return line
}

// nearPath returns the path relative to the working directory when it lies there. It returns any
// other path unchanged.
func nearPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}
