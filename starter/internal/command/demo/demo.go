// Package demo is the command `starter demo`.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/links"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// localRunsDir is the name of the runs directory of a demo.
const localRunsDir = ".runs"

// demoCheck is the check of the sample. Its tests take two seconds, in which they can be killed.
const demoCheck = "go test ./..."

// A check that is slow delays the demo and does not end it.
const (
	demoPatience = time.Hour        // for each step of the run
	slowCheck    = 15 * time.Second // after which the demo says that it waits
)

const demoGoal = `Split must not lose cents: 100 cents for 3 people make 33+33+33 today.
The tests say what is right.`

func New(c *factory.Factory) *cobra.Command {
	var dir string
	var yes, noKill bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a whole run on a sample repository",
		Long: `Makes a small Go repository with a bug, starts an engine and a worker, and runs
the main job on it with recorded answers: a plan, a patch that you approve, a
test that fails, a fix, tests that pass, a branch. It needs no API keys. The first
start downloads and builds the engine, and shows the bug, the failing tests and the
plan meanwhile; after that it needs no network. After the first approval it kills its
engine and its worker by kill -9 while the tests run, starts them again, and counts
what the run has done twice.`,
		Example: "  starter demo\n  starter demo --yes --dir /tmp/ratchet\n  starter demo --no-kill",
		Args:    usage.Args(0, "no arguments, only flags"),
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "`directory` to make the sample and its .runs in")
	cmd.Flags().BoolVar(&yes, "yes", false, "approve without asking, as the demo does without a terminal")
	cmd.Flags().BoolVar(&noKill, "no-kill", false, "do not kill the engine and the worker")
	cmd.RunE = c.Handle(func(ctx context.Context, _ []string) error {
		why := ""
		switch {
		case yes:
			why = "demo --yes"
		case !c.Interactive || c.JSON:
			why = "demo without a terminal"
		}
		if !cmd.Flags().Changed("runs-dir") {
			c.RunsDir = filepath.Join(dir, localRunsDir)
		}
		d := demo{Factory: c, screen: demoScreen(c), prepare: engine.Prepare, approveFor: why, kill: killing{off: noKill}}
		return d.run(ctx, dir)
	})
	return cmd
}

// demoScreen returns the screen of the demo, on which JSON leaves no room for a story.
func demoScreen(c *factory.Factory) *terminal.Screen {
	if c.JSON {
		return terminal.NewScreen(io.Discard, terminal.Options{})
	}
	return c.ScreenOn(c.Out)
}

// run makes the sample in the directory, and the run on it.
func (d *demo) run(ctx context.Context, dir string) error {
	work := d.screen.Work("makes a sample repository")
	defer work.Stop()
	if err := d.prepareSample(ctx, dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	work.Step("tests the sandbox")
	box, unboxed := host.Config{Environ: d.Environ, RunsDir: d.RunsDir}.OpenBox(ctx)
	if unboxed == nil && !box.Overlays() { // the check would compile the standard library into an empty cache
		unboxed = errors.New("this machine has no overlay file systems for it")
	}
	d.sandbox = run.SandboxRequired
	if unboxed != nil {
		d.sandbox = run.SandboxOff
	}
	work.Stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.printIntroduction(unboxed)
	if err := d.prepareEngine(ctx); err != nil {
		return err
	}
	if err := d.startUp(ctx); err != nil {
		return err
	}
	defer d.stopUp()
	id, err := d.startRun(ctx)
	if err != nil {
		return err
	}
	if err := d.followRun(ctx, id); err != nil {
		return err
	}
	return d.printConclusion(ctx, id)
}

// startUp starts an engine and a worker in a process of their own, in the place of those that are dead.
func (d *demo) startUp(ctx context.Context) error {
	environ := slices.Concat(d.Environ, []string{"GOCACHE=" + d.cache})
	up, err := startUp(ctx, d.Factory, d.sandbox, environ)
	if err == nil {
		d.up = up
	}
	return err
}

// stopUp ends them.
func (d *demo) stopUp() {
	work := d.screen.Work("stops engine and worker")
	defer work.Stop()
	d.up.stop()
}

// demo is one run of the demo.
type demo struct {
	*factory.Factory
	screen *terminal.Screen

	prepare    func(context.Context, engine.Options) error // engine.Prepare
	approveFor string                                      // the reason of each approval; empty means that a person is asked

	sandbox run.Sandbox

	home  string // directory of the sample
	repo  string
	cache string // the user's Go build cache
	waits int    // approvals asked for
	slow  bool   // the demo has said that it waits for a check

	name   run.Name // of the run
	branch string   // of the run

	up   *upProcess
	kill killing
}

// printIntroduction announces the demo, and says why it runs outside of the box, unless unboxed is nil.
func (d *demo) printIntroduction(unboxed error) {
	d.printComment("This is Ratchet: a coding agent whose work survives crashes.",
		"A small Go repository with a real bug is in "+console.NearPath(d.repo)+".",
		"The agent's answers are recorded; everything else is real: Temporal, git, go test.")
	if d.approveFor != "" {
		d.printComment("This demo does not ask: it approves its recorded patches by itself ("+d.approveFor+").",
			"No other run is decided without a person, unless its policy says so.")
	}
	if unboxed != nil {
		d.printComment("The demo runs without a sandbox here ("+display.Line(unboxed.Error())+").",
			"It executes only the tests of its own sample and the recorded patches.")
	}
}

// startRun starts the run as `starter run` does.
func (d *demo) startRun(ctx context.Context) (run.ID, error) {
	var env []string
	if d.sandbox.Off() { // the box lays a cache of its own over the user's
		env = []string{"GOCACHE"}
	}
	in, err := newrun.Input(ctx, d.Factory, newrun.Flags{
		Repo: d.repo, Goal: demoGoal, GoalGiven: true, Provider: "replay:" + console.NearPath(filepath.Join(d.home, "answers")),
		Checks: []string{demoCheck}, Origins: map[string]run.Origin{"check": run.FromFlag}, Env: env,
		Policy: string(run.Always), Tools: string(run.AskTools), Sandbox: string(d.sandbox), MaxFix: run.DefaultMaxFix,
		Limits: run.Limit{Provider: demoPatience, Check: demoPatience},
	})
	if err != nil {
		return "", err
	}
	if err := newrun.Begin(ctx, d.Factory, d.up.Client, &in, ""); err != nil {
		return "", err
	}
	d.name, d.branch = in.Name, in.BranchName()
	d.screen.Line("")
	d.printRow("Web UI", d.webUILogin(ctx, in.RunID))
	d.printRow("record", console.NearPath(filepath.Join(d.RunsDir, "workflows", string(in.RunID))))
	d.printRow("running", d.up.processes().String())
	d.screen.Line("")
	return in.RunID, nil
}

// webUILogin returns a link that opens the run's page once.
func (d *demo) webUILogin(ctx context.Context, id run.ID) string {
	place, err := review.ReadPlace(ctx, d.RunsDir)
	if err != nil {
		return d.up.Engine.UI
	}
	return place.LoginOwner(d.UserName(), review.UIPath+links.RunPage("", client.DefaultNamespace, id), time.Now())
}

func (d *demo) printRow(name, value string) {
	d.screen.Line(d.screen.Dim(fmt.Sprintf("  %-8s", name)) + value)
}

// followRun prints the run with comments between its steps.
func (d *demo) followRun(ctx context.Context, id run.ID) error {
	r := runref.Found{Client: d.up.Client, ID: id, Name: d.name}
	f := follow.New(d.Factory, d.screen, r)
	f.Notes, f.Typing, f.Title = nil, false, "" // the answers are recorded, and the person is here
	next := f.Print
	f.Print = func(e run.Event) error {
		if e.Type == run.PhaseStartedEvent && e.Phase == run.Fix {
			d.printComment("The test was real and it failed. The run goes back with its output; no person is needed for that.")
		}
		if err := next(e); err != nil {
			return err
		}
		if err := d.reportKill(ctx, f, e); err != nil {
			return err
		}
		return d.printAfter(ctx, e)
	}
	f.Look = func(ctx context.Context, e runs.Execution) error {
		d.reportSlow(e)
		return d.killAtWork(ctx, f, e)
	}
	f.Decider = visitor{follow.NewPerson(d.Factory, d.screen, r.ID), d, r.ShownName()}
	status, err := f.Follow(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(d.Err, "\nThe demo's engine stops; its run is kept. To continue:\n  %s\n  %s\n", d.Hint("up"), d.Hint("watch %s", r.ShownName()))
	}
	if err == nil && status != run.Completed {
		err = follow.PrintOutcome(ctx, d.Factory, runref.Found{Client: d.up.Client, ID: id, Name: d.name}, status)
	}
	return err
}

// visitor decides in the demo.
type visitor struct {
	*dialog.Person
	demo *demo
	run  string // its name
}

// Approve asks, unless the demo approves by itself. A no is final here, because the recorded answers
// contain no other way.
func (v visitor) Approve(ctx context.Context, a run.PendingApproval) (run.Decision, error) {
	if v.demo.approveFor != "" {
		v.Show(a)
		if err := v.demo.offerKill(ctx, v.Person); err != nil {
			return run.Decision{}, err
		}
		return run.Decision{ApprovalID: a.ApprovalID, Decision: run.Approve, By: v.Name, Reason: v.demo.approveFor}, nil
	}
	a.Next.Reject, a.Next.RejectEnds = a.Next.Final, true
	d, err := v.Person.Approve(ctx, a)
	if err == nil && d.Decision == run.Reject {
		d.Final = true
		v.demo.printComment("An agent would get your reason and try again. These answers are recorded, so a no ends the run.")
	}
	if err == nil && d.Decision == run.Approve {
		err = v.demo.offerKill(ctx, v.Person)
	}
	return d, err
}

// Answer ends the demo: its script has no answer to any question.
func (v visitor) Answer(_ context.Context, q run.PendingQuestion) (run.Reply, error) {
	why := ""
	if q.Reason != "" {
		why = " (" + q.Reason + ")"
	}
	return run.Reply{}, fmt.Errorf("demo: the run asks a question that the demo cannot answer: %s%s; the run is kept, to continue it: `%s`, then `%s`",
		q.Question.Question, why, v.demo.Hint("up"), v.demo.Hint("watch %s", v.run))
}

// reportSlow says once that the demo waits for a check.
func (d *demo) reportSlow(e runs.Execution) {
	for _, a := range e.Activities {
		if !d.slow && runsCheck(a) && d.Now().Sub(a.Since) > slowCheck {
			d.slow = true
			d.printComment("`" + demoCheck + "` is still running: this machine is busy, or Go compiles its library first. The demo waits.")
		}
	}
}

// printAfter prints the meaning of the event, and leaves a moment to read it.
func (d *demo) printAfter(ctx context.Context, e run.Event) error {
	switch e.Type {
	case run.ApprovalRequestedEvent:
		d.waits++
		if d.waits == 1 {
			d.printComment("Nothing has been applied yet. The run waits in Temporal, even if you kill this process.")
		} else {
			d.printComment("A new patch needs a new approval: an approval counts for exactly one patch.")
		}
	case run.PatchAppliedEvent:
		if d.waits == 1 {
			d.printComment("One commit on the run's own branch. The checkout in " + console.NearPath(d.repo) + " is untouched.")
		}
	case run.PhaseStartedEvent:
		if d.kill.armed { // the tests are at work for a moment only
			return nil
		}
	case run.EvaluationPassedEvent:
	default:
		return nil
	}
	return d.pauseReading(ctx)
}

func (d *demo) printComment(lines ...string) {
	d.screen.Line("")
	for _, line := range lines {
		d.screen.Note("  ", line)
	}
}

// pauseReading leaves a person at a terminal time to read.
func (d *demo) pauseReading(ctx context.Context) error {
	if !d.Factory.Screen {
		return nil
	}
	const moment = 700 * time.Millisecond
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(moment):
		return nil
	}
}

// printConclusion shows the branch and suggests the next commands.
func (d *demo) printConclusion(ctx context.Context, id run.ID) error {
	out, err := follow.OutcomeOf(ctx, d.Factory, runref.Found{Client: d.up.Client, ID: id, Name: d.name}, run.Completed)
	if err != nil {
		return err
	}
	if d.JSON {
		return errors.Join(d.PrintJSON(struct {
			follow.Outcome
			Kill *killReport `json:"kill,omitempty"`
		}{out, d.kill.report}), d.kill.err())
	}
	log, err := git.Repo{Dir: d.repo}.Run(ctx, "log", "--oneline", "--decorate", "--no-color", string(out.Head))
	if err != nil {
		return fmt.Errorf("log of the branch: %w", err)
	}
	s := d.screen
	if d.kill.armed {
		d.printComment("The tests were quicker than the kill each time: nothing was killed.")
	}
	s.Line("")
	for line := range strings.Lines(string(log)) {
		s.Line("  " + display.Line(strings.TrimSuffix(line, "\n")))
	}
	s.Line("")
	s.Line(s.Bold("Try next"))
	for _, next := range [][2]string{
		{d.diffCommand(out), "show what the run changed"},
		{d.Hint("up"), "start the engine again, with this run in its Web UI"},
		{d.Hint("events %s", d.name.Shown(id)), "in another terminal: show everything that happened"},
		{cmp.Or(d.Program, "starter") + " run --help", "start a run on your own repository"},
	} {
		s.Line("  " + s.Accent(next[0]))
		s.Note("    ", next[1])
	}
	return d.kill.err()
}

// diffCommand returns the command line of git, for a shell, that shows what the run changed.
func (d *demo) diffCommand(out follow.Outcome) string {
	return display.Line(shellquote.Join("git", "-C", console.NearPath(d.repo), "diff", fmt.Sprintf("%.12s..%.12s", out.Base, out.Head)))
}
