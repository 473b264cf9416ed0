package decide

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/draft"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

// NewEdit returns `edit`.
func NewEdit(c *factory.Factory) *cobra.Command {
	d := run.Decision{Decision: run.Edit}
	file := ""
	cmd := &cobra.Command{
		Use:   "edit [RUN]",
		Short: "Put a patch of your own in the place of the pending one",
		Long: `Opens the pending patch in $VISUAL or $EDITOR, or takes --patch, a unified diff on the
same commit. Line counts need not fit. What you save is a new proposal with an
approval of its own: it is judged like any other patch and asked about where the
approval policy asks. If it does not apply, the command says why, the pending patch
waits on, and your text stays in its file. A text without changes decides nothing.`,
		Example:           "  starter edit slug#14\n  starter diff slug#14 >p.diff; sed -i s/foo/bar/ p.diff; starter edit slug#14 --patch p.diff",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.Complete(c),
		RunE: runref.OnOr(c, 0, func(ctx context.Context, r runref.Found, _ []string) error {
			return editPending(ctx, c, r, d, file)
		}, run.AwaitingApproval),
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "patch", "", "`file` with the patch; -: standard input")
	flags.StringVar(&d.ApprovalID, "approval", "", "`id` of the approval; default: the pending one")
	flags.StringVar(&d.Reason, "reason", "", "`text` that the record keeps")
	byflag.Add(c, flags, &d.By, "`name` of who edits")
	return cmd
}

func editPending(ctx context.Context, c *factory.Factory, r runref.Found, d run.Decision, file string) error {
	p, err := r.Pending(ctx, r.ID)
	switch {
	case err != nil:
		return err
	case p.Approval == nil:
		return lateDecision(ctx, c, r, p)
	case p.Approval.Permission != nil:
		return fmt.Errorf("run %s waits with a tool: only a patch can be edited", r.ShownName())
	}
	d.ApprovalID = cmp.Or(d.ApprovalID, p.Approval.ApprovalID)
	done := func() {}
	if file == "" {
		d.Patch, file, done, err = editText(c, r, *p.Approval)
	} else {
		d.Patch, err = readPatch(c, file)
	}
	if err != nil {
		return err
	}
	if strings.TrimSpace(d.Patch) == "" {
		done()
		c.Printf("You changed nothing: the pending patch waits on.\n")
		return nil
	}
	if err := r.Decide(ctx, r.ID, d); err != nil {
		return fmt.Errorf("%w; the patch still waits for approval. Your text is in %s: change it and run `%s`", err, display.Line(file), c.Hint("edit %s --patch %s", r.ShownName(), file))
	}
	done()
	return waits.PrintAccepted(c, r, d.ApprovalID, "edited; the run proposes your patch")
}

// editText has the person edit the pending patch. The text is empty if it was not changed; done removes its file.
func editText(c *factory.Factory, r runref.Found, a run.PendingApproval) (text, file string, done func(), err error) {
	dir, err := c.OpenRecord(r.ID)
	if err != nil {
		return "", "", nil, err
	}
	raw, err := dir.Load(a.Patch)
	if err != nil {
		return "", "", nil, err
	}
	if !c.Interactive {
		return "", "", nil, usage.Errorf("there is no terminal: give the edited patch with --patch FILE")
	}
	draft, err := draft.New(c, "ratchet-*.diff", string(raw), "or give the edited patch with --patch FILE")
	if err != nil {
		return "", "", nil, err
	}
	text, err = draft.Edit()
	if err != nil {
		return "", "", nil, fmt.Errorf("%w; your text is in %s", err, draft.Path())
	}
	if text == string(raw) {
		text = ""
	}
	return text, draft.Path(), draft.Remove, nil
}

func readPatch(c *factory.Factory, file string) (string, error) {
	b, err := c.ReadInput(file, run.MaxEditBytes)
	if err == nil && len(strings.TrimSpace(string(b))) == 0 {
		err = fmt.Errorf("%s is empty", file)
	}
	return string(b), err
}
