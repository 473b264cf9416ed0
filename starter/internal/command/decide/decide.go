// Package decide has the commands `starter approve`, `starter reject` and `starter edit`.
package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func NewApprove(c *factory.Factory) *cobra.Command {
	d := run.Decision{Decision: run.Approve}
	cmd := decisionCommand(c, &d)
	cmd.Use, cmd.Short = "approve [RUN]", "Let the pending patch be applied, or the agent use a tool"
	cmd.Long = `Approves what the run waits with: a patch, or a tool that its agent wants to use.
Without --approval it is what is pending now; with it the decision fits that patch
or call alone, and any other run, patch or moment refuses it.`
	cmd.Flags().BoolVar(&d.Session, "session", false, "allow what the agent takes for the same in its session as well, such as the same command")
	cmd.Flags().StringArrayVar(&d.Files, "file", nil, "accept this `path` alone; repeat it for more. The run applies these files as a patch of their own; with --reason the agent works on the rest then, without it is dropped")
	cmd.Flags().Var((*hunkFlag)(&d.Hunks), "hunk", "accept these hunks of a file alone, as `path:1,3`, counted in `starter diff`; repeat it for more files")
	cmd.Example = "  starter diff slug#14\n  starter approve slug#14 --approval apr-1-3f2a9c1d0b7e\n  starter approve slug#14 --file slug.go --reason 'no generated files, please'\n  starter approve slug#14 --hunk slug.go:1,3"
	return cmd
}

func NewReject(c *factory.Factory) *cobra.Command {
	d := run.Decision{Decision: run.Reject}
	cmd := decisionCommand(c, &d)
	cmd.Use, cmd.Short = "reject [RUN]", "Refuse the pending patch, or the tool"
	cmd.Long = `Refuses what the run waits with. After a patch the run continues with a fix whose
prompt carries the reason, however many fixes there were: --max-fix does not count
it. After a tool the agent gets the reason and continues without it. With --final
the run ends as canceled.`
	cmd.Example = "  starter reject slug#14 --reason 'keep the public API as it is'\n  starter reject slug#14 --final"
	cmd.Flags().BoolVar(&d.Final, "final", false, "end the run")
	return cmd
}

func decisionCommand(c *factory.Factory, d *run.Decision) *cobra.Command {
	cmd := &cobra.Command{
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.AwaitsApproval),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			about := ""
			if d.ApprovalID == "" || d.TakesPart() {
				p, err := r.Pending(ctx, r.ID)
				switch {
				case err != nil:
					return err
				case d.ApprovalID != "":
				case p.Approval == nil:
					return lateDecision(ctx, c, r, p)
				default:
					d.ApprovalID = p.Approval.ApprovalID
					about = ", " + story.OneLine(p.Approval.Summary, 200)
				}
				if err := checkPart(c, r.ID, p.Approval, *d); err != nil {
					return err
				}
			}
			if err := r.Decide(ctx, r.ID, *d); err != nil {
				return waits.Refused(c, r, err)
			}
			return waits.PrintAccepted(c, r, d.ApprovalID, verdictText(*d)+about)
		}, run.AwaitingApproval),
	}
	flags := cmd.Flags()
	flags.StringVar(&d.ApprovalID, "approval", "", "`id` of the approval; default: the pending one")
	flags.StringVar(&d.Reason, "reason", "", "`text` that the record keeps")
	byflag.Add(c, flags, &d.By, "`name` of who decides")
	return cmd
}

// checkPart refuses files and hunks that the pending patch does not have. Where the patch is not at hand, the run itself
// asks about them.
func checkPart(c *factory.Factory, id run.ID, a *run.PendingApproval, d run.Decision) error {
	if !d.TakesPart() || a == nil || a.ApprovalID != d.ApprovalID {
		return nil
	}
	raw, err := artifacts.Pending(c, id, *a)
	if err != nil {
		return nil
	}
	files, err := hunks.Read(raw)
	if err != nil {
		return nil
	}
	for _, name := range d.Files {
		if !slices.ContainsFunc(files, func(f hunks.File) bool { return f.Name == name || f.From == name }) {
			return usage.Errorf("the patch does not change %s: nothing was decided", display.Line(name))
		}
	}
	var chosen []hunks.Choice
	for _, h := range d.Hunks {
		chosen = append(chosen, hunks.Choice(h))
	}
	if _, err := hunks.Pick(raw, chosen); err != nil {
		return usage.Errorf("%s: nothing was decided", display.Line(err.Error()))
	}
	return nil
}

// verdictText returns the decision in words.
func verdictText(d run.Decision) string {
	switch {
	case d.Decision == run.Reject:
		return "rejected"
	case d.TakesPart():
		return display.Count(len(d.Files)+len(d.Hunks), "file", "files") + " accepted, in whole or in part; that is applied as a patch of its own"
	}
	return "approved"
}

// hunkFlag collects the hunks that --hunk names.
type hunkFlag []run.HunkChoice

func (f *hunkFlag) String() string { return "" }
func (f *hunkFlag) Type() string   { return "path:numbers" }

func (f *hunkFlag) Set(text string) error {
	i := strings.LastIndexByte(text, ':')
	if i < 1 {
		return errors.New("want path:1,3")
	}
	c := run.HunkChoice{File: text[:i]}
	for word := range strings.SplitSeq(text[i+1:], ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not the number of a hunk", word)
		}
		c.Numbers = append(c.Numbers, n)
	}
	*f = append(*f, c)
	return nil
}

// lateDecision returns the error of a decision that came too late, with who has decided before, and when.
func lateDecision(ctx context.Context, c *factory.Factory, r runref.Found, p run.Pending) error {
	err := waits.Not("approval", p)
	events, unread := r.Events(ctx, r.ID, "")
	if unread != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		var id, word, by string
		switch p := e.Payload.(type) {
		case run.ApprovalGranted:
			id, word, by = p.ApprovalID, "approved", p.By
		case run.ApprovalRejected:
			id, word, by = p.ApprovalID, "rejected", p.By
		default:
			continue
		}
		return fmt.Errorf("%w; %s was %s by %s, %s ago", err, id, word, run.OneLine(by, "a signal without a name"), c.Ago(e.TS))
	}
	return err
}
