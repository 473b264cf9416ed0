package follow

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/links"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// eventPrinter returns a function that prints a run's events as a story.
func eventPrinter(c *factory.Factory, screen *terminal.Screen, id run.ID) func(run.Event) error {
	t := &story.Formatter{Style: screen.Style, Report: artifacts.Reports(c, id), Hint: c.Hint}
	return func(e run.Event) error {
		for _, line := range t.Lines(e) {
			screen.Wrapped(line)
		}
		return nil
	}
}

// Started follows a run that has just been started. With detach it prints the run's id instead.
func Started(ctx context.Context, c *factory.Factory, r runref.Found, detach, verbose bool) error {
	if !detach {
		links.PrintRun(c, r)
		return Run(ctx, c, r, verbose)
	}
	if served, err := r.Served(ctx); err == nil && !served {
		fmt.Fprintf(c.Err, "starter: the run waits: %s\n", runs.ErrNoWorker)
	}
	if c.JSON {
		return c.PrintJSON(struct {
			RunID      run.ID   `json:"runId"`
			Name       run.Name `json:"name,omitempty"`
			WorkflowID string   `json:"workflowId"`
			UI         string   `json:"ui,omitempty"`
		}{r.ID, r.Name, r.ID.WorkflowID(), links.WebUI(c, r.ID)})
	}
	if c.Screen {
		c.Printf("%s  %s\n", c.Style().Bold(r.ShownName()), c.Style().Dim(string(r.ID)))
		return nil
	}
	c.Printf("%s\n", r.ID)
	return nil
}

// AddVerbose adds the flag of the commands that follow a run.
func AddVerbose(cmd *cobra.Command, verbose *bool) {
	cmd.Flags().BoolVarP(verbose, "verbose", "v", false, "show what the agents say and the outputs of their tools, too")
}

// Run prints the run until it is over, or until it waits and there is no person to ask. It
// then says how to continue. In JSON it asks no person. Verbose shows the outputs of tools, too.
func Run(ctx context.Context, c *factory.Factory, r runref.Found, verbose bool) error {
	f := New(c, c.ScreenOn(c.Out), r)
	f.verbose = verbose
	following, stop := context.WithCancel(ctx)
	defer stop()
	f.Changes = r.Changes(following, r.ID)
	status, err := f.Follow(ctx)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(c.Err, "\nThe run continues. Follow it again with `%s`, end it with `%s`.\n", c.Hint("watch %s", r.ShownName()), c.Hint("cancel %s", r.ShownName()))
		return err
	}
	if err != nil {
		return err
	}
	return PrintOutcome(ctx, c, r, status)
}

// New returns a follower that prints the run on a screen. Whoever prints meanwhile has to print on
// the same screen, which knows the lines that move.
func New(c *factory.Factory, screen *terminal.Screen, r runref.Found) *Follower {
	f := &Follower{Watched: r, ID: r.ID, Now: c.Now}
	if c.JSON {
		f.Screen = terminal.NewScreen(io.Discard, terminal.Options{})
		f.Print = func(e run.Event) error { return c.PrintJSON(e) }
		return f
	}
	f.Screen = screen
	f.Print = eventPrinter(c, f.Screen, r.ID)
	f.Title, f.by = r.ShownName(), c.UserName()
	f.tools, f.showTool = toolsOf(c, r.ID), func(t rundir.ToolCall) { printTool(f.Screen, t, f.verbose) }
	if c.Interactive {
		f.Decider = NewPerson(c, f.Screen, r.ID)
		lines := c.TypedLines(f.Screen)
		f.Notes, f.Typing = lines.Notes(), lines.Typing()
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
func printTool(screen *terminal.Screen, t rundir.ToolCall, verbose bool) {
	if t.Said && !verbose {
		return
	}
	columns := 0
	if screen.Live() {
		columns = screen.Columns()
	}
	for _, line := range story.ToolLines(screen.Style, t, columns, verbose) {
		screen.Line(line)
	}
}

// Elsewhere returns a follower that prints a run to something else than a terminal. What it says besides the events goes to
// the screen.
func Elsewhere(c *factory.Factory, screen *terminal.Screen, client Watched, id run.ID, tell func(run.Event) error, showTool func(rundir.ToolCall)) *Follower {
	return &Follower{Watched: client, ID: id, Now: c.Now, Screen: screen, Print: tell, tools: toolsOf(c, id), showTool: showTool}
}

// CatchUp prints the events until now, and asks nothing.
func (f *Follower) CatchUp(ctx context.Context) error {
	events, err := f.Events(ctx, f.ID, f.Last.ID)
	if err != nil {
		return err
	}
	return f.printAll(events)
}
