package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// dispute is about a record that knows more than the workflow that writes it.
// That happens when the engine's database was put back to an older copy: what
// the run did since then is in its directory, and on its branch, but not in the
// workflow's history. The workflow would do it again, and put its own events in
// the place of those. The record decides by what an execution of the workflow
// has written (see rundir.Ahead); late attempts and resets do not look like it.
//
// A dispute is no event: until it is settled the record must stay as it is, for
// it is what the run can be resumed from.
type dispute struct {
	id       string
	question run.Question
	reply    *run.Reply
}

// isAnsweredBy reports whether the reply is about the dispute.
func (d *dispute) isAnsweredBy(a run.Reply) bool { return d != nil && d.id == a.QuestionID }

// settleRecord waits until somebody says that the run is to go on from where the
// workflow stands. A cancellation of the run ends the wait and leaves the record
// as it is. A run of older rules goes on without asking.
func (r *runner) settleRecord(ctx workflow.Context, a rundir.Ahead) error {
	if !r.s.Since(run.RulesAsked) {
		return nil
	}
	if r.dispute == nil {
		r.dispute = &dispute{id: fmt.Sprintf("qst-record-%d", r.s.Seq), question: aboutRecord(r.s.Input.RunID, a)}
		r.log.Warn("the record is ahead of the workflow", "events", a.Events, "last", a.Last)
		r.updateUI(ctx)
	}
	d := r.dispute
	err := workflow.Await(ctx, func() bool { return d.reply != nil || r.root.Err() != nil })
	if err == nil && d.reply == nil { // ctx outlives the run's, which is canceled
		err = r.root.Err()
	}
	if err == nil && r.dispute == d {
		r.dispute = nil
		r.updateUI(ctx)
	}
	return err
}

func aboutRecord(id run.ID, a rundir.Ahead) run.Question {
	return run.Question{
		Question: fmt.Sprintf("The record of this run knows %d events that its workflow does not, up to %s, %s, of %s: it looks as if the engine's database was put back to an older copy. How shall the run go on?",
			a.Events, a.Last, a.Type, clock(a.At)),
		Reason: run.CodeAhead,
		NeededInput: []string{
			"any answer goes on from where the workflow stands: the later events are set aside in the run's directory, and what they tell of may be done and paid again",
			fmt.Sprintf("to go on from the record instead, cancel the run and resume it from its directory: starter cancel %s, then starter resume workflows/%s; nothing is done again", id, id),
		},
	}
}

// visibleSnapshot is the snapshot as others are shown it: while a dispute is open the run
// waits for its answer.
func (r *runner) visibleSnapshot() *run.Snapshot {
	if r.dispute == nil || r.s.State.Status.Terminal() {
		return r.s
	}
	s := *r.s
	s.State.Status = run.AwaitingInput
	s.State.PendingApprovalID, s.State.PendingQuestionID = "", r.dispute.id
	s.State.LastError = &run.Problem{Code: run.CodeAhead, Message: r.dispute.question.Question}
	s.Approval, s.Doubt, s.Recheck = nil, &r.dispute.question, false
	return &s
}
