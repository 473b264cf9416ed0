// Package review is the command `starter review`.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "review [RUN|SESSION|TICKET]",
		Short: "Walk through everything that waits for you",
		Long: `Shows what waits for a person, runs, sessions and tickets alike, the longest wait
first, and asks for the decision or the answer. It says what a decision did, and goes
to the next. q at a question decides it later. With a name it is about that run,
session or ticket alone. It needs a terminal; --json prints what waits.`,
		Example:           "  starter review\n  starter review slug#14\n  starter review --json | jq -r '.[].name'",
		Args:              usage.ArgsBetween(0, 1, "at most one RUN, SESSION or TICKET"),
		ValidArgsFunction: completeItem(c),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			if !c.Interactive && !c.JSON {
				return usage.Errorf("review asks at a terminal: elsewhere see `%s`, and decide by approve, reject and answer", c.Hint("review --json"))
			}
			client, closeClient, err := c.Dial(ctx)
			if err != nil {
				return err
			}
			defer closeClient()
			next := func() ([]inbox.Item, error) { return inbox.New(client).Gather(ctx) }
			if len(args) > 0 {
				i, err := findItem(ctx, c, client, args[0])
				if err != nil {
					return err
				}
				next = func() ([]inbox.Item, error) { return []inbox.Item{i}, nil }
			}
			if c.JSON {
				items, err := next()
				if err != nil {
					return err
				}
				return c.PrintJSON(inbox.Entries(items))
			}
			return (&walk{c: c, client: client, screen: c.ScreenOn(c.Out), seen: map[string]bool{}}).through(ctx, next, len(args) > 0)
		}),
	}
}

// completeItem completes the names of what waits.
func completeItem(c *factory.Factory) cobra.CompletionFunc {
	return c.Complete(func(ctx context.Context, client *runs.Client) (names []string) {
		items, _ := inbox.New(client).Gather(ctx)
		for _, e := range inbox.Entries(items) {
			names = append(names, cobra.CompletionWithDesc(e.Name, e.Wants+" "+display.OneLine(cmp.Or(e.About, e.Goal), 40)))
		}
		return names
	})
}

// findItem returns the run, the session or the ticket that has the name.
func findItem(ctx context.Context, c *factory.Factory, client *runs.Client, name string) (i inbox.Item, err error) {
	id, err := client.Find(ctx, name)
	if err == nil {
		e, err := client.Describe(ctx, id)
		return inbox.Of([]runs.Listed{e.Listed})[0], err
	}
	if _, none := errors.AsType[*runs.NotFoundError](err); !none {
		return i, err
	}
	s, noSession := sessionref.Client(c, client.Temporal()).Find(ctx, name)
	if noSession == nil {
		return inbox.OfSession(sessions.Listed{ID: s}), nil
	}
	if _, none := errors.AsType[*sessions.NotFoundError](noSession); !none {
		return i, noSession
	}
	items, other := inbox.New(client).Others(ctx)
	if at := slices.IndexFunc(items, func(i inbox.Item) bool { return i.Ref == name || i.Shown() == name }); at >= 0 {
		return items[at], nil
	}
	return i, cmp.Or(other, err)
}

// walk goes through what waits.
type walk struct {
	c      *factory.Factory
	client *runs.Client
	screen *terminal.Screen
	seen   map[string]bool // waits that were shown
	left   int             // of them, those that still wait
}

// through asks about each wait once: also about one that began meanwhile. One is set for an item that was named.
func (w *walk) through(ctx context.Context, next func() ([]inbox.Item, error), one bool) error {
	for {
		items, err := next()
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(items, func(i inbox.Item) bool { return w.seen[i.Key()+i.Wait] })
		if len(fresh) == 0 || one && len(w.seen) > 0 {
			break
		}
		i := fresh[0]
		count := ""
		if all := len(w.seen) + len(fresh); all > 1 {
			count = fmt.Sprintf("  %d of %d", len(w.seen)+1, all)
		}
		w.seen[i.Key()+i.Wait] = true
		w.screen.Line("")
		w.screen.Wrapped(runrows.Title(w.screen.Style, i) + w.screen.Dim(count))
		if err := w.ask(ctx, i); err != nil {
			return err
		}
	}
	switch {
	case len(w.seen) == 0:
		w.screen.Note("", "Nothing is waiting for you.")
	case w.left > 0:
		w.screen.Note("", fmt.Sprintf("%d still %s.", w.left, map[bool]string{true: "waits", false: "wait"}[w.left == 1]))
	case !one:
		w.screen.Note("", "Nothing else is waiting for you.")
	}
	return nil
}

// ask asks about an item, and says what the decision did. A wait that is over by then is passed over.
func (w *walk) ask(ctx context.Context, i inbox.Item) error {
	f := follow.NewAsker(w.c, w.screen, w.client, i)
	p, err := f.Pending(ctx, f.ID)
	if err != nil {
		return err
	}
	if waits.ID(p) == "" {
		w.screen.Note("  ", "nothing to decide: it is "+string(p.Status))
		return nil
	}
	if i.Kind == inbox.Run {
		if err := f.SkipShown(ctx); err != nil {
			return err
		}
	}
	waits.Show(w.screen, p)
	f.Shown = waits.ID(p)
	err = f.DecideWait(ctx)
	switch {
	case errors.Is(err, follow.ErrUnanswered) && w.c.TypedLines(w.screen).Ended():
		return &exit.StatusError{Status: p.Status}
	case err != nil && !errors.Is(err, follow.ErrUnanswered) && !errors.Is(err, follow.ErrDecided):
		return err
	case err == nil && f.Done != "" && i.Kind != inbox.Run:
		w.screen.Line("  " + w.screen.Good("✓") + " " + f.Done + w.screen.Dim(": "+string(i.Kind)+" "+i.Shown()+" continues"))
	case err == nil && f.Done != "":
		f.PrintConsequence(ctx)
	}
	if now, err := f.Pending(ctx, f.ID); err == nil && f.Done == "" && waits.ID(now) == waits.ID(p) {
		w.left++
	}
	return nil
}
