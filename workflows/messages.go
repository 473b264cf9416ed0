package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows/message"
)

// The names of the messages of a run. Each signal has an update of the same name, which reports at once
// whether the run accepts the message.
const (
	ApprovalMessage = "approval" // run.Decision
	AnswerMessage   = "answer"   // run.Reply
	NoteMessage     = "note"     // run.Note
	MoveMessage     = "move"     // run.Move

	StateQuery   = "state"   // run.State
	EventsQuery  = "events"  // EventsInput -> EventsResult
	PendingQuery = "pending" // run.Pending
	FactsQuery   = "facts"   // rundir.Facts
)

// EventsInput asks for the events after the one with the id After. Without an id it asks for all.
type EventsInput struct {
	After string `json:"after,omitempty"`
}

// EventsResult holds the events that this execution of the workflow knows.
// First is the number of the oldest of them. It is over 1 after a continue-as-new: the
// earlier events are in the previous execution and in the run directory.
type EventsResult struct {
	Events []run.Event `json:"events"`
	First  int         `json:"first"`
}

// Accepted is the result of an update whose message the run accepts.
type Accepted struct {
	RunID run.ID `json:"runId"`
	ID    string `json:"id,omitempty"` // id of the settled approval or question
}

var errSettled = errors.New("it has been decided already")

// registerHandlers serves queries, updates and signals until the run ends.
func (r *runner) registerHandlers(ctx workflow.Context) error {
	r.inbox = message.NewInbox(ctx, r.refuseSignal)
	err := errors.Join(
		r.registerQuery(ctx, StateQuery, "the state of the run", func() (run.State, error) { return r.visibleSnapshot().State, nil }),
		r.registerQuery(ctx, PendingQuery, "what the run waits for, and how to answer", func() (run.Pending, error) { return r.visiblePending(), nil }),
		r.registerQuery(ctx, activities.NotesQuery, "the notes that no prompt has included yet", func() ([]run.Note, error) { return r.s.Notes, nil }),
		r.registerQuery(ctx, FactsQuery, "branch, commits, usage and settings", func() (rundir.Facts, error) { return rundir.FactsOf(r.s), nil }),
		r.registerQuery(ctx, EventsQuery, `all events, or those after one: {"after":"evt-000007"}`, r.eventsAfter),
		message.Register(ctx, r.inbox, message.Kind[run.Decision, Accepted]{
			Name: ApprovalMessage, Form: `{"approvalId":"...","decision":"approve|reject|edit","by":"...","reason":"...","final":false,"session":false,"files":[],"hunks":[{"file":"...","hunks":[1]}],"patch":"..."}`,
			Check: r.checkDecision, Parse: run.ParseDecision, Take: r.takeDecision,
		}),
		message.Register(ctx, r.inbox, message.Kind[run.Reply, Accepted]{
			Name: AnswerMessage, Form: `{"questionId":"...","text":"...","values":{},"retry":false,"by":"..."}`,
			Check: r.checkReply, Parse: run.ParseReply, Take: r.takeReply,
		}),
		message.Register(ctx, r.inbox, message.Kind[run.Note, Accepted]{
			Name: NoteMessage, Form: `{"text":"...","by":"..."}`,
			Check: r.s.CheckNote, Parse: run.ParseNote, Take: r.takeNote,
		}),
		message.Register(ctx, r.inbox, message.Kind[run.Move, Accepted]{
			Name: MoveMessage, Form: `{"taskQueue":"..."}`,
			Check: r.s.CheckMove, Parse: run.ParseMove, Take: func(m run.Move) Accepted { return r.takeMove(ctx, m) },
		}),
	)
	r.inbox.Serve(ctx)
	return err
}

func (r *runner) registerQuery(ctx workflow.Context, name, what string, handler any) error {
	return workflow.SetQueryHandlerWithOptions(ctx, name, handler, workflow.QueryHandlerOptions{Description: what})
}

// refuseSignal keeps why a signal is dropped, for the queries and the Web UI. It emits no event: a replay hears the
// signal again, and continue-as-new carries the list.
func (r *runner) refuseSignal(ctx workflow.Context, name string, why error) {
	r.log.Warn("signal dropped", "signal", name, "reason", why.Error())
	r.refused = run.AddRefused(r.refused, workflow.Now(ctx), name, why)
	r.showDetails(ctx)
}

func (r *runner) visiblePending() run.Pending {
	p := r.visibleSnapshot().Pending()
	p.Limited, p.RefusedSignals = r.latestLimit(), r.refused
	return p
}

func (r *runner) checkDecision(d run.Decision) error {
	if err := r.s.CheckDecision(d); err != nil {
		return err
	}
	if r.decision != nil {
		return errSettled
	}
	return nil
}

func (r *runner) takeDecision(d run.Decision) Accepted {
	r.decision = &d
	return Accepted{RunID: r.s.Input.RunID, ID: d.ApprovalID}
}

func (r *runner) checkReply(a run.Reply) error {
	if err := r.visibleSnapshot().CheckReply(a); err != nil {
		return err
	}
	if r.mismatch.isAnsweredBy(a) {
		return nil
	}
	if r.answer != nil {
		return errSettled
	}
	return nil
}

func (r *runner) takeReply(a run.Reply) Accepted {
	if r.mismatch.isAnsweredBy(a) {
		r.mismatch.reply = &a
	} else {
		r.answer = &a
	}
	return Accepted{RunID: r.s.Input.RunID, ID: a.QuestionID}
}

func (r *runner) takeNote(n run.Note) Accepted {
	r.s.AddNote(n)
	return Accepted{RunID: r.s.Input.RunID}
}

func (r *runner) eventsAfter(in EventsInput) (EventsResult, error) {
	after := run.Event{ID: in.After}.Seq()
	if in.After != "" && after == 0 {
		return EventsResult{}, errors.New(`"after" is not an event id; they look like evt-000001`)
	}
	first := r.s.Seq - len(r.events) + 1
	from := min(max(0, after-first+1), len(r.events))
	return EventsResult{Events: r.events[from:], First: first}, nil
}
