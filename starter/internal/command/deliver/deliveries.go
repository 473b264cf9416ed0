package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/deliveries"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
)

func NewList(c *factory.Factory) *cobra.Command {
	var audit bool
	cmd := &cobra.Command{
		Use:   "deliveries [SESSION]",
		Short: "List the deliveries into standing sessions and what became of each",
		Long: `Lists the batches of one session or of all: what waits and why, what is in progress,
and what was closed. A batch that is manual_resolution_only waits for you: look into
the session, then close it with starter delivery close. With --audit it prints the
decisions about one session, the oldest first.`,
		Example:           "  starter deliveries\n  starter deliveries 0198c5e2 --audit\n  starter deliveries 0198c5e2 --json | jq '.fold.queue'",
		Args:              usage.ArgsBetween(0, 1, "at most one SESSION"),
		ValidArgsFunction: completeDelivered(c),
	}
	cmd.Flags().BoolVar(&audit, "audit", false, "print the decisions about the session")
	cmd.RunE = c.Handle(func(ctx context.Context, args []string) error {
		switch {
		case len(args) == 0 && audit:
			return usage.Errorf("--audit needs a SESSION")
		case len(args) == 0:
			return listDeliveries(c)
		}
		if !audit {
			return showDeliveries(ctx, c, args[0])
		}
		session, err := deliveries.Session(c, args[0])
		if err != nil {
			return err
		}
		return printAudit(c, session)
	})
	return cmd
}

// completeDelivered completes a session that has deliveries.
func completeDelivered(c *factory.Factory) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		known, err := deliveries.Ledger(c).Sessions()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return known, cobra.ShellCompDirectiveNoFileComp
	}
}

// showDeliveries shows the deliveries of a session by its workflow, and by its ledger while the workflow cannot be asked.
func showDeliveries(ctx context.Context, c *factory.Factory, name string) error {
	v, err := askDeliveries(ctx, c, name)
	if err == nil {
		return printDeliveries(c, v, nil)
	}
	session := v.Session
	if session == "" { // the engine does not say which one is meant
		known, bad := deliveries.Session(c, name)
		if bad != nil {
			return bad
		}
		session = known
	}
	v, audit, bad := deliveries.Recorded(deliveries.Ledger(c), session)
	if bad != nil || len(audit) == 0 && v.Fold.Seq == 0 {
		return errors.Join(bad, err)
	}
	return printDeliveries(c, v, err)
}

// askDeliveries asks the workflow of the session that the argument names. With an error only the session is set, once it
// is known.
func askDeliveries(ctx context.Context, c *factory.Factory, name string) (v deliveryflow.View, err error) {
	err = deliveries.On(ctx, c, name, func(d deliveries.Client, session string) error {
		v, err = d.View(ctx, session)
		if err != nil {
			v = deliveryflow.View{Session: session}
		}
		return err
	})
	return v, err
}

// listDeliveries lists the open and the last closed batches of all sessions, by their ledgers. A ledger that cannot be
// read is reported beside the others.
func listDeliveries(c *factory.Factory) error {
	sessions, err := deliveries.Ledger(c).Sessions()
	if err != nil {
		return err
	}
	views, bad := []deliveryflow.View{}, error(nil)
	for _, session := range sessions {
		v, _, err := deliveries.Recorded(deliveries.Ledger(c), session)
		bad = errors.Join(bad, err)
		views = append(views, v)
	}
	if c.JSON {
		return errors.Join(c.PrintJSON(views), bad)
	}
	var rows [][]string
	for _, v := range views {
		rows = append(rows, deliveryRows(c, v)...)
	}
	if len(rows) == 0 {
		c.Printf("No deliveries yet. What waits for a session without a thread is in no ledger: see `%s`\n", c.Hint("deliveries SESSION"))
		return bad
	}
	c.Printf("%s", terminal.Table(append([][]string{deliveryHead(c)}, rows...)))
	return bad
}

// waitingText returns why the head waits, in words that say what to do where the session itself is the reason.
func waitingText(waiting string) string {
	reason, _, _ := strings.Cut(waiting, ":")
	switch delivery.Reason(strings.TrimSpace(reason)) {
	case delivery.Permitted:
		return "this session may ask for tools, use the network or write, so that results wait here. A session that is started with --deliveries trusted-all takes them"
	case delivery.Incapable:
		return "this agent takes no deliveries: " + setup.ListKinds(func(t setup.Traits) bool { return t.Deliveries }, "and") + " do. Close the batch with `starter delivery close SESSION --cancelled`"
	}
	return waiting
}

// printDeliveries prints the deliveries of one session. Stale says why they come from the ledger; nil: they do not.
func printDeliveries(c *factory.Factory, v deliveryflow.View, stale error) error {
	if c.JSON {
		return c.PrintJSON(v)
	}
	rows := deliveryRows(c, v)
	if len(rows) == 0 {
		c.Printf("No deliveries into session %s yet.\n", display.Line(v.Session))
	} else {
		c.Printf("%s", terminal.Table(append([][]string{deliveryHead(c)}, rows...)))
	}
	s := c.Style()
	if v.Waiting != "" {
		c.Printf("\n%s\n", s.Dim("The first batch is not delivered now: "+story.OneLine(waitingText(v.Waiting), 300)))
	}
	if e := v.Fold.Head(); e != nil && e.Replay == delivery.Manual {
		c.Printf("\nBatch %s waits for you. Look into the session, then say what you saw:\n  %s\n  %s\n", display.Line(e.Batch.ID),
			c.Hint("delivery close %s --confirmed", v.Session), c.Hint("delivery close %s --unconfirmed", v.Session))
	}
	if stale != nil {
		c.Printf("\n%s\n", s.Dim("As the ledger has it: "+story.OneLine(stale.Error(), 200)))
	}
	return nil
}

func deliveryHead(c *factory.Factory) []string {
	s := c.Style()
	return []string{s.Dim("AGE"), s.Dim("SESSION"), s.Dim("BATCH"), s.Dim("STATE"), s.Dim("SENT"), ""}
}

// deliveryRows returns a row for each open and each of the last closed batches, the oldest first.
func deliveryRows(c *factory.Factory, v deliveryflow.View) (rows [][]string) {
	for _, e := range slices.Concat(v.Fold.Closed, v.Fold.Queue) {
		rows = append(rows, []string{
			display.Age(c.Now().Sub(e.CreatedAt)), display.Line(v.Session), display.Line(e.Batch.ID), deliveryState(c, e),
			fmt.Sprintf("%d of %d", e.Charged, e.Generation), deliveryGist(e),
		})
	}
	return rows
}

// deliveryState returns the state of a batch, in its colour.
func deliveryState(c *factory.Factory, e delivery.Entry) string {
	s := c.Style()
	switch {
	case e.Close == delivery.Delivered || e.Close == delivery.Confirmed:
		return s.Good(string(e.Close))
	case e.Close != "":
		return s.Bad(string(e.Close))
	case e.Replay == delivery.Manual:
		return s.Bad(string(e.Replay))
	case len(e.Attempts) > 0 && e.Attempts[len(e.Attempts)-1].Active():
		return s.Wait("in progress")
	}
	return s.Wait("queued")
}

// deliveryGist returns the first job of a batch in one line.
func deliveryGist(e delivery.Entry) string {
	if len(e.Batch.Jobs) == 0 {
		return ""
	}
	j := e.Batch.Jobs[0]
	return story.OneLine(strings.TrimSpace(j.Reason+" "+j.Summary), 60)
}

// printAudit prints the audit entries of a session.
func printAudit(c *factory.Factory, session string) error {
	_, audit, err := deliveries.Recorded(deliveries.Ledger(c), session)
	if c.JSON {
		return errors.Join(c.PrintJSON(slices.Concat([]delivery.Line{}, audit)), err)
	}
	if len(audit) == 0 && err == nil {
		c.Printf("The audit tells nothing of session %s yet.\n", display.Line(session))
	}
	var rows [][]string
	for _, l := range audit {
		rows = append(rows, []string{l.TS.Local().Format("2006-01-02 15:04:05"), string(l.Decision), display.Line(l.Batch), fmt.Sprint(l.Attempt), fmt.Sprint(l.Epoch), story.OneLine(l.Reason, 80)})
	}
	if len(rows) > 0 {
		s := c.Style()
		head := []string{s.Dim("TIME"), s.Dim("DECISION"), s.Dim("BATCH"), s.Dim("ATTEMPT"), s.Dim("EPOCH"), ""}
		c.Printf("%s", terminal.Table(append([][]string{head}, rows...)))
	}
	return err
}
