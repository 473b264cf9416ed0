package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

func (c *cli) sessionInterruptCommand() *cobra.Command {
	return c.sessionMessageCommand("interrupt", sessionflow.InterruptUpdate, "interrupted", "End the turn under way",
		"Ends the turn under way. The agent stays, and messages that wait get their turns.")
}

func (c *cli) sessionStopCommand() *cobra.Command {
	return c.sessionMessageCommand("stop", sessionflow.StopUpdate, "stopped", "End the agent's process",
		"Ends the agent's process and the turn under way, and withdraws the messages that\nwait. The next message resumes the agent.")
}

func (c *cli) sessionRetireCommand() *cobra.Command {
	return c.sessionMessageCommand("retire", sessionflow.RetireUpdate, "retired", "End the session for good",
		"Ends the session for good. Its transcripts and the diff of its checkout are kept in\nthe runs directory, the checkout is removed.")
}

// sessionMessageCommand returns a command that sends one message to a session.
func (c *cli) sessionMessageCommand(use, update, verdict, short, long string) *cobra.Command {
	var by sessionflow.By
	cmd := &cobra.Command{
		Use: use + " SESSION", Short: short, Long: long, Example: "  starter session " + use + " 0198c5e2",
		Args: exactArgs(1, wantsSession), ValidArgsFunction: c.completeSession(),
		RunE: c.onSession(func(ctx context.Context, s foundSession, _ []string) error {
			if err := s.Send(ctx, s.id, update, "", by, nil); err != nil {
				return err
			}
			return c.printTaken(s.id, "", verdict)
		}),
	}
	c.byFlag(cmd.Flags(), &by.By, "`name` of who says it")
	return cmd
}

func (c *cli) sessionDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff SESSION",
		Short: "Print what the session has changed in its checkout",
		Long: `Prints the diff of the session's checkout against the commit that it was made
from. Nothing of it is in your repository: ` + "`git apply`" + ` takes it in.`,
		Example: "  starter session diff 0198c5e2 | git apply --index",
		Args:    exactArgs(1, wantsSession), ValidArgsFunction: c.completeSession(),
		RunE: c.onSession(func(ctx context.Context, s foundSession, _ []string) error {
			var ref run.Ref
			if err := s.Send(ctx, s.id, sessionflow.DiffUpdate, "", sessionflow.By{}, &ref); err != nil {
				return err
			}
			diff, err := c.sessionArtifact(s.id, ref)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(ref)
			}
			if c.screen {
				c.printf("%s", c.style().Diff(display.Text(diff)))
				return nil
			}
			_, err = c.out.Write(diff) // for git apply
			return err
		}),
	}
}

func (c *cli) sessionShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show SESSION", Short: "Show the session's state and its last messages",
		Example: "  starter session show 0198c5e2\n  starter session show 0198c5e2 --json | jq .usage",
		Args:    exactArgs(1, wantsSession), ValidArgsFunction: c.completeSession(),
		RunE: c.onSession(func(ctx context.Context, s foundSession, _ []string) error {
			snap, err := s.State(ctx, s.id)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(snap)
			}
			c.printSession(snap)
			return nil
		}),
	}
}

func (c *cli) printSession(s session.Snapshot) {
	st := c.style()
	c.printf("%s  %s  %s\n", s.Input.ID, sessionStateIn(st, s.State), story.OneLine(s.Input.Provider, 60))
	if s.Reason != "" {
		c.printf("  %s\n", story.OneLine(s.Reason, 300))
	}
	c.printf("  %s\n", st.Dim("repository "+story.OneLine(s.Input.Repository.Path, 100)))
	c.printf("  %s\n", st.Dim(choiceText(s.Input.Choice())+laterChoice(s)))
	if s.Agent != "" {
		c.printf("  %s\n", st.Dim("the agent's session "+story.OneLine(s.Agent, 100)))
	}
	for _, p := range s.Past[max(0, len(s.Past)-10):] {
		c.printf("  %s %s  %s\n", st.Dim(p.At.Format(time.TimeOnly)), outcomeOfMessage(st, p), story.OneLine(p.Line(), 100))
	}
	if s.Turn != nil {
		c.printf("  %s %s\n", st.Dim("now"), story.OneLine(s.Turn.Text, 100))
	}
	for _, m := range s.Queue {
		c.printf("  %s %s\n", st.Dim("waits"), story.OneLine(m.Text, 100))
	}
	c.printRefused(s.RefusedSignals)
	if s.State == session.Asking {
		_ = c.printAsking(s)
	}
}

// laterChoice says that the agent still runs by another choice than the session's.
func laterChoice(s session.Snapshot) string {
	if s.Sitting == nil || s.Sitting.Choice == s.Input.Choice() {
		return ""
	}
	return "; this turn by " + choiceText(s.Sitting.Choice)
}

func outcomeOfMessage(s terminal.Style, p session.Past) string {
	if p.Outcome == session.Completed {
		return s.Good(string(p.Outcome))
	}
	return s.Bad(string(p.Outcome))
}

func (c *cli) sessionWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch SESSION", Short: "Follow a session: its answers, what it waits for",
		Long: `Prints each answer of the session's agent, each change of the session's state, and
what it waits for, until it is retired. An interrupt ends the following alone.`,
		Example: "  starter session watch 0198c5e2",
		Args:    exactArgs(1, wantsSession), ValidArgsFunction: c.completeSession(),
		RunE: c.onSession(func(ctx context.Context, s foundSession, _ []string) error { return c.watchSession(ctx, s) }),
	}
}

// watchSession prints the changes at each look, until the session is retired.
func (c *cli) watchSession(ctx context.Context, s foundSession) error {
	var seen session.Snapshot
	first, told := true, map[string]bool{}
	looks := sessionLooks{c: c, s: s}
	defer looks.close()
	away := false
	for {
		snap, err := looks.next(ctx, func(err error) {
			if !away {
				away = true
				fmt.Fprintf(c.err, "starter: %s\n", story.OneLine(err.Error(), 300))
			}
		})
		if err != nil {
			return err
		}
		away = false
		for _, p := range snap.Past {
			if !told[p.ID] && !first {
				c.printEnd(s.id, p)
			}
			told[p.ID] = true
		}
		if first && !c.json {
			c.printSession(snap)
		} else if snap.State != seen.State || waitsFor(snap) != waitsFor(seen) {
			if err := c.tellState(snap); err != nil {
				return err
			}
		}
		if snap.State == session.Retired {
			return nil
		}
		first, seen = false, snap
	}
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
func (c *cli) printEnd(id session.ID, p session.Past) {
	if err := c.printAnswer(id, p); err != nil {
		fmt.Fprintf(c.err, "starter: %s: %s\n", story.OneLine(p.ID, 60), story.OneLine(err.Error(), 300))
	}
}

// tellState prints a change of the state.
func (c *cli) tellState(s session.Snapshot) error {
	if c.json {
		return c.printJSON(map[string]any{"sessionId": s.Input.ID, "state": s.State, "reason": s.Reason, "since": s.Since})
	}
	c.printf("%s %s\n", c.style().Dim(s.Since.Format(time.TimeOnly)), sessionDoing(s))
	if s.State == session.Asking {
		_ = c.printAsking(s)
	}
	return nil
}
