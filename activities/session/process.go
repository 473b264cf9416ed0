package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/toolcall"
)

// agentProcess is a process of an agent, from its start to its end. The activity RunProcess owns it and follows its
// events; the activities of Owner give it input.
type agentProcess struct {
	agent.Session
	a     *Activities
	in    ProcessInput
	id    session.ID
	epoch int
	slot  rundir.Slot
	dir   string // the agent works there
	show  func(report.Progress)

	stderr  conduct.Stderr
	reports int         // sent to the workflow; only the follower uses it
	leave   chan string // gets the reason to end the idle process
	leaving bool        // no more input; guarded by Activities.mu

	releaseKit func()           // gives back what the agent's kit shows; nil: nothing
	bridge     *agent.Bridge    // to the tools by which the agent starts runs; nil: it has none
	pid        atomic.Int64     // of the agent; zero until it runs
	calls      chan agent.Event // of these tools, for the follower

	mu   sync.Mutex // after Activities.mu
	note note
	over bool      // the note is the next process's
	turn *turn     // in progress; nil: none
	last time.Time // of the last sign of life
	// own holds the calls of our own tools that wait for a decision.
	own map[string]chan agent.PermissionDecision
}

// turn is a turn in progress.
type turn struct {
	Handover
	delivery   bool
	asks       []agent.Permission // that wait for a person
	tools      map[string]bool    // the calls that run now
	used       agent.Tokens       // of this part
	before     run.Usage          // by the parts before
	exhausted  bool               // a budget is used up: the turn was interrupted
	transcript transcript
}

// noteLife notes a sign of life.
func (s *agentProcess) noteLife() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// idleSince returns since when the agent has had no turn; ok is false while it has one, and before its
// start.
func (s *agentProcess) idleSince() (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.turn == nil && !s.last.IsZero()
}

// keepAsking is how long a process waits for a person's decision. Later the decision resumes the agent.
const keepAsking = 30 * time.Minute

// silenceLimit returns how long the agent may be silent from now on.
func (s *agentProcess) silenceLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.a.Quiet
	switch {
	case s.turn == nil:
		limit = s.a.Idle
	case len(s.turn.asks) > 0:
		limit = keepAsking
	}
	return max(time.Until(s.last.Add(limit)), time.Millisecond)
}

// endIfSilent returns the end of a process whose agent was silent for too long; nil if it was not.
func (s *agentProcess) endIfSilent() *ProcessResult {
	s.mu.Lock()
	waits, works := s.turn != nil && len(s.turn.asks) > 0, s.turn != nil && len(s.turn.tools) > 0
	idle := s.turn == nil
	s.mu.Unlock()
	switch {
	case s.silenceLimit() > time.Millisecond:
		return nil
	case idle || waits:
		if s.a.mayLeave(s) {
			return &ProcessResult{End: session.Slept}
		}
	case works:
		s.noteLife()
	default:
		return &ProcessResult{End: session.Died, Reason: fmt.Sprintf("the agent was silent for %v and was ended", s.a.Quiet)}
	}
	return nil
}

// handleEvent handles one event. It returns the end of the process if the event ends it.
func (s *agentProcess) handleEvent(ctx context.Context, e agent.Event) *ProcessResult {
	if n, ok := e.(agent.Notice); !ok || !n.Stall {
		s.noteLife()
	}
	reports, res := s.takeEvent(ctx, e)
	for _, r := range reports {
		if err := s.sendReport(ctx, r); err != nil {
			return &ProcessResult{End: session.Ended, Reason: err.Error()}
		}
	}
	return res
}

// takeEvent takes an event in, under the lock, and returns the reports for the workflow. Their content is in
// the note on disk before.
func (s *agentProcess) takeEvent(ctx context.Context, e agent.Event) (reports []session.Report, res *ProcessResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.noteHeard(e); err != nil {
		return nil, noteFailed(err)
	}
	switch e := e.(type) {
	case agent.Started:
		if s.note.Agent != e.SessionID {
			s.note.Agent = e.SessionID
			if err := s.note.keepIn(s.slot); err != nil {
				return nil, noteFailed(err)
			}
			return []session.Report{{Named: &session.Named{Agent: e.SessionID}}}, nil
		}
	case agent.Budget:
		s.note.Rung = agent.NextRung(s.note.Rung, e)
		return nil, noteFailed(s.note.keepIn(s.slot))
	case agent.Exit:
		return nil, &ProcessResult{End: session.Died, Reason: "the agent's process ended " + conduct.HowEnded(e)}
	case agent.TurnOpened:
		return s.reportObservation(session.Observation{What: session.TurnOpened, Turn: e.ID, At: time.Now()}), nil
	case agent.UserMessage:
		return s.reportObservation(session.Observation{What: session.UserMessage, Turn: e.Turn, Marker: e.Marker, First: e.First, At: time.Now()}), nil
	case agent.TurnClosed:
		return s.reportObservation(session.Observation{What: session.TurnClosed, Turn: e.ID, Status: e.Status, At: e.At}), nil
	}
	if s.turn == nil {
		s.denyOwnCalls()
		return nil, nil
	}
	return s.takeOfTurn(ctx, e)
}

func (s *agentProcess) reportObservation(what session.Observation) []session.Report {
	return []session.Report{{Observation: &what}}
}

// noteFailed returns the end of a process whose note cannot be kept; nil without an error.
func noteFailed(err error) *ProcessResult {
	if err == nil {
		return nil
	}
	return &ProcessResult{End: session.Died, Reason: err.Error()}
}

// noteHeard records, once per handover, that the agent has the message.
func (s *agentProcess) noteHeard(e agent.Event) error {
	switch e.(type) {
	case agent.Text, agent.ToolUse, agent.ToolResult, agent.Permission, agent.UsageUpdate:
	default:
		return nil
	}
	if s.turn == nil || s.note.Last == nil || s.note.Last.Stage != session.Begun {
		return nil
	}
	s.note.Last.Stage = session.Heard
	err := s.note.keepIn(s.slot)
	failpoint.Hit("session.heard")
	return err
}

// takeOfTurn takes an event of the turn in.
func (s *agentProcess) takeOfTurn(ctx context.Context, e agent.Event) ([]session.Report, *ProcessResult) {
	t := s.turn
	t.transcript.addEvent(s.a.Redact, e)
	switch e := e.(type) {
	case agent.Text:
		s.show(report.Progress{Doing: "writes"})
	case agent.ToolUse:
		t.tools[e.CallID] = true
		s.show(report.Progress{Doing: "uses " + display.Line(e.Tool)})
	case agent.ToolResult:
		delete(t.tools, e.CallID)
	case agent.Permission:
		return s.decideCall(ctx, e)
	case agent.Withdrawn:
		t.asks = slices.DeleteFunc(t.asks, func(p agent.Permission) bool { return p.CallID == e.CallID })
		return []session.Report{{Withdrawn: &session.Withdrew{CallID: report.Summary(e.CallID)}}}, nil
	case agent.UsageUpdate:
		t.used = e.Tokens
		s.note.Last.Used = t.usage()
		if err := s.note.keepIn(s.slot); err != nil {
			return nil, noteFailed(err)
		}
		s.enforceBudget(ctx)
	case agent.Turn:
		return s.endTurn(e)
	}
	return nil, nil
}

// usage returns the usage of all parts of the turn. Its cost is known at the end only.
func (t *turn) usage() run.Usage { return t.before.Add(conduct.UsageOf(t.used)) }

// enforceBudget interrupts a turn that has used up the rest of a budget. If the turn is completed all the
// same, its answer counts.
func (s *agentProcess) enforceBudget(ctx context.Context) {
	left, used := s.turn.Left, s.turn.usage()
	over := left.Tokens > 0 && used.TotalTokens >= left.Tokens || left.Cost > 0 && used.Cost >= left.Cost
	if over && !s.turn.exhausted {
		s.turn.exhausted = true
		_ = s.Interrupt(ctx) // an agent that does not take it ends its turn by itself
	}
}

// decideCall answers a tool call by a permit or the policy, or reports that a person must.
func (s *agentProcess) decideCall(ctx context.Context, asked agent.Permission) ([]session.Report, *ProcessResult) {
	rules := conduct.Rules{Dir: s.dir, Tools: s.in.Session.Tools, Permits: s.turn.Permits, Spent: func(p run.Permit) bool {
		return slices.Contains(s.note.Spent, p.Digest)
	}}
	d, used, known := rules.Decide(asked)
	if s.turn.delivery && !(known && used == nil && d.Verdict == agent.Allow && asked.Edit) {
		d, known = agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny, Reason: "this turn reads a result: tools that need a permission are not allowed"}, true
	}
	if !known {
		return s.askPerson(asked)
	}
	if used != nil {
		s.note.Spent = append(s.note.Spent, used.Digest)
		if err := s.note.keepIn(s.slot); err != nil { // a permit that is used up must stay used up
			return nil, noteFailed(err)
		}
	}
	err := s.answerCall(ctx, d)
	if err != nil && !errors.Is(err, agent.ErrNotPending) && !errors.Is(err, agent.ErrGone) { // the call may wait for ever
		_ = s.answerCall(ctx, agent.PermissionDecision{CallID: asked.CallID, Verdict: agent.Deny, Reason: report.Summary(err.Error())})
	}
	return nil, nil
}

// maxExcerpt bounds the head of a tool call's input that enters history.
const maxExcerpt = 4 << 10

// askPerson keeps the whole input of the call, so that a person can read it before the decision.
func (s *agentProcess) askPerson(asked agent.Permission) ([]session.Report, *ProcessResult) {
	digest := conduct.DigestOf(asked)
	input := s.a.Redact.Bytes(conduct.InputOf(asked))
	ref, err := s.slot.Dir().Keep(fmt.Sprintf("permissions/%.12s.json", digest), input)
	if err != nil {
		return nil, noteFailed(err)
	}
	s.turn.asks = append(s.turn.asks, asked)
	line := func(text string) string { return report.Summary(display.Line(s.a.Redact.String(text))) }
	return []session.Report{{Asked: &run.Permission{
		CallID: report.Summary(asked.CallID), Tool: line(asked.Tool), Digest: digest, Input: ref,
		Title: line(toolcall.ShortenPaths(asked.Title, s.dir)), Reason: line(asked.Reason), Excerpt: display.Clip(display.Text(input), maxExcerpt), Dir: s.dir,
	}}}, nil
}

// endTurn keeps the answer and the transcript, then the end in the note, and returns the report of it.
func (s *agentProcess) endTurn(e agent.Turn) ([]session.Report, *ProcessResult) {
	t := s.turn
	t.used = e.Tokens
	end := session.TurnEnded{ID: t.ID, Usage: t.usage(), Exhausted: t.exhausted && e.Status != agent.Completed}
	if e.Cost != nil {
		end.Usage.Cost += *e.Cost
	}
	end.Outcome, end.Reason = outcomeOf(e)
	end.Reason = report.Summary(s.a.Redact.String(end.Reason))
	text := s.a.Redact.Bytes([]byte(e.Text))
	end.Gist = display.Clip(display.Line(display.FirstLine(string(text))), maxGist)
	name := fmt.Sprintf("turns/%04d.%d", s.note.Turns+1, s.epoch)
	var err error
	if end.Answer, err = s.slot.Dir().Keep(name+".md", text); err != nil {
		return nil, noteFailed(err)
	}
	if end.Transcript, err = s.slot.Dir().Keep(name+".ndjson", t.transcript.bytes()); err != nil {
		return nil, noteFailed(err)
	}
	s.noteModel()
	s.note.Turns++
	s.note.Spent = nil
	s.note.Last = &session.Handed{ID: t.ID, Stage: session.Closed, End: &end}
	s.turn = nil
	s.denyOwnCalls()
	if err := s.note.keepIn(s.slot); err != nil {
		return nil, noteFailed(err)
	}
	failpoint.Hit("session.turn-kept")
	return []session.Report{{Ended: &end}}, nil
}

// maxGist bounds the head of an answer that enters history.
const maxGist = 200

// outcomeOf returns the outcome of an agent's turn.
func outcomeOf(e agent.Turn) (session.Outcome, string) {
	switch {
	case e.Status == agent.Completed:
		return session.Completed, ""
	case e.Status == agent.Interrupted:
		return session.Interrupted, ""
	case e.Err == nil:
		return session.Failed, "the agent's turn failed without a reason"
	}
	return session.Failed, e.Err.Error()
}
