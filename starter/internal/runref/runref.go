// Package runref resolves the run that a command line names, or the only one that waits.
package runref

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Found is a run and the client that reaches it.
type Found struct {
	*runs.Client
	ID   run.ID
	Name run.Name // empty: it has none
}

// ShownName returns how the run is called in front of people.
func (r Found) ShownName() string { return r.Name.Shown(r.ID) }

// On returns a cobra handler that calls handle with the run that the first argument names.
func On(c *factory.Factory, handle func(ctx context.Context, r Found, args []string) error) func(*cobra.Command, []string) error {
	return OnOr(c, 0, handle)
}

// OnOr is On for a command that may be called without a run: with that many arguments it takes the only
// run that waits in one of the ways.
func OnOr(c *factory.Factory, without int, handle func(ctx context.Context, r Found, args []string) error, kinds ...run.Status) func(*cobra.Command, []string) error {
	return c.Handle(func(ctx context.Context, args []string) error {
		client, closeClient, err := c.Dial(ctx)
		if err != nil {
			return err
		}
		defer closeClient()
		var id run.ID
		if len(args) == without && kinds != nil {
			id, err = pickRun(ctx, c, client, kinds...)
		} else {
			id, err = client.Find(ctx, args[0])
			args = args[1:]
		}
		if err != nil {
			return err
		}
		r, err := describeRun(ctx, c, client, id)
		if err != nil {
			return err
		}
		return explainEnd(ctx, c, r, handle(ctx, r, args))
	})
}

// explainEnd returns the error of a command about a run. Where the command met the end of a workflow that was ended from
// outside, the error says so, as status does.
func explainEnd(ctx context.Context, c *factory.Factory, r Found, err error) error {
	if !errors.Is(err, runs.ErrOver) {
		return err
	}
	return cmp.Or(EndedOutside(ctx, c, r), err)
}

// EndedOutside returns an error if the workflow of a run was ended from outside while the run is not over.
func EndedOutside(ctx context.Context, c *factory.Factory, r Found) error {
	v, err := r.View(ctx, r.ID)
	if err != nil {
		return nil // it is not known
	}
	return OutsideError(c, v)
}

// OutsideError is the error about a run whose workflow was ended from outside; nil: it was not.
func OutsideError(c *factory.Factory, v runs.View) error {
	if !v.Adrift || v.Over() {
		return nil
	}
	return fmt.Errorf("run %s is %s, but %s: continue from its record with `%s`",
		v.Name.Shown(v.ID), v.State.Status, v.AdriftReason(), c.Hint("resume %s", v.ID))
}

// describeRun returns a run with the name that the engine knows. It refuses a run that a configured server does not know:
// a record of it on this host is another engine's.
func describeRun(ctx context.Context, c *factory.Factory, client *runs.Client, id run.ID) (Found, error) {
	r := WithName(ctx, client, id)
	if r.Name != "" {
		return r, nil
	}
	if c.Server == "" {
		if v, err := client.View(ctx, id); err == nil { // of its record
			r.Name = v.Name
		}
		return r, nil
	}
	_, err := client.Describe(ctx, id)
	if _, unknown := errors.AsType[*runs.NotFoundError](err); unknown {
		if _, recorded := c.OpenRecord(id); recorded == nil {
			err = fmt.Errorf("the server at %s (from TEMPORAL_ADDRESS or its profile) has no run %s, but %s has its record, of another engine: unset TEMPORAL_ADDRESS to use that engine",
				display.Line(c.Server), id, display.Line(c.RunsDir))
		}
		return r, err
	}
	return r, nil
}

// WithName returns a run with the name that the engine knows.
func WithName(ctx context.Context, client *runs.Client, id run.ID) Found {
	r := Found{Client: client, ID: id}
	if e, err := client.Describe(ctx, id); err == nil {
		r.Name = e.Name
	}
	return r
}

// BothWaits are the ways in which a run waits for a person.
var BothWaits = []run.Status{run.AwaitingApproval, run.AwaitingInput}

// Fits reports whether a command is for a run.
type Fits func(runs.Listed) bool

// The runs of commands.
var (
	AwaitsApproval Fits = func(l runs.Listed) bool { return l.Status == run.AwaitingApproval }
	AwaitsInput    Fits = func(l runs.Listed) bool { return l.Status == run.AwaitingInput }
	Open           Fits = func(l runs.Listed) bool { return l.Turn() != runs.Over }
	Over           Fits = func(l runs.Listed) bool { return l.Turn() == runs.Over }
	Completed      Fits = func(l runs.Listed) bool { return l.Status == run.Completed }
	Unmerged       Fits = func(l runs.Listed) bool { return l.Status == run.Completed && !l.Merged }
)

// Complete completes the name of a run for the shell: of any run.
func Complete(c *factory.Factory) cobra.CompletionFunc {
	return CompleteOf(c, func(runs.Listed) bool { return true })
}

// CompleteOf completes the name of a run that fits.
func CompleteOf(c *factory.Factory, fits Fits) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, client *runs.Client) (ids []string) {
		found, _ := runs.ListWithWaits(ctx, client, runs.Filter{Max: 50})
		review.NewDisk(c.RunsDir).MarkMerged(ctx, found)
		for _, l := range found {
			if fits(l) {
				ids = append(ids, cobra.CompletionWithDesc(l.Name.Shown(l.ID), string(l.Status)+" "+story.OneLine(l.Goal, 40)))
			}
		}
		return ids
	})
}

// pickRun returns the only run that waits as the kinds say; with no kind, for anything. Where none or several
// wait it prints those that can be chosen, and returns a usage error.
func pickRun(ctx context.Context, c *factory.Factory, client *runs.Client, kinds ...run.Status) (run.ID, error) {
	waiting, err := client.Waiting(ctx, kinds...)
	if err != nil {
		return "", err
	}
	if len(waiting) == 1 {
		return waiting[0].ID, nil
	}
	if len(waiting) == 0 {
		return "", usage.Errorf("no run waits: name one of `%s`", c.Hint("list"))
	}
	if c.JSON {
		err = c.PrintJSON(waiting)
	} else {
		runrows.Print(ctx, c, client, inbox.Of(waiting))
	}
	if err != nil {
		return "", err
	}
	return "", usage.Errorf("%d runs wait: say which", len(waiting))
}

// CheckRepository refuses a command that works in the repository of a run where that is not on this host. A linked work
// tree that was removed can be made again: the run's branch is in its repository.
func CheckRepository(r Found, path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		again := shellquote.Join("git", "worktree", "add", "-f", "--detach", path)
		return fmt.Errorf("the repository of run %s is missing at %s: move it back, or run this command on the worker's host; a linked work tree comes back with `%s` in its repository", r.ShownName(), display.Line(path), display.Line(again))
	}
	return nil
}

// adriftPatience is the time limit of a look.
const adriftPatience = 15 * time.Second

// AdriftText says how to resume the runs of this host that are not over and have no workflow; empty: there are none.
func AdriftText(ctx context.Context, c *factory.Factory, client *runs.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, adriftPatience)
	defer cancel()
	ids, err := client.Adrift(ctx)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	const most = 3
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, string(id))
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s not over and without a workflow: %s; bring each back with `%s`",
		display.Count(len(ids), "run is", "runs are"), text, c.Hint("resume RUN")), nil
}
