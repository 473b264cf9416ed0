package forge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/format"
	"github.com/ratchet-dev/ratchet/workflows/notify"
)

// TicketID returns the id of the workflow of an issue. There is one for ever.
func TicketID(t activities.Ticket) string { return "ticket-" + strings.ToLower(t.Name()) }

// The messages of a ticket.
const (
	TicketQuery   = "ticket"  // its ticket.State
	ChangedSignal = "changed" // of the watch: look at the server
	AnswerSignal  = "answer"  // of a person: an Answer
)

// Answer is what a person says to a ticket's question.
type Answer struct {
	// Text is "retry" or "continue"; the next run gets any other text as a note.
	Text string `json:"text"`
	// Key names the question; empty: the one that there is.
	Key string `json:"key,omitempty"`
}

// TicketInput is the input of Ticket.
type TicketInput struct {
	Format format.Stamp `json:"format"`
	activities.Ticket
	Bounds ticket.Bounds `json:"bounds"`
	State  ticket.State  `json:"state"` // to go on from
}

const (
	// rejoin bounds the wait for a signal of a watch that an operator may have ended.
	rejoin = 4 * 24 * time.Hour
	// maxHistory is the number of events after which a wait begins in another execution.
	maxHistory = 120
)

// work is a ticket that is being worked on.
type work struct {
	in      TicketInput
	s       *ticket.State
	changes workflow.ReceiveChannel
	answers workflow.ReceiveChannel
	changed bool       // a signal has come since the last look
	said    string     // the text of the comment
	shown   run.Status // the search attribute
	seen    []string   // keys of the feedback of the last look
	notices notify.Outbox
}

// Ticket brings an issue to a merged pull request: a run, its pull request, and further runs on the same branch for failed
// checks and reviews, until it is merged or closed, or a bound is reached. Each end is a result. It fails only if it
// cannot begin, so that the user can ask for it again.
func Ticket(ctx workflow.Context, in TicketInput) (ticket.State, error) {
	in.Format.Check()
	w := &work{in: in, s: &in.State, changes: workflow.GetSignalChannel(ctx, ChangedSignal), answers: workflow.GetSignalChannel(ctx, AnswerSignal)}
	if err := workflow.SetQueryHandler(ctx, TicketQuery, func() (ticket.State, error) { return *w.s, nil }); err != nil {
		return *w.s, err
	}
	for w.s.Step != ticket.Over {
		err := w.step(ctx)
		switch {
		case workflow.IsContinueAsNewError(err), err != nil && w.s.Step == ticket.Beginning && w.s.Run == "":
			return *w.s, err
		case temporal.IsCanceledError(err) || ctx.Err() != nil:
			w.finish(ticket.Stopped, "")
		case err != nil:
			if w.s.Step != ticket.Waiting {
				w.s.Since = workflow.Now(ctx)
			}
			w.ask("stuck:"+string(w.s.Step), report.ProblemOf(err).Message)
		}
		if w.s.Question != nil && w.s.Step != ticket.Waiting && w.s.Step != ticket.Over {
			w.say(ctx)
			w.sendNotice(ctx)
			w.show(ctx)
			if err := w.await(ctx, w.patienceEnd(), false); temporal.IsCanceledError(err) {
				w.finish(ticket.Stopped, "")
			}
		}
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	w.say(ctx)
	w.sendNotice(ctx)
	w.notices.Flush(ctx)
	if w.s.Pull > 0 {
		info := workflow.GetInfo(ctx)
		_ = workflow.SignalExternalWorkflow(ctx, WatchID(w.in.Repository, info.TaskQueueName), "", LeaveSignal, info.WorkflowExecution.ID).Get(ctx, nil) // it may be gone
	}
	return *w.s, nil
}

// step does what the state says. Its error is asked about, and the step is done again.
func (w *work) step(ctx workflow.Context) error {
	switch w.s.Step {
	case ticket.Beginning:
		return w.freeze(ctx)
	case ticket.Starting:
		return w.start(ctx)
	case ticket.Running:
		return w.run(ctx)
	case ticket.Opening:
		return w.open(ctx)
	case ticket.Merging:
		return w.merge(ctx)
	}
	return w.wait(ctx)
}

func (w *work) freeze(ctx workflow.Context) error {
	var out activities.Frozen
	if err := workflow.ExecuteActivity(acting(ctx, 5*time.Minute), acts.FreezeIssue, w.in.Ticket).Get(ctx, &out); err != nil {
		return err
	}
	w.s.Title, w.s.Digest, w.s.Since = out.Title, out.Digest, workflow.Now(ctx)
	w.s.Step = ticket.Starting
	if w.s.Pull > 0 {
		w.s.Step = ticket.Waiting
		return w.join(ctx)
	}
	return nil
}

func (w *work) start(ctx workflow.Context) error {
	var out activities.Begun
	in := activities.Round{Ticket: w.in.Ticket, State: *w.s, Name: workflow.GetInfo(ctx).WorkflowExecution.ID, Feedback: w.seen}
	if err := workflow.ExecuteActivity(acting(ctx, 24*time.Hour), acts.StartRound, in).Get(ctx, &out); err != nil {
		return err
	}
	if out.RunID == "" { // what was asked for is done
		w.s.Step = ticket.Waiting
		return nil
	}
	if w.s.Pull > 0 {
		w.s.Rounds++
	}
	w.s.Runs++
	w.s.Run, w.s.Name, w.s.Note = out.RunID, out.Name, ""
	w.s.Start, w.s.Conflicts = "", nil
	w.s.Delivered = append(w.s.Delivered, out.Delivered...)
	w.s.Step = ticket.Running
	w.say(ctx)
	w.show(ctx)
	return nil
}

func (w *work) run(ctx workflow.Context) error {
	waiting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumInterval: report.LookInterval},
	})
	var end activities.RoundEnd
	if err := workflow.ExecuteActivity(waiting, acts.AwaitRound, w.s.Run).Get(ctx, &end); err != nil {
		if temporal.IsCanceledError(err) {
			ctx, _ := workflow.NewDisconnectedContext(ctx)
			_ = workflow.RequestCancelExternalWorkflow(ctx, w.s.Run.WorkflowID(), "").Get(ctx, nil)
		}
		return err
	}
	w.s.Spent += end.Cost
	switch {
	case end.Problem != "":
		w.s.Step, w.s.Since = ticket.Starting, workflow.Now(ctx)
		w.ask("stuck:run", end.Problem+"; retry starts another run from its last commit, and a text is its note")
	case end.Commits > 0:
		w.s.Step = ticket.Opening
		if w.s.Branch == "" {
			w.s.Branch = end.Branch
		}
	case w.s.Pull == 0:
		w.finish(ticket.Unchanged, "the run changed nothing")
	default:
		w.s.Step = ticket.Waiting
	}
	return nil
}

func (w *work) open(ctx workflow.Context) error {
	var out Result
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: WorkflowID(w.s.Run), StaticSummary: "Pull request of run " + string(w.s.Run)})
	if err := workflow.ExecuteChildWorkflow(child, PullRequest, w.target()).Get(ctx, &out); err != nil {
		return err
	}
	w.s.Pull, w.s.URL, w.s.Head, w.s.Delivered = out.Number, out.URL, out.Head, nil
	w.s.Marked, w.s.Merged = nil, ""
	if out.Merged {
		w.finish(ticket.Merged, "")
		return nil
	}
	w.s.Step, w.s.Since = ticket.Waiting, workflow.Now(ctx)
	w.say(ctx)
	return w.join(ctx)
}

// target names the last run, and where its branch goes.
func (w *work) target() activities.Target {
	return activities.Target{RunID: w.s.Run, Remote: w.in.Remote, Base: w.in.Into, Branch: w.s.Branch, Closes: w.in.Issue, Reviews: w.in.Bounds.Reviews}
}

// mark sets the status of the head anew, with the approvals of the server.
func (w *work) mark(ctx workflow.Context) error {
	t := w.target()
	t.Approvers, t.Merged = w.s.Approvers, w.s.Merged
	err := workflow.ExecuteActivity(acting(ctx, time.Hour), acts.SetStatus, t, activities.Pushed{Repository: w.in.Repository, Branch: w.s.Branch, Head: w.s.Head}).Get(ctx, nil)
	if err == nil {
		w.s.Marked = w.s.Approvers
	}
	return err
}

// merge merges the base branch into the ticket's. A merge without conflicts is pushed, or the next run begins at it. One with
// conflicts is the beginning of a run that resolves them.
func (w *work) merge(ctx workflow.Context) error {
	var out activities.Joined
	in := activities.Basis{Ticket: w.in.Ticket, Pull: w.s.Pull, Branch: w.s.Branch, Head: w.s.Head, Push: !w.s.Round}
	if err := workflow.ExecuteActivity(acting(ctx, 24*time.Hour), acts.MergeBase, in).Get(ctx, &out); err != nil {
		return err
	}
	key := ticket.ConflictKey(w.s.Head)
	blocked := out.Problem
	if len(out.Conflicts) > 0 {
		if why := w.s.Exhausted(w.in.Bounds); why != "" {
			blocked = fmt.Sprintf("both have changed the same lines of %s, and %s", strings.Join(out.Conflicts, ", "), why)
		}
	}
	w.s.Step = ticket.Waiting
	switch {
	case blocked != "" && (w.s.Round || slices.Contains(w.s.Answered, key)): // the run begins without the base
		w.s.Step = ticket.Starting
	case blocked != "":
		w.s.Blocked = &ticket.Question{Key: key, Text: fmt.Sprintf("%s cannot be merged into the branch: %s; merge it by hand, or answer continue to leave it to the people who merge", out.Base, blocked)}
	case len(out.Conflicts) > 0:
		w.s.Start, w.s.Conflicts, w.s.Step = out.Commit, out.Conflicts, ticket.Starting
	case w.s.Round:
		w.s.Start, w.s.Step = out.Commit, ticket.Starting
	case out.Commit == "": // the server has not looked yet, or it means something else
		w.s.Answered = append(w.s.Answered, key)
	default:
		w.s.Start, w.s.Head, w.s.Merged, w.s.Approvers, w.s.Since = out.Commit, out.Commit, out.Base, nil, workflow.Now(ctx)
		w.s.Round = false
		return w.mark(ctx)
	}
	w.s.Round = false
	return nil
}

// join asks the watch for signals. The first comes soon, so that nothing is missed that has changed before.
func (w *work) join(ctx workflow.Context) error {
	e := activities.WatchEntry{Repository: w.in.Repository}
	e.Ticket, e.Issue, e.Pull, e.Votes = workflow.GetInfo(ctx).WorkflowExecution.ID, w.in.Issue, w.s.Pull, w.in.Bounds.Reviews > 0
	return workflow.ExecuteActivity(acting(ctx, time.Hour), acts.JoinWatch, e).Get(ctx, nil)
}

// at returns the input of the execution that continues from a state.
func (in TicketInput) at(s ticket.State) TicketInput {
	in.State = s
	return in
}
