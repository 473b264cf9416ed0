// Package diff is the command `starter diff`.
package diff

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/patchview"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

type diffFlags struct {
	branch, raw bool
	approval    string
}

func New(c *factory.Factory) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [RUN]",
		Short: "Show what waits for an approval, or the branch against its base",
		Long: `Shows the patch that waits for an approval, or all of the input of the tool that
an agent wants to use, read from the stored bytes of its digest; or else what the
run's branch changes. --approval shows another patch that may be chosen. Characters that a terminal obeys
or a reader is deceived by are made visible; --raw prints the bytes as they are.`,
		Example:           "  starter diff slug#14\n  starter diff slug#14 --branch\n  starter diff slug#14 --raw > change.patch",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			d, err := diffOf(ctx, c, r, f)
			switch {
			case err != nil:
				return err
			case c.JSON:
				return c.PrintJSON(d)
			case f.raw:
				c.Printf("%s", d.Diff)
				return nil
			case d.Diff == "":
				fmt.Fprintf(c.Err, "starter: the branch of run %s has no changes yet\n", r.ShownName())
				return nil
			}
			c.Printf("%s", drawDiff(c, d))
			if !d.Whole {
				c.Printf("%s\n", c.Style().Dim("… this is its head: the whole patch is in the run's directory on the worker's host"))
			}
			return nil
		}, runref.BothWaits...),
	}
	cmd.Flags().BoolVar(&f.branch, "branch", false, "show the branch although a patch is pending")
	cmd.Flags().StringVar(&f.approval, "approval", "", "`id` of the approval to show, when several patches may be chosen")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "print the exact bytes")
	return cmd
}

// drawDiff returns the diff for a person: at a terminal as the approval shows it, with the numbers of its lines.
func drawDiff(c *factory.Factory, d artifacts.Diff) string {
	if c.Screen && d.Whole && (d.Approval == nil || d.Approval.Permission == nil) {
		if files, err := hunks.Read([]byte(d.Diff)); err == nil {
			v := patchview.View{Style: c.Style(), Columns: c.Columns()}
			return strings.Join(v.Lines(files), "\n") + "\n"
		}
	}
	return c.Style().Diff(display.Text([]byte(d.Diff)))
}

func diffOf(ctx context.Context, c *factory.Factory, r runref.Found, f diffFlags) (artifacts.Diff, error) {
	p, err := r.Pending(ctx, r.ID)
	if err != nil {
		return artifacts.Diff{}, err
	}
	if a := p.Approval; a != nil && !f.branch {
		chosen, err := chosenOf(*a, f.approval)
		if err != nil {
			return artifacts.Diff{}, err
		}
		return patchOf(c, r.ID, chosen, f.raw)
	}
	if f.approval != "" {
		return artifacts.Diff{}, waits.Not("approval", p)
	}
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return artifacts.Diff{}, err
	}
	return artifacts.BranchDiff(ctx, c, r, facts)
}

// chosenOf returns the pending approval as it would be for one of its choices.
func chosenOf(a run.PendingApproval, id string) (run.PendingApproval, error) {
	if id == "" || id == a.ApprovalID {
		return a, nil
	}
	for _, choice := range a.Choices {
		if choice.ApprovalID == id {
			a.ApprovalID, a.Digest, a.Patch, a.Stat, a.Summary = choice.ApprovalID, choice.Digest, choice.Patch, choice.Stat, choice.Summary
			a.Files, a.Reasons, a.Repairs, a.Excerpt, a.Candidate = nil, choice.Risks, nil, "", choice.Candidate
			return a, nil
		}
	}
	return a, fmt.Errorf("%s is not pending: the pending approval is %s", id, a.ApprovalID)
}

func patchOf(c *factory.Factory, id run.ID, a run.PendingApproval, exact bool) (artifacts.Diff, error) {
	d := artifacts.Diff{RunID: id, Approval: &a, Base: a.Base, Whole: true}
	raw, err := artifacts.Pending(c, id, a)
	if err != nil && exact {
		return d, fmt.Errorf("the whole patch is in the run's directory, name it with --runs-dir: %w", err)
	}
	d.Diff = string(raw)
	if !exact {
		d.Diff = string(artifacts.Readable(a, raw))
	}
	if err != nil {
		d.Diff, d.Whole = a.Excerpt, false
	}
	return d, nil
}
