// Package move is the command `starter move`.
package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/store"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// anyHost stands for all hosts with the bucket.
const anyHost = "any"

// patience is how long the command waits for a run without a step in progress.
const patience = 10 * time.Second

func New(c *factory.Factory) *cobra.Command {
	var host string
	var yes bool
	cmd := &cobra.Command{
		Use:   "move RUN --host HOST",
		Short: "Move a run to another machine",
		Long: `Has a run on the URL of a repository continue on another machine, after the step in
progress. Both need one bucket (RATCHET_STORE), which has the record. An approval that
waits stays as it is. See docs/hosts.md.`,
		Example:           "  starter move slug#14 --host server\n  starter move slug#14 --host any --yes",
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Open),
		RunE: runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error {
			if err := c.MayDecide(); err != nil {
				return err
			}
			if host == "" {
				return usage.Errorf("name a host with --host, or %s: see %s", anyHost, c.Hint("hosts"))
			}
			return move(ctx, c, r, host, yes)
		}),
	}
	cmd.Flags().StringVar(&host, "host", "", "`name` of the host, as in starter hosts; any: all hosts with the bucket")
	cmd.Flags().BoolVar(&yes, "yes", false, "move without asking")
	return cmd
}

func move(ctx context.Context, c *factory.Factory, r runref.Found, host string, yes bool) error {
	e, err := r.Describe(ctx, r.ID)
	if err != nil {
		return err
	}
	if !e.Open {
		return fmt.Errorf("%s %w: it is %s", r.ShownName(), runs.ErrOver, e.Status)
	}
	queue, err := target(ctx, c, r, e, host)
	if err != nil {
		return err
	}
	if queue != e.Queue && !yes {
		c.PrintWrapped("Lost: the warm sessions of the run's agents. On %s they know the run from its record; a turn that waits for permission is done, and paid for, again.", name(queue, host))
		c.PrintWrapped("Kept: the step in progress is finished first; an approval or a question stays as it is.")
		if err := c.AskToAgree(fmt.Sprintf("Move run %s from %s to %s?", r.ShownName(), name(e.Queue, ""), name(queue, host))); err != nil {
			return err
		}
	}
	if err := r.Move(ctx, r.ID, queue); err != nil {
		return err
	}
	return sendMove(ctx, c, r, queue, name(queue, host))
}

// name returns what people call the host of a task queue. Host is its name where it is known.
func name(queue, host string) string {
	if temporalclient.IsPool(queue) {
		return "any host"
	}
	return display.Line(cmp.Or(host, temporalclient.HostOf(queue), "the home machine"))
}

// target returns the task queue of a host. It refuses a run that cannot leave its host, and a host that could not do it.
func target(ctx context.Context, c *factory.Factory, r runref.Found, e runs.Execution, host string) (string, error) {
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return "", err
	}
	if facts.Repository.URL == "" {
		return "", fmt.Errorf("run %s is bound to its directory, %s: only a run on the URL of a repository moves", r.ShownName(), display.Line(facts.Repository.Path))
	}
	if rundir.Bucket(c.RunsDir) == nil {
		return "", fmt.Errorf("%s is not set here: without a bucket the record of a run is on the disk of its host alone", store.Variable)
	}
	list, err := r.Hosts(ctx)
	if err != nil {
		return "", err
	}
	shared := func(h runs.HostView) bool { return h.Queue == e.Queue && h.Pool && h.Serving }
	if !temporalclient.IsPool(e.Queue) && !slices.ContainsFunc(list, shared) {
		return "", fmt.Errorf("the worker of run %s has no bucket: its record is on the disk of %s alone. Set %s for that worker", r.ShownName(), name(e.Queue, ""), store.Variable)
	}
	if host == anyHost {
		return temporalclient.PoolOf(facts.Sandbox), nil
	}
	in := run.Input{Repository: facts.Repository, Providers: facts.Providers, Sandbox: facts.Sandbox}
	h, err := newrun.ChooseHost(c, list, host, &in)
	if err != nil {
		return "", err
	}
	if !h.Pool {
		return "", fmt.Errorf("host %s has no bucket: set %s for its worker, as for the others", display.Line(host), store.Variable)
	}
	if h.Queue == e.Queue {
		return h.Queue, nil
	}
	there, err := newrun.Fetch(ctx, c, r.Client, h, &in)
	if err == nil {
		err = newrun.Probe(ctx, c, there, &in)
	}
	return h.Queue, err
}

// moved is the output of --json.
type moved struct {
	RunID run.ID `json:"runId"`
	Queue string `json:"taskQueue"`
	Moved bool   `json:"moved"` // false: after the step in progress
}

// sendMove waits until the run is on the task queue, and says so. It does not wait for a step in progress.
func sendMove(ctx context.Context, c *factory.Factory, r runref.Found, queue, to string) error {
	for deadline := time.Now().Add(patience); ; {
		e, err := r.Describe(ctx, r.ID)
		if err != nil {
			return err
		}
		there := e.Queue == queue
		step := slices.IndexFunc(e.Activities, func(a runs.Activity) bool { return a.Name != "Record" })
		if e.Open && !there && step < 0 && time.Now().Before(deadline) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		switch {
		case !e.Open && !there:
			return fmt.Errorf("%s %w: it is %s", r.ShownName(), runs.ErrOver, e.Status)
		case c.JSON:
			return c.PrintJSON(moved{r.ID, queue, there})
		case there:
			c.Printf("run %s: on %s\n", r.ShownName(), to)
		case step >= 0:
			c.Printf("run %s: moves to %s after the step in progress, %s\n", r.ShownName(), to, e.Activities[step].Step())
		default:
			c.Printf("run %s: moves to %s at its next step\n", r.ShownName(), to)
		}
		return nil
	}
}
