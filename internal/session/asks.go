package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// CheckDecision returns nil if the decision fits a pending ask, and otherwise an error that says why not.
func (s *Snapshot) CheckDecision(d run.Decision) error {
	switch {
	case s.isLeaving():
		return ErrRetired
	case s.pendingAsk(d.ApprovalID) == nil:
		return fmt.Errorf("approval %q: %w", d.ApprovalID, run.ErrNotPending)
	case d.Decision == "":
		return errors.New("decision is missing: approve or reject")
	case d.Decision == run.Approve && d.Final:
		return errors.New("an approval cannot be final: only a rejection ends the turn")
	case d.Session && d.Decision != run.Approve:
		return errors.New("only an approval can hold for the session")
	case len(d.Files) > 0:
		return errors.New("only files of a patch can be accepted")
	case len(d.Reason) > run.MaxTextBytes || len(d.By) > maxTitle:
		return run.ErrTooLong
	}
	return nil
}

// CheckReply returns nil if the reply answers the pending question, and otherwise an error that says why
// not.
func (s *Snapshot) CheckReply(r run.Reply) error {
	switch {
	case s.isLeaving():
		return ErrRetired
	case s.Question == nil || r.QuestionID != s.Question.ID:
		return fmt.Errorf("question %q: %w", r.QuestionID, run.ErrNotPending)
	case len(r.Text) > run.MaxTextBytes || len(r.By) > maxTitle:
		return run.ErrTooLong
	}
	_, err := s.budget().ParseBudget(r)
	return err
}

// budget returns a run's snapshot with the budgets, the usage and the question of the session: a session
// has the rules of runs.
func (s *Snapshot) budget() *run.Snapshot {
	r := &run.Snapshot{Usage: s.Usage}
	r.Input.MaxTokens, r.Input.MaxCost = s.Input.MaxTokens, s.Input.MaxCost
	if s.Question != nil {
		r.State.LastError = &run.Problem{Code: s.Question.Reason}
	}
	return r
}

// openAsk opens a wait for a person. Its id is derived from the content and fits no other call.
func (f fold) openAsk(p run.Permission) error {
	if f.Turn == nil || f.Turn.Cut {
		return outOfTurn("a tool call %s without a turn", p.CallID)
	}
	f.Gates++
	d := run.PermissionDigest(run.ID(f.Input.ID), p, f.Gates)
	f.Asks = append(f.Asks, Ask{ApprovalID: fmt.Sprintf("apr-%d-%.12s", f.Gates, d), Digest: d, Permission: p, Since: f.now})
	return nil
}

func (f fold) withdrawAsk(call string) {
	f.Asks = slices.DeleteFunc(f.Asks, func(a Ask) bool { return a.Permission.CallID == call })
}

// keepDecision keeps the decision until the agent gets it. The permit lets the call through when the
// agent makes it again in a later process.
func (f fold) keepDecision(d run.Decision) error {
	if err := f.CheckDecision(d); err != nil {
		return outOfTurn("%v", err)
	}
	a := f.pendingAsk(d.ApprovalID)
	a.Decided = &d
	p := a.Permission
	f.Permits = append(f.Permits, run.Permit{
		CallID: p.CallID, Tool: p.Tool, Digest: p.Digest, Allow: d.Decision == run.Approve, Session: d.Session, Reason: display.Clip(d.Reason, 300),
	})
	for len(f.Permits) > maxPermits {
		before := f.Permits[:len(f.Permits)-1] // the agent does not know the last one
		oldest := max(0, slices.IndexFunc(before, func(p run.Permit) bool { return !p.Session }))
		f.Permits = slices.Delete(f.Permits, oldest, oldest+1)
	}
	return nil
}

// removeDecided removes a decided ask: the agent got the decision.
func (f fold) removeDecided(e DecisionSent) error {
	i := slices.IndexFunc(f.Asks, func(a Ask) bool { return a.ApprovalID == e.ApprovalID && a.Decided != nil })
	if i < 0 {
		return outOfTurn("approval %s is not decided", e.ApprovalID)
	}
	f.Asks = slices.Delete(f.Asks, i, i+1)
	return nil
}

// dropAsks removes the asks of an earlier process when its turn continues: the message has the
// decisions, and the agent makes its calls again.
func (f fold) dropAsks() { f.Asks = nil }

// dropUsedPermits removes the permits for single calls at the end of a turn.
func (f fold) dropUsedPermits() {
	f.Permits = slices.DeleteFunc(f.Permits, func(p run.Permit) bool { return !p.Session })
}

// OwesQuestion reports whether a budget is used up and no person is asked about it. A message asks at its end; the end of a
// delivery and a question that was answered with stop leave it.
func (s *Snapshot) OwesQuestion() bool { return s.Question == nil && s.isUsedUp() && !s.isLeaving() }

// isUsedUp reports whether nothing of a budget is left.
func (s *Snapshot) isUsedUp() bool {
	tokens, cost := s.Left()
	return tokens < 0 || cost < 0
}

// CheckBudget returns why no delivery may begin: what it used would be beyond the budgets. It returns nil if one may.
func (s *Snapshot) CheckBudget() error {
	switch {
	case s.Question != nil:
		return errors.New("a budget of the session is used up: raise it with starter session decide")
	case s.isUsedUp():
		return errors.New("a budget of the session is used up: send a message, and the session asks for a new budget")
	}
	return nil
}

func (f fold) budgetAsked() error {
	if !f.OwesQuestion() {
		return outOfTurn("no budget to ask about")
	}
	f.askForBudget()
	return nil
}

// askForBudget asks about a budget that is used up.
func (f fold) askForBudget() {
	if f.Question != nil || !f.isUsedUp() {
		return
	}
	_, q := f.budget().BudgetOverrun(run.Usage{})
	q.NeededInput[1] = "stop, to stop the session"
	f.Gates++
	f.Question = &Question{ID: "qst-" + strconv.Itoa(f.Gates), Question: q, Since: f.now}
}

// takeReply raises the budget, or stops the session.
func (f fold) takeReply(r run.Reply) error {
	if err := f.CheckReply(r); err != nil {
		return outOfTurn("%v", err)
	}
	raise, _ := f.budget().ParseBudget(r)
	f.Question = nil
	if raise.Stop {
		return f.stopSession(r.By, false)
	}
	if raise.MaxTokens > 0 {
		f.Input.MaxTokens = raise.MaxTokens
	}
	if raise.MaxCost > 0 {
		f.Input.MaxCost = raise.MaxCost
	}
	f.askForBudget() // the other budget may be used up as well
	return nil
}
