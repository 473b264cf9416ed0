package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

func (c *cli) approveCommand() *cobra.Command {
	d := run.Decision{Decision: run.Approve}
	cmd := c.decisionCommand(&d)
	cmd.Use, cmd.Short = "approve RUN", "Let the pending patch be applied, or the agent use a tool"
	cmd.Long = `Approves what the run waits with: a patch, or a tool that its agent wants to use.
Without --approval it is what is pending now; with it the decision fits that patch
or call alone, and any other run, patch or moment refuses it.`
	cmd.Flags().BoolVar(&d.Session, "session", false, "allow what the agent takes for the same in its session as well, such as the same command")
	cmd.Example = "  starter diff 0198c5e2\n  starter approve 0198c5e2 --approval apr-1-3f2a9c1d0b7e"
	return cmd
}

func (c *cli) rejectCommand() *cobra.Command {
	d := run.Decision{Decision: run.Reject}
	cmd := c.decisionCommand(&d)
	cmd.Use, cmd.Short = "reject RUN", "Refuse the pending patch, or the tool"
	cmd.Long = `Refuses what the run waits with. After a patch the run goes on with a fix whose
prompt carries the reason, however many fixes there were: --max-fix does not count
it. After a tool the agent is told the reason and goes on without it. With --final
the run ends as canceled.`
	cmd.Example = "  starter reject 0198c5e2 --reason 'keep the public API as it is'\n  starter reject 0198c5e2 --final"
	cmd.Flags().BoolVar(&d.Final, "final", false, "end the run")
	return cmd
}

func (c *cli) decisionCommand(d *run.Decision) *cobra.Command {
	cmd := &cobra.Command{
		Args:              exactArgs(1, wantsRun),
		ValidArgsFunction: c.completeRun,
		RunE: c.onRun(func(ctx context.Context, r found, _ []string) error {
			about := ""
			if d.ApprovalID == "" {
				p, err := r.Pending(ctx, r.id)
				if err != nil {
					return err
				}
				if p.Approval == nil {
					return notWaiting(r.id, "approval", p)
				}
				d.ApprovalID = p.Approval.ApprovalID
				about = ", " + story.OneLine(p.Approval.Summary, 200)
			}
			if err := r.Decide(ctx, r.id, *d); err != nil {
				return err
			}
			return c.printAccepted(r.id, d.ApprovalID, map[run.Verdict]string{run.Approve: "approved", run.Reject: "rejected"}[d.Decision]+about)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&d.ApprovalID, "approval", "", "`id` of the approval; default: the pending one")
	flags.StringVar(&d.Reason, "reason", "", "`text` that the record keeps")
	flags.StringVar(&d.By, "by", c.userName(), "`name` of who decides")
	return cmd
}

// notWaiting returns the error of settling an approval or question that is not pending.
func notWaiting(id run.ID, what string, p run.Pending) error {
	if p.Status.Terminal() {
		return fmt.Errorf("run %s %w: it is %s", id, runs.ErrOver, p.Status)
	}
	if other := pendingID(p); other != "" {
		return fmt.Errorf("run %s waits for no %s, it is %s with %s", id, what, p.Status, other)
	}
	return fmt.Errorf("run %s waits for no %s, it is %s", id, what, p.Status)
}

// printAccepted prints that the run took a message.
func (c *cli) printAccepted(id run.ID, about, verdict string) error {
	if c.json {
		return c.printJSON(struct {
			RunID  run.ID `json:"runId"`
			ID     string `json:"id,omitempty"`
			Result string `json:"result"`
		}{id, about, verdict})
	}
	if about == "" {
		about = "run " + string(id)
	}
	c.printf("%s: %s\n", about, verdict)
	return nil
}
