package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// mismatch holds the question about a record that knows more than the workflow that writes it. That
// happens when the engine's database was put back to an older copy. The later work of the run is in
// its directory and on its branch, but not in the workflow's history. The workflow would do that work
// again and replace the later events with its own. The record detects a mismatch by the execution that
// has written its events (see rundir.Ahead). Late attempts and resets do not look like one.
//
// A mismatch is no event. The record must stay unchanged until it is resolved, because the run
// can be resumed from it.
type mismatch struct {
	id       string
	question run.Question
	reply    *run.Reply
}

// isAnsweredBy reports whether the reply answers the question of the mismatch. It returns false for a
// nil mismatch.
func (m *mismatch) isAnsweredBy(a run.Reply) bool { return m != nil && m.id == a.QuestionID }

// resolveMismatch waits until a person lets the run continue from the state of the workflow. A
// cancellation of the run ends the wait and leaves the record unchanged.
func (r *runner) resolveMismatch(ctx workflow.Context, a rundir.Ahead) error {
	if r.mismatch == nil {
		r.mismatch = &mismatch{id: fmt.Sprintf("qst-record-%d", r.s.Seq), question: aboutRecord(r.s.Input.RunID, a)}
		r.log.Warn("the record is ahead of the workflow", "events", a.Events, "last", a.Last)
		r.updateUI(ctx)
	}
	m := r.mismatch
	err := workflow.Await(ctx, func() bool { return m.reply != nil || r.root.Err() != nil })
	if err == nil && m.reply == nil { // ctx outlives the context of the run, which is canceled
		err = r.root.Err()
	}
	if err == nil && r.mismatch == m {
		r.mismatch = nil
		r.updateUI(ctx)
	}
	return err
}

func aboutRecord(id run.ID, a rundir.Ahead) run.Question {
	return run.Question{
		Question: fmt.Sprintf("The record of this run has %d events that its workflow lacks, the last %s (%s) of %s: the engine's database seems to be an older copy. How should the run continue?",
			a.Events, a.Last, a.Type, page.FormatTime(a.At)),
		Reason: run.CodeAhead,
		NeededInput: []string{
			"any text continues from the state of the workflow: the later events are set aside in the run's directory, and their work may be done and paid for again",
			fmt.Sprintf("to continue from the record instead, cancel the run and resume it from its directory: starter cancel %s, then starter resume %s; nothing is done again", id, id),
		},
	}
}

// visibleSnapshot returns the snapshot that queries and the Web UI show. While a mismatch is open, it
// shows a run that waits for the answer to the mismatch.
func (r *runner) visibleSnapshot() *run.Snapshot {
	if r.mismatch == nil || r.s.State.Status.Terminal() {
		return r.s
	}
	s := *r.s
	s.State.Status = run.AwaitingInput
	s.State.PendingApprovalID, s.State.PendingQuestionID = "", r.mismatch.id
	s.State.LastError = &run.Problem{Code: run.CodeAhead, Message: r.mismatch.question.Question}
	s.Approval, s.Question, s.Recheck = nil, &r.mismatch.question, false
	return &s
}
