// Package review is the command `starter review`.
package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/asking"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "review [RUN]",
		Short: "Walk through everything that waits for you",
		Long: `Shows what waits for a person, run by run, the longest wait first, and asks for the
decision or the answer. q at a question leaves that run waiting and goes to the
next. With a RUN it is about that run alone. It needs a terminal.`,
		Example:           "  starter review\n  starter review slug#14",
		Args:              usage.ArgsBetween(0, 1, usage.MayHaveRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.NeedsPerson),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			if !c.Interactive || c.JSON {
				return usage.Errorf("review asks at a terminal: elsewhere see `%s`, and decide by approve, reject and answer", c.Hint("list"))
			}
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			rows, err := waitingRows(ctx, c, client, args)
			if err != nil {
				return err
			}
			return reviewAll(ctx, c, client, rows, len(args) == 0)
		}),
	}
}

// waitingRows returns the runs that wait, the longest wait first, or the named run.
func waitingRows(ctx context.Context, c *factory.Factory, client *runs.Client, args []string) ([]board.Row, error) {
	if len(args) > 0 {
		id, err := client.Find(ctx, args[0])
		if err != nil {
			return nil, err
		}
		e, err := client.Describe(ctx, id)
		return runrows.Of([]runs.Listed{e.Listed}), err
	}
	found, err := client.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	rows := runrows.Of(found)
	runrows.Describe(ctx, client, rows)
	board.Sort(rows)
	return rows, nil
}

// reviewAll asks about each row. A run whose wait is over by then is passed over. With all, the sessions that wait are named
// after them.
func reviewAll(ctx context.Context, c *factory.Factory, client *runs.Client, rows []board.Row, all bool) error {
	screen := c.ScreenOn(c.Out)
	left := 0
	for i, row := range rows {
		r := runref.Found{Client: client, ID: row.ID, Name: row.Name}
		screen.Line("")
		screen.Wrapped(runrows.Title(screen.Style, row) + screen.Dim(waitCount(i, len(rows))))
		f := follow.New(c, screen, r)
		p, err := f.Pending(ctx, r.ID)
		if err != nil {
			return err
		}
		if waits.ID(p) == "" {
			screen.Note("  ", "nothing to decide: it is "+string(p.Status))
			continue
		}
		waits.Tell(screen, p)
		f.Shown = waits.ID(p)
		err = f.SettleWait(ctx)
		switch {
		case errors.Is(err, follow.ErrUnanswered) && c.TypedLines(screen).Ended():
			return &exit.StatusError{Status: p.Status}
		case err != nil && !errors.Is(err, follow.ErrUnanswered) && !errors.Is(err, follow.ErrSettled):
			return err
		}
		if next, err := f.Pending(ctx, r.ID); err == nil && waits.ID(next) == waits.ID(p) {
			left++
		}
	}
	sessions := 0
	if all {
		for _, line := range asking.Lines(ctx, c, screen.Style) {
			screen.Wrapped(line)
			sessions++
		}
	}
	switch {
	case len(rows) == 0 && sessions > 0:
	case len(rows) == 0:
		screen.Note("", "Nothing is waiting for you.")
	case left > 0:
		screen.Note("", display.Count(left, "run still waits.", "runs still wait."))
	}
	return nil
}

// waitCount says which of the waits is shown.
func waitCount(i, of int) string {
	if of < 2 {
		return ""
	}
	return fmt.Sprintf("  %d of %d", i+1, of)
}
