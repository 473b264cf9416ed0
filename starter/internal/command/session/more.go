package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	"github.com/ratchet-dev/ratchet/starter/internal/waits"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

func sessionInterruptCommand(c *factory.Factory) *cobra.Command {
	return sessionMessageCommand(c, "interrupt", sessionflow.InterruptUpdate, "interrupted", "End the current turn",
		"Ends the current turn. The agent stays, and messages that wait get their turns.")
}

func sessionStopCommand(c *factory.Factory) *cobra.Command {
	return sessionMessageCommand(c, "stop", sessionflow.StopUpdate, "stopped", "End the agent's process",
		"Ends the agent's process and the current turn, and withdraws the messages that\nwait. The next message resumes the agent.")
}

func sessionRetireCommand(c *factory.Factory) *cobra.Command {
	return sessionMessageCommand(c, "retire", sessionflow.RetireUpdate, "retired", "End the session for good",
		"Ends the session for good. Its transcripts and the diff of its checkout are kept in\nthe runs directory, the checkout is removed.")
}

// sessionMessageCommand returns a command that sends one message to a session.
func sessionMessageCommand(c *factory.Factory, use, update, verdict, short, long string) *cobra.Command {
	var by sessionflow.By
	cmd := &cobra.Command{
		Use: use + " SESSION", Short: short, Long: long, Example: "  starter session " + use + " shop-2",
		Args: usage.Args(1, sessionref.Wants), ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error {
			if err := s.Send(ctx, s.ID, update, "", by, nil); err != nil {
				if _, refused := errors.AsType[*runs.RefusedError](err); refused {
					err = fmt.Errorf("session %s: %w", s.ID, err)
				}
				return err
			}
			return printTaken(c, s.ID, "", verdict)
		}),
	}
	byflag.Add(c, cmd.Flags(), &by.By, "`name` of who says it")
	return cmd
}

func sessionDiffCommand(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "diff SESSION",
		Short: "Print what the session has changed in its checkout",
		Long: `Prints the diff of the session's checkout against the commit that it was made
from. Your repository has none of it: ` + "`git apply`" + ` takes it in.`,
		Example: "  starter session diff shop-2 | git apply --index",
		Args:    usage.Args(1, sessionref.Wants), ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error {
			var ref run.Ref
			if err := s.Send(ctx, s.ID, sessionflow.DiffUpdate, "", sessionflow.By{}, &ref); err != nil {
				return err
			}
			diff, err := sessionref.Load(c, s.ID, ref)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(ref)
			}
			if c.Screen {
				c.Printf("%s", c.Style().Diff(display.Text(diff)))
				return nil
			}
			_, err = c.Out.Write(diff) // for git apply
			return err
		}),
	}
}

func sessionShowCommand(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "show SESSION", Short: "Show the session's state and its last messages",
		Example: "  starter session show shop-2\n  starter session show shop-2 --json | jq .usage",
		Args:    usage.Args(1, sessionref.Wants), ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error {
			snap, err := s.State(ctx, s.ID)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.PrintJSON(snap)
			}
			printSession(c, snap)
			if snap.State == session.Asking {
				_ = printAsking(c, snap)
			}
			return nil
		}),
	}
}

func printSession(c *factory.Factory, s session.Snapshot) {
	st := c.Style()
	c.Printf("%s  %s  %s\n", s.Input.ID, sessionStateIn(st, s.State), story.OneLine(s.Input.Provider, 60))
	if s.Reason != "" {
		c.Printf("  %s\n", story.OneLine(s.Reason, 300))
	}
	c.Printf("  %s\n", st.Dim("repository "+story.OneLine(s.Input.Repository.Path, 100)))
	c.Printf("  %s\n", st.Dim(choiceText(s.Input.Choice())+laterChoice(s)))
	if s.Agent != "" {
		c.Printf("  %s\n", st.Dim("the agent's session "+story.OneLine(s.Agent, 100)))
	}
	for _, p := range s.Past[max(0, len(s.Past)-10):] {
		c.Printf("  %s %s  %s\n", st.Dim(p.At.Format(time.TimeOnly)), outcomeOfMessage(st, p), story.OneLine(p.Line(), 100))
	}
	if s.Turn != nil {
		c.Printf("  %s %s\n", st.Dim("now"), story.OneLine(s.Turn.Text, 100))
	}
	for _, m := range s.Queue {
		c.Printf("  %s %s\n", st.Dim("waits"), story.OneLine(m.Text, 100))
	}
	waits.PrintRefused(c, s.RefusedSignals)
}

// laterChoice says that the agent still runs by another choice than the session's.
func laterChoice(s session.Snapshot) string {
	if s.Process == nil || s.Process.Choice == s.Input.Choice() {
		return ""
	}
	return "; this turn by " + choiceText(s.Process.Choice)
}

func outcomeOfMessage(s terminal.Style, p session.Past) string {
	if p.Outcome == session.Completed {
		return s.Good(string(p.Outcome))
	}
	return s.Bad(string(p.Outcome))
}

func sessionWatchCommand(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "watch SESSION", Short: "Follow a session: its answers, what it waits for",
		Long: `Prints each answer of the session's agent, each change of the session's state, and
what it waits for, until it is retired. On a terminal it asks for decisions and
answers. An interrupt ends the following alone.`,
		Example: "  starter session watch shop-2",
		Args:    usage.Args(1, sessionref.Wants), ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, _ []string) error { return Watch(ctx, c, s) }),
	}
}

// Watch prints the changes at each look, until the session is retired. At a terminal it asks what the session waits for.
func Watch(ctx context.Context, c *factory.Factory, s sessionref.Found) error {
	var seen session.Snapshot
	first, told := true, map[string]bool{}
	later := "" // the wait that the person leaves for later
	looks := sessionLooks{c: c, s: s}
	defer looks.close()
	away := false
	for {
		snap, err := looks.nextState(ctx, func(err error) {
			if !away {
				away = true
				fmt.Fprintf(c.Err, "starter: %s\n", story.OneLine(err.Error(), 300))
			}
		})
		if err != nil {
			return err
		}
		away = false
		for _, p := range snap.Past {
			if !told[p.ID] && !first {
				printEnd(c, s.ID, p)
			}
			told[p.ID] = true
		}
		if first && !c.JSON {
			printSession(c, snap)
		} else if snap.State != seen.State || waitsFor(snap) != waitsFor(seen) {
			if err := printState(c, snap); err != nil {
				return err
			}
		}
		switch wait, asks := waitsFor(snap), c.Interactive && !c.JSON; {
		case snap.State == session.Retired:
			return nil
		case snap.State != session.Asking || wait == later || !asks && !first && wait == waitsFor(seen):
		case !asks:
			_ = printAsking(c, snap)
		default:
			if later, err = askPerson(ctx, c, looks.s, snap, wait); err != nil {
				return err
			}
		}
		first, seen = false, snap
	}
}

// askPerson asks the person at the terminal what the session waits for. It returns the wait if that is left for later.
func askPerson(ctx context.Context, c *factory.Factory, s sessionref.Found, snap session.Snapshot, wait string) (later string, err error) {
	screen := c.ScreenOn(c.Out)
	waits.Show(screen, sessions.PendingOf(snap))
	f := follow.NewAsker(c, screen, c.ClientOf(s.Temporal), inbox.OfSession(sessions.Listed{ID: s.ID}))
	err = f.DecideWait(ctx)
	switch {
	case errors.Is(err, follow.ErrUnanswered):
		c.Printf("  %s\n", screen.Dim("decide later with "+c.Hint("review %s", s.ID)))
		return wait, nil
	case errors.Is(err, follow.ErrDecided):
		return "", nil
	case err == nil && f.Done != "":
		c.Printf("  %s %s\n", screen.Good("✓"), f.Done)
	}
	return "", err
}

// waitsFor returns the ids of what the session waits for.
func waitsFor(s session.Snapshot) string {
	p, ids := s.Pending(), ""
	for _, a := range p.Asks {
		ids += a.ApprovalID + " "
	}
	if p.Question != nil {
		ids += p.Question.ID
	}
	return ids
}

// printEnd prints how a message ended, one that has no answer too.
func printEnd(c *factory.Factory, id session.ID, p session.Past) {
	if err := printAnswer(c, id, p); err != nil {
		fmt.Fprintf(c.Err, "starter: %s: %s\n", story.OneLine(p.ID, 60), story.OneLine(err.Error(), 300))
	}
}

// printState prints a change of the state.
func printState(c *factory.Factory, s session.Snapshot) error {
	if c.JSON {
		return c.PrintJSON(map[string]any{"sessionId": s.Input.ID, "state": s.State, "reason": s.Reason, "since": s.Since})
	}
	c.Printf("%s %s\n", c.Style().Dim(s.Since.Format(time.TimeOnly)), sessionDoing(s))
	return nil
}
