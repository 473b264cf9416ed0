package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxText bounds the text of a turn that is kept for display and for the record
// of a failure. The answer itself comes with the end of the turn.
const maxText = 256 << 10

// maxShown bounds the end of that text that is redacted for display.
const maxShown = 8 << 10

// beginWork starts the agent and sends its task. It resumes the session of the
// note if there is one, and leaves the checkout alone if the last attempt at
// this same work was cut off. An evaluator has a new session for each call: between two
// calls, the transcript of its session lies where those whom it judges can write.
func (c *activeCall) beginWork(ctx context.Context) error {
	if c.req.Role == run.Evaluator && !c.note.isFor(c.workKey(), c.req.Call) {
		return c.startOver(ctx)
	}
	cutOff := c.note.Key == c.workKey() && c.note.Open && c.note.Session != ""
	err := c.startAgent(ctx, cutOff)
	switch {
	case errors.Is(err, agent.ErrNoSession):
		return c.startOver(ctx)
	case err != nil:
		return err
	case cutOff && c.note.Call == c.req.Call && c.note.Heard:
		return c.sendPrompt(ctx, conduct.ResumePrompt("end with the answer that the task asks for", c.note.awaitedPermit(c.req.Work.Permits)))
	}
	return c.sendTask(ctx)
}

// sendTask begins the turn with the whole task.
func (c *activeCall) sendTask(ctx context.Context) error {
	text := taskPrompt(c.req.Prompt)
	if c.req.Role == run.Evaluator {
		text += "\n" + renamedNote
	}
	return c.sendPrompt(ctx, text)
}

// startOver sends the work to a new session because the old one cannot take it.
func (c *activeCall) startOver(ctx context.Context) error {
	if c.talk.Session != nil {
		if err := c.talk.Stop(ctx); err != nil {
			return err
		}
	}
	c.note.Session, c.note.Rung, c.note.Asked, c.note.Passed = "", 0, nil, 0
	if err := c.startAgent(ctx, false); err != nil {
		return err
	}
	return c.sendTask(ctx)
}

// answerAnew sends the work to a new session and waits for the answer.
func (c *activeCall) answerAnew(ctx context.Context) (answer, error) {
	if err := c.startOver(ctx); err != nil {
		return answer{}, err
	}
	return c.awaitAnswer(ctx)
}

func (c *activeCall) startAgent(ctx context.Context, keep bool) error {
	at, err := c.req.Work.Site.Checkout(ctx, keep)
	if err != nil {
		return err
	}
	c.talk.holdKit(at.Release)
	if c.req.Role == run.Evaluator {
		if err := renameInstructions(cmp.Or(at.Top, at.Dir)); err != nil {
			return err
		}
	}
	o, err := c.withOptions(agent.Options{
		Dir: at.Dir, Top: at.Top, Objects: at.Objects, Home: filepath.Join(c.req.Work.Site.Slot(), "home"), Resume: c.note.Session, Sticky: c.Choice, Sandbox: c.roleSandbox(), Network: c.req.Work.Network,
		MaxOutputTokens: agent.AnswerTokens(c.note.Rung), Log: &c.talk.stderr, NoMemory: c.req.Role == run.Evaluator,
		Kit: at.Kit, Refused: c.talk.noteUnreached, Env: []string{proc.RunVariable + "=" + string(c.req.RunID)},
	})
	if err != nil {
		return err
	}
	s, err := c.Adapter.Start(ctx, o)
	if err != nil {
		return err
	}
	c.talk.Session, c.talk.dir, c.talk.resumed, c.talk.steering = s, at.Dir, c.note.Session != "", steering{}
	if id := s.ID(); id != "" {
		c.note.Session = id
	}
	c.makeAddressable(ctx)
	c.log("agent started", map[string]string{"session": c.note.Session, "resumed": strconv.FormatBool(c.talk.resumed), "sandbox": string(c.roleSandbox())})
	return nil
}

func (c *activeCall) log(what string, about map[string]string) { c.req.Work.Site.Log(what, about) }

// sendPrompt begins a turn. Before that it records the turn in the note on disk.
func (c *activeCall) sendPrompt(ctx context.Context, text string) error {
	t := c.talk
	if !c.note.isFor(c.workKey(), c.req.Call) {
		c.note.Passed = 0
	}
	if c.note.Key != c.workKey() {
		c.note.Used, c.note.Reported, c.note.Asked = run.Usage{}, run.Usage{}, nil
	}
	if c.note.Call != c.req.Call { // the reported usage is in the budgets already, and an answer has reported all of it
		if c.note.hasGiven() {
			c.note.Reported = c.note.Used
		}
		c.note.Used, c.note.Reported = c.note.Used.Sub(c.note.Reported), run.Usage{}
	}
	c.left = *c.unreportedUsage()
	t.usedBefore, t.used = c.note.Used, agent.Tokens{}
	c.note.Key, c.note.Call, c.note.Task = c.workKey(), c.req.Call, c.taskDigest()
	c.note.Open, c.note.Heard, c.note.Answer = true, false, nil
	if err := c.keepNote(); err != nil {
		return err
	}
	return c.sendMessage(ctx, text)
}

// sendMessage gives the agent a message, which begins a turn.
func (c *activeCall) sendMessage(ctx context.Context, text string) error {
	t := c.talk
	t.text, t.said, t.asks, t.overBudget, t.tools = nil, nil, nil, false, map[string]toolUse{}
	sent := make(chan error, 1) // an agent that does not read could block Send
	go func() { sent <- t.Send(ctx, text) }()
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitAnswer follows the run's own turn to its end. Where a person has refused a tool meanwhile and the agent was not
// told why, another turn tells it: many agents end their turn at a refusal. It keeps the answer in the
// note before it returns it.
func (c *activeCall) awaitAnswer(ctx context.Context) (answer, error) {
	a, err := c.followTurn(ctx)
	for err == nil && len(c.talk.refused) > 0 {
		text := refusedPrompt(c.talk.refused)
		c.talk.refused = nil
		if err = c.sendPrompt(ctx, text); err == nil {
			a, err = c.followTurn(ctx)
		}
	}
	if err != nil {
		return answer{}, err
	}
	a.Taken = c.roleSandbox() == agent.ReadOnly
	c.note.Open, c.note.Answer = false, a
	return *a, c.keepNote()
}

// followTurn handles the events of a turn until its end, and decides about tools
// on the way.
func (c *activeCall) followTurn(ctx context.Context) (*answer, error) {
	quiet := time.NewTimer(c.Quiet)
	defer quiet.Stop()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	notes := c.watchNotes(watching)
	for {
		if err := c.decidePermissions(ctx); err != nil {
			return nil, err
		}
		select { // before what the agent says: later it matters less
		case target := <-c.talk.unreached:
			c.logUnreached(target)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet.C:
			if len(c.talk.tools) == 0 {
				return nil, &failure.Error{Code: failure.Timeout, Message: fmt.Sprintf("the agent was silent for %v", c.Quiet), Retriable: true}
			}
			quiet.Reset(c.Quiet)
		case target := <-c.talk.unreached:
			c.logUnreached(target)
		case c.talk.steering.notes = <-notes:
			if err := c.passNotes(ctx); err != nil {
				return nil, err
			}
		case e, ok := <-c.talk.Events():
			if !ok {
				return nil, &failure.Error{Code: failure.Unknown, Message: "the agent's session ended in the middle of a turn", Retriable: true}
			}
			if n, ok := e.(agent.Notice); !ok || !n.Stall {
				quiet.Reset(c.Quiet)
			}
			a, err := c.handleEvent(ctx, e)
			if a != nil || err != nil {
				return a, err
			}
		}
	}
}

// maxUnreached bounds the refused targets of the network that wait to be reported.
const maxUnreached = 8

// noteUnreached notes a target that the box has refused the agent. It never blocks.
func (t *talk) noteUnreached(target string) {
	select {
	case t.unreached <- target:
	default:
	}
}

// logUnreached reports a target that the box has refused. If the agent has not answered yet, the target may be the API of
// its model, which the agent would call again for minutes.
func (c *activeCall) logUnreached(target string) {
	about := map[string]string{"target": target, "remedy": "if this is the API of its model, start the worker with --provider-network " + target}
	if c.note.Heard {
		c.log("the sandbox refused the agent a network target", about)
		return
	}
	c.req.Work.Site.Warn("the sandbox refused the agent a network target", about)
	c.showProgress("was refused " + target + "; if this is its model's API, start the worker with --provider-network " + target)
}

// noteHeard records, once per turn, that the agent has the message.
func (c *activeCall) noteHeard(e agent.Event) error {
	switch e.(type) {
	case agent.Text, agent.ToolUse, agent.ToolResult, agent.Permission, agent.UsageUpdate:
	default:
		return nil
	}
	if c.note.Heard {
		return nil
	}
	c.note.Heard = true
	return c.keepNote()
}

// handleEvent handles one event. It returns the answer if e completes the turn.
func (c *activeCall) handleEvent(ctx context.Context, e agent.Event) (*answer, error) {
	t := c.talk
	if err := c.noteHeard(e); err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case agent.Started:
		if c.note.Session != e.SessionID {
			c.note.Session = e.SessionID
			return nil, c.keepNote()
		}
	case agent.Text:
		if t.apart && len(t.text) > 0 {
			t.text = append(t.text, '\n')
		}
		t.apart = false
		t.text, t.said = append(t.text, e.Text...), append(t.said, e.Text...)
		if len(t.said) > maxUnlogged {
			c.logSaid()
		}
		if over := len(t.text) - maxText; over > 0 {
			t.text = slices.Delete(t.text, 0, over)
		}
		t.bytes += int64(len(e.Text))
		c.showProgress("writes")
	case agent.ToolUse:
		c.beginTool(e)
	case agent.ToolResult:
		c.endTool(e)
	case agent.Permission:
		t.asks = append(t.asks, e)
	case agent.Withdrawn:
		t.asks = slices.DeleteFunc(t.asks, func(p agent.Permission) bool { return p.CallID == e.CallID })
	case agent.Budget:
		c.note.Rung = agent.NextRung(c.note.Rung, e)
		return nil, c.keepNote()
	case agent.TurnOpened, agent.UserMessage, agent.TurnClosed:
		return nil, c.noteTurn(ctx, e)
	case agent.UsageUpdate:
		t.used = e.Tokens
		c.note.Used = t.callUsage()
		if err := c.keepNote(); err != nil {
			return nil, err
		}
		return nil, c.enforceBudget(ctx)
	case agent.Turn:
		c.logSaid()
		c.log("turn ended", map[string]string{"status": string(e.Status), "context": fmt.Sprintf("%d of %d tokens", e.Context.Used, e.Context.Total)})
		return c.turnResult(e)
	case agent.Exit:
		if t.overBudget {
			return nil, provider.Exhaust()
		}
		return nil, conduct.ExitError(e)
	}
	return nil, nil
}

// enforceBudget interrupts a turn that has used up the rest of a budget. If the
// turn is completed all the same, its answer counts.
func (c *activeCall) enforceBudget(ctx context.Context) error {
	if c.talk.overBudget || !c.req.Work.Left.IsUsedUp(c.talk.callUsage()) {
		return nil
	}
	c.talk.overBudget = true
	return c.talk.Interrupt(ctx)
}

func (c *activeCall) turnResult(e agent.Turn) (*answer, error) {
	t := c.talk
	t.used = e.Tokens
	used := t.callUsage()
	if e.Cost != nil {
		used.Cost += *e.Cost
	}
	t.usedBefore, t.used = used, agent.Tokens{}
	c.note.Used = used // however the turn ended, and whatever turn follows
	switch {
	case e.Status == agent.Completed:
		return &answer{Text: c.Redact.String(e.Text)}, nil
	case t.overBudget: // regardless of how the agent reports the interrupt
		return nil, provider.Exhaust()
	case e.Status == agent.Interrupted:
		return nil, &failure.Error{Code: failure.Unknown, Message: "the agent's turn was interrupted", Retriable: true}
	}
	if e.Err == nil {
		return nil, &failure.Error{Code: failure.Unknown, Message: "the agent's turn failed without a reason", Retriable: true}
	}
	return nil, e.Err
}

// showProgress reports the progress of the turn.
func (c *activeCall) showProgress(doing string) {
	if c.progress != nil {
		end := c.talk.text[max(0, len(c.talk.text)-maxShown):]
		c.progress(provider.Progress{Bytes: c.talk.bytes, Tail: provider.Tail(c.Redact.Bytes(end)), Doing: doing, Used: c.talk.callUsage(), Steers: c.talk.steering.agent != nil})
	}
}

// callUsage returns the usage of the call so far.
func (t *talk) callUsage() run.Usage {
	return t.usedBefore.Add(conduct.UsageOf(t.used))
}
