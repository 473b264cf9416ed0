package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/workflows"
)

func watchCommand(c *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run live",
		Long: `Tells the run from its beginning and follows it live. On a terminal it asks for
approvals and answers; elsewhere it ends with exit code 3 or 4 when the run
waits. An interrupt ends the watching, never the run.`,
		Example:           "  starter watch slug#14\n  starter watch slug#14 --json | jq -r .type",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			return followRun(ctx, c, r)
		}, runref.BothWaits...),
	}
	addVerbose(c, cmd)
	return cmd
}

// addVerbose adds the flag of the commands that follow a run.
func addVerbose(c *factory.Factory, cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&c.Verbose, "verbose", "v", false, "show the outputs of the agents' tools, too")
}

// followRun tells the run until it is over, or until it waits and there is no person to ask. It
// then says how to continue.
func followRun(ctx context.Context, c *factory.Factory, r runref.Found) error {
	f := newFollower(c, r)
	following, stop := context.WithCancel(ctx)
	defer stop()
	f.changes = r.Changes(following, r.ID)
	status, err := f.follow(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.Err, "\nThe run goes on. Follow it again with `%s`, end it with `%s`.\n", c.Hint("watch %s", r.ShownName()), c.Hint("cancel %s", r.ShownName()))
		return err
	}
	if err != nil {
		return err
	}
	return printConclusion(ctx, c, r, status)
}

// newFollower returns a follower that tells the run as the command line wants it. In JSON it asks
// no person. Otherwise it tells a story.
func newFollower(c *factory.Factory, r runref.Found) *follower {
	return newFollowerOn(c, c.ScreenOn(c.Out), r)
}

// newFollowerOn returns a follower that tells the run on a screen. Whoever prints meanwhile has to print on
// the same screen, which knows the lines that move.
func newFollowerOn(c *factory.Factory, screen *terminal.Screen, r runref.Found) *follower {
	f := &follower{watched: r, id: r.ID, now: c.Now}
	if c.JSON {
		f.screen = terminal.NewScreen(io.Discard, terminal.Options{})
		f.tell = func(e run.Event) error { return c.PrintJSON(e) }
		return f
	}
	f.screen = screen
	f.tell = tellEvents(c, f.screen, r.ID)
	f.title, f.by = r.ShownName(), c.UserName()
	f.tools, f.showTool = toolsOf(c, r.ID), func(t rundir.ToolCall) { printTool(c, f.screen, t) }
	if c.Interactive {
		f.decider = newDecider(c, f.screen, r.ID)
		lines := c.TypedLines(f.screen)
		f.notes, f.typing = lines.Notes(), lines.Typing()
	}
	return f
}

// toolsOf returns a function that reads the tool calls of a run which have ended since its last call.
func toolsOf(c *factory.Factory, id run.ID) func() []rundir.ToolCall {
	var log rundir.ToolLog
	return func() []rundir.ToolCall {
		dir, err := c.OpenRecord(id)
		if err != nil {
			return nil
		}
		calls, _ := dir.ToolCalls(&log) // the record is on another host, or nothing was logged
		return calls
	}
}

// printTool shows a tool call that has ended.
func printTool(c *factory.Factory, screen *terminal.Screen, t rundir.ToolCall) {
	columns := 0
	if screen.Live() {
		columns = screen.Columns()
	}
	for _, line := range story.ToolLines(screen.Style, t, columns, c.Verbose) {
		screen.Line(line)
	}
}

// outcome is the last object of a run followed with --json.
type outcome struct {
	workflows.RunResult
	Pending *run.Pending `json:"pending,omitempty"`
}

// printConclusion prints how the run ended or why it waits, and the next step.
func printConclusion(ctx context.Context, c *factory.Factory, r runref.Found, status run.Status) error {
	out, err := outcomeOf(ctx, c, r, status)
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = c.PrintJSON(out)
	case status.Waiting():
		printWait(c, *out.Pending)
	case status == run.Completed:
		takeHome(ctx, c, r)
	}
	if err == nil && status != run.Completed {
		err = &exit.StatusError{Status: status}
	}
	return err
}

// takeHome prints how to look at the approved commits and how to take them. It names commits in
// full, because the repository may give a name another meaning by then.
func takeHome(ctx context.Context, c *factory.Factory, r runref.Found) {
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return
	}
	repo := story.OneLine(shellquote.Join(nearPath(facts.Repository.Path)), 200)
	for _, line := range []string{
		fmt.Sprintf("look: git -C %s log -p --reverse %s..%s", repo, facts.Repository.Base, facts.Head),
		"merge: " + c.Hint("merge %s", r.ShownName()),
		fmt.Sprintf("take: git -C %s merge %s", repo, facts.Head),
	} {
		c.Printf("  %s\n", c.Style().Dim(line))
	}
}

// outcomeOf returns how the run ended or, while it waits, how far it is.
func outcomeOf(ctx context.Context, c *factory.Factory, r runref.Found, status run.Status) (outcome, error) {
	if status.Terminal() {
		res, err := r.Result(ctx, r.ID)
		return outcome{RunResult: res}, err
	}
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return outcome{}, err
	}
	p, err := r.Pending(ctx, r.ID)
	return outcome{
		RunResult: workflows.RunResult{
			RunID: r.ID, Name: r.Name, Status: status, Branch: facts.Branch, Base: facts.Repository.Base,
			Head: facts.Head, Commits: facts.Commits, Stat: facts.Stat, Usage: facts.Usage,
		},
		Pending: &p,
	}, err
}

// printWait prints how to settle the approval or question that the run waits for.
func printWait(c *factory.Factory, p run.Pending) {
	s := c.Style()
	switch {
	case p.Approval != nil:
		what, look := "The run waits for an approval.", "diff %s"
		if p.Approval.Permission != nil {
			what = "The agent waits for the permission to use a tool."
		}
		if p.Approval.Unboxed {
			what += " Sandbox off: " + run.Unboxed + "."
		}
		c.Printf("\n")
		c.ScreenOn(c.Out).Wrapped(s.Wait(what) + " Nothing has been applied. Look and decide:")
		c.Printf("  %s\n", c.Hint(look, p.Name.Shown(p.RunID)))
		c.Printf("  %s\n", c.Hint("approve %s --approval %s", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		if p.Approval.Permission != nil {
			c.Printf("  %s\n", c.Hint("approve %s --approval %s --session", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		}
		c.Printf("  %s\n", c.Hint("reject %s --approval %s --reason TEXT", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		printWays(c, p.Approval.Next)
	case p.Question != nil:
		c.Printf("\n%s\n  %s\n", s.Wait("The run waits for an answer:"), c.Hint("answer %s TEXT --question %s", p.Name.Shown(p.RunID), p.Question.QuestionID))
		printWays(c, p.Question.Next)
	case p.Limited != nil:
		c.Printf("\n%s it goes on by itself. %s\n", s.Wait(fmt.Sprintf("%s refuses more until %s;", p.Limited.Provider, p.Limited.Until.Local().Format(time.DateTime))), story.OneLine(p.Limited.Reason, 300))
	default:
		c.Printf("\nIt was settled meanwhile: %s\n", c.Hint("watch %s", p.Name.Shown(p.RunID)))
	}
}

// printWays prints the consequence of each way to settle a wait.
func printWays(c *factory.Factory, o run.Outlook) {
	for _, w := range o.Ways() {
		c.ScreenOn(c.Out).Wrapped("  " + c.Style().Dim(w.Do+" → "+w.Leads))
	}
}

// byFlag adds the flag --by, which names who acts. The default is the user of this process. Another name is recorded with
// that user beside it, because anyone can give any name.
func byFlag(c *factory.Factory, flags *pflag.FlagSet, by *string, usage string) {
	*by = c.UserName()
	flags.Var(&byName{by, *by}, "by", usage)
}

// byName is the value of the flag --by.
type byName struct {
	name *string
	user string
}

func (b *byName) String() string { return *b.name }

func (*byName) Type() string { return "name" }

// Set implements pflag.Value.
func (b *byName) Set(name string) error {
	*b.name = b.user
	if name != "" && name != b.user {
		*b.name = name + " (user " + b.user + ")"
	}
	return nil
}

// readableInput returns the input of a tool with a line for each member. It returns a patch
// unchanged.
func readableInput(a run.PendingApproval, raw []byte) []byte {
	var lines bytes.Buffer
	if a.Permission == nil || json.Indent(&lines, raw, "", "  ") != nil {
		return raw
	}
	return lines.Bytes()
}

// pendingDiff returns the subject of an approval, which is a patch or the input of a tool. It
// reads the artifact and returns the bytes of its digest or an error.
func pendingDiff(c *factory.Factory, id run.ID, a run.PendingApproval) ([]byte, error) {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return nil, err
	}
	if a.Permission != nil {
		return dir.Load(a.Permission.Input)
	}
	return dir.Load(a.Patch)
}

// reportsOf returns a function that reads the report of an evaluation from the run's directory.
func reportsOf(c *factory.Factory, id run.ID) func(run.Ref) (check.Report, bool) {
	return func(ref run.Ref) (check.Report, bool) {
		var r check.Report
		dir, err := c.OpenRecord(id)
		if err != nil {
			return r, false
		}
		b, err := dir.Load(ref)
		if err != nil {
			return r, false
		}
		return r, json.Unmarshal(b, &r) == nil
	}
}
