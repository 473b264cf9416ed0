package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
	"github.com/ratchet-dev/ratchet/starter/internal/byflag"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

func sessionSayCommand(c *factory.Factory) *cobra.Command {
	var m session.Message
	var detach bool
	cmd := &cobra.Command{
		Use:   "say SESSION TEXT",
		Short: "Say something to the agent and wait for its answer",
		Long: `Says something to the session's agent and prints its answer. A message that finds
the agent busy waits for its turn. TEXT - is standard input. An interrupt ends
the waiting, never the turn. Exit code 3: the agent waits for a decision; 4: for
an answer about a budget.`,
		Example: `  starter session say shop-2 'Write a test for it'
  git log -5 | starter session say shop-2 - --model opus
  starter session say shop-2 'Continue' --message-id nightly-7 --detach`,
		Args:              usage.Args(2, "a SESSION and the message as one argument"),
		ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, args []string) error {
			var err error
			if m.Text, err = textArgument(c, args[0]); err != nil {
				return err
			}
			if m.ID == "" {
				m.ID = uuid.NewString()
			}
			if err := sayOnce(ctx, s.Client, s.ID, m); err != nil {
				return err
			}
			if detach {
				return printTaken(c, s.ID, m.ID, "taken")
			}
			return awaitAnswer(ctx, c, s, m.ID)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&m.Override.Model, "model", "", "`model` for this message alone; the agent is resumed with it")
	flags.StringVar(&m.Override.Mode, "mode", "", "`mode` for this message alone")
	flags.BoolVar(&m.Fresh, "fresh", false, "begin a new session of the agent, which knows nothing of earlier messages")
	flags.StringVar(&m.ID, "message-id", "", "`id` of the message: one that is said twice is said once; default: a new one")
	byflag.Add(c, flags, &m.By, "`name` of who says it")
	flags.BoolVar(&detach, "detach", false, "do not wait for the answer")
	return cmd
}

// sayOnce sends a message to a session. If the session may get the message although the call failed, because the engine
// keeps a message that no worker has taken yet, the error says how to repeat it safely.
func sayOnce(ctx context.Context, s sessions.Client, id session.ID, m session.Message) error {
	err := s.Send(ctx, id, sessionflow.SayUpdate, m.ID, m, nil)
	if isAway(err) {
		return fmt.Errorf("%w; the session may have the message: repeat it with --message-id %s, which delivers it at most once", err, m.ID)
	}
	return err
}

// printTaken prints that a session took a message.
func printTaken(c *factory.Factory, id session.ID, about, verdict string) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{"sessionId": string(id), "id": about, "result": verdict})
	}
	about = cmp.Or(about, "session "+string(id))
	c.Printf("%s: %s\n", about, verdict)
	return nil
}

// awaitAnswer waits until the message has ended or a person must decide, and prints either.
func awaitAnswer(ctx context.Context, c *factory.Factory, s sessionref.Found, message string) error {
	screen := c.ErrorScreen()
	work := screen.Work("the agent works")
	defer work.Stop()
	looks := sessionLooks{c: c, s: s}
	defer looks.close()
	for {
		snap, err := looks.nextState(ctx, func(err error) { work.Show("the message is kept; " + story.OneLine(err.Error(), 200)) })
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(snap.Past, func(p session.Past) bool { return p.ID == message }); i >= 0 {
			work.Stop()
			return printAnswer(c, s.ID, snap.Past[i])
		}
		if err := checkAwaited(snap, message); err != nil {
			return err
		}
		if snap.State == session.Asking {
			work.Stop()
			return printAsking(c, snap)
		}
		work.Show(sessionDoing(snap))
	}
}

// checkAwaited returns an error if the session will never say how the message has ended.
func checkAwaited(s session.Snapshot, message string) error {
	switch {
	case s.State == session.Retired:
		return fmt.Errorf("session %s is retired: %s; it is unknown whether the agent got the message", s.Input.ID, s.Reason)
	case !s.Knows(message):
		return fmt.Errorf("session %s has forgotten how message %s ended: it knows its last 100 messages", s.Input.ID, message)
	}
	return nil
}

// isAway reports whether the engine, or every worker, does not answer now. A session that is followed
// outlives that.
func isAway(err error) bool { return errors.Is(err, runs.ErrNoWorker) || runs.Lost(err) }

// sessionDoing says in one line what a session does.
func sessionDoing(s session.Snapshot) string {
	text := map[session.State]string{
		session.Starting: "the agent starts, or waits for its place", session.Working: "the agent works",
		session.Lost: "the worker that owned the agent is gone", session.Dead: "the agent's process ended",
		session.Foreign: "another process has the agent's session", session.Unable: "the agent does not start",
	}[s.State]
	text = cmp.Or(text, "the session is "+string(s.State))
	if s.Reason != "" {
		text += ": " + story.OneLine(s.Reason, 200)
	}
	return text
}

// printAnswer prints how a message ended.
func printAnswer(c *factory.Factory, id session.ID, p session.Past) error {
	text, err := []byte(nil), error(nil)
	if p.Answer.Name != "" {
		text, err = sessionref.Load(c, id, p.Answer)
	}
	if err != nil {
		fmt.Fprintf(c.Err, "starter: %s\n", display.Line(err.Error()))
	}
	if c.JSON {
		err = c.PrintJSON(struct {
			session.Past
			Text string `json:"text"`
		}{p, string(text)})
	} else if len(text) > 0 {
		c.Printf("%s\n", display.Text(text))
	}
	if err == nil && p.Outcome != session.Completed {
		err = fmt.Errorf("the message ended as %s", p.Outcome)
		if p.Reason != "" {
			err = fmt.Errorf("%w: %s", err, p.Reason)
		}
		if p.Outcome == session.Unknown {
			err = fmt.Errorf("%w; look whether it did it, and say it again if it has not", err)
		}
	}
	return err
}

// printAsking prints what the session waits for, and how to resolve it.
func printAsking(c *factory.Factory, s session.Snapshot) error {
	if c.JSON {
		if err := c.PrintJSON(s.Pending()); err != nil {
			return err
		}
	}
	for _, a := range s.Pending().Asks {
		if c.JSON {
			break
		}
		c.Printf("%s %s\n", c.Style().Wait("? the agent asks for"), story.OneLine(a.Summary, 200))
		for _, line := range story.Lines(toolcall.ShortenPaths(a.Excerpt, a.Permission.Dir), 12) {
			c.Printf("  %s\n", line)
		}
		for _, line := range a.Commands { // they name no runs directory
			c.Printf("  %s\n", c.Style().Dim(c.Hint("%s", strings.TrimPrefix(line, "starter "))))
		}
	}
	if q := s.Question; q != nil {
		if !c.JSON {
			c.Printf("%s\n  %s\n", c.Style().Wait("? "+story.OneLine(q.Question.Question, 300)), c.Style().Dim(c.Hint("session decide %s AMOUNT", s.Input.ID)))
		}
		return &exit.StatusError{Status: run.AwaitingInput}
	}
	return &exit.StatusError{Status: run.AwaitingApproval}
}

func sessionDecideCommand(c *factory.Factory) *cobra.Command {
	var d run.Decision
	cmd := &cobra.Command{
		Use:   "decide SESSION approve|reject|ANSWER",
		Short: "Let the agent use a tool, refuse it, or answer about a budget",
		Long: `Decides what the session waits for. Without --approval a decision is about what is
pending now; with it the decision fits that call alone. Any other word answers the
question about a used-up budget: the new total, or stop.`,
		Example:           "  starter session decide shop-2 approve --session\n  starter session decide shop-2 reject --reason 'not that file'\n  starter session decide shop-2 200000",
		Args:              usage.Args(2, "a SESSION and approve, reject or an answer"),
		ValidArgsFunction: sessionref.Complete(c),
		RunE: sessionref.On(c, func(ctx context.Context, s sessionref.Found, args []string) error {
			snap, err := s.State(ctx, s.ID)
			if err != nil {
				return err
			}
			if !isDecision(args[0]) {
				return answerSession(ctx, c, s, snap, run.Reply{Text: args[0], By: d.By})
			}
			d.Decision = run.Verdict(args[0])
			if d.ApprovalID == "" {
				pending := snap.Pending()
				if len(pending.Asks) == 0 {
					return fmt.Errorf("session %s has no pending decision: it is %s", s.ID, snap.State)
				}
				d.ApprovalID = pending.Asks[0].ApprovalID
			}
			if err := s.Send(ctx, s.ID, sessionflow.ApprovalMessage, "", d, nil); err != nil {
				return err
			}
			return printTaken(c, s.ID, d.ApprovalID, map[run.Verdict]string{run.Approve: "approved", run.Reject: "rejected"}[d.Decision])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&d.ApprovalID, "approval", "", "`id` of the approval; default: the first pending one")
	flags.BoolVar(&d.Session, "session", false, "allow what the agent takes for the same in its session as well")
	flags.BoolVar(&d.Final, "final", false, "of a rejection: end the turn")
	flags.StringVar(&d.Reason, "reason", "", "`text` that the agent gets")
	byflag.Add(c, flags, &d.By, "`name` of who decides")
	return cmd
}

func answerSession(ctx context.Context, c *factory.Factory, s sessionref.Found, snap session.Snapshot, r run.Reply) error {
	if snap.Question == nil {
		return usage.Errorf("session %s does not ask about a budget (it is %s): want approve or reject", s.ID, snap.State)
	}
	r.QuestionID = snap.Question.ID
	if err := s.Send(ctx, s.ID, sessionflow.AnswerMessage, "", r, nil); err != nil {
		return err
	}
	return printTaken(c, s.ID, r.QuestionID, "answered")
}
