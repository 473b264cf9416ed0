package session

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/workflows/message"
)

// The names of the messages of a session. Approvals and answers have the names and the form that a run's
// have, each as a signal and as an update.
const (
	SayUpdate       = activities.SayUpdate // session.Message
	InterruptUpdate = "interrupt"          // By
	StopUpdate      = "stop"               // By
	RetireUpdate    = "retire"             // By
	ChooseUpdate    = "choose"             // Choosing; returns Chosen
	DiffUpdate      = "diff"               // returns run.Ref
	ApprovalMessage = "approval"           // run.Decision
	AnswerMessage   = "answer"             // run.Reply
	StateQuery      = "state"              // session.Snapshot
)

// By names who sends a message.
type By struct {
	By string `json:"by,omitempty"`
}

// Choosing changes the sticky choice of model and mode, from the next turn on.
type Choosing struct {
	setup.Change
	By string `json:"by,omitempty"`
}

// Chosen is the sticky choice now. Later says that a turn is in progress, which ends by the choice it began with.
type Chosen struct {
	setup.Choice
	Later bool `json:"later,omitempty"`
}

// Taken is the result of an update that the session takes.
type Taken struct {
	Session session.ID `json:"session"`
	ID      string     `json:"id,omitempty"` // of the message, the approval or the question
}

// RefusedError is the type of the error of an update that the session refuses after it looked.
const RefusedError = "Refused"

func (r *runner) registerHandlers(ctx workflow.Context) error {
	r.reports = workflow.GetSignalChannel(ctx, activities.ReportSignal)
	inbox := message.NewInbox(ctx, r.refuseSignal)
	inbox.AddReceive(r.reports, func(workflow.ReceiveChannel, bool) { r.drainReports(r.ctx) })
	err := errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, StateQuery, func() (session.Snapshot, error) { return *r.s, nil },
			workflow.QueryHandlerOptions{Description: "the session: its state, its last messages, what it waits for"}),
		setUpdate(ctx, SayUpdate, `{"id":"...","text":"...","by":"...","override":{"model":"...","mode":"..."}}`,
			func(m session.Message) error { return r.s.CheckMessage(m) }, r.takeMessage),
		setUpdate(ctx, InterruptUpdate, "ends the current turn", r.checkTurn, r.interruptTurn),
		setUpdate(ctx, StopUpdate, "ends the agent's process; the next message starts it again", r.checkOpen, r.stopSession),
		setUpdate(ctx, RetireUpdate, "ends the session for good", r.checkLeave, r.leaveSession),
		setUpdate(ctx, ChooseUpdate, `{"model":"...","mode":"...","by":"..."}`, r.checkChoice, r.changeChoice),
		setUpdate(ctx, DiffUpdate, "what the session has changed in its checkout", r.checkOpen, r.diffCheckout),
		message.Register(ctx, inbox, message.Kind[run.Decision, Taken]{
			Name: ApprovalMessage, Form: `{"approvalId":"...","decision":"approve|reject","by":"...","reason":"...","final":false,"session":false}`,
			Check: func(d run.Decision) error { return r.s.CheckDecision(d) }, Parse: run.ParseDecision, Take: r.takeDecision,
		}),
		message.Register(ctx, inbox, message.Kind[run.Reply, Taken]{
			Name: AnswerMessage, Form: `{"questionId":"...","text":"...","by":"..."}`,
			Check: func(a run.Reply) error { return r.s.CheckReply(a) }, Parse: run.ParseReply, Take: r.takeReply,
		}),
	)
	served, _ := workflow.NewDisconnectedContext(ctx)
	inbox.Serve(served)
	return err
}

func (r *runner) takeDecision(d run.Decision) Taken {
	r.applyEvent(r.ctx, session.Decided{Decision: d})
	return r.taken(d.ApprovalID)
}

func (r *runner) takeReply(a run.Reply) Taken {
	r.applyEvent(r.ctx, session.Answered{Reply: a})
	return r.taken(a.QuestionID)
}

func setUpdate[M, R any](ctx workflow.Context, name, form string, check func(M) error, take func(workflow.Context, M) (R, error)) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, take, workflow.UpdateHandlerOptions{Validator: check, Description: form})
}

// refuseSignal keeps why a signal is dropped, for the queries and the Web UI.
func (r *runner) refuseSignal(ctx workflow.Context, name string, why error) {
	r.log.Warn("signal dropped", "signal", name, "reason", why.Error())
	r.s.RefusedSignals = run.AddRefused(r.s.RefusedSignals, workflow.Now(ctx), name, why)
	r.showState(r.ctx)
}

// drainReports folds in the reports that have come.
func (r *runner) drainReports(ctx workflow.Context) {
	for {
		var rep session.Report
		if !r.reports.ReceiveAsync(&rep) {
			return
		}
		switch {
		case !r.applyEvent(ctx, rep):
		case rep.Ready != nil:
			r.attachProcess(ctx)
		case rep.Ended != nil && r.s.OwesQuestion():
			r.applyEvent(ctx, session.BudgetAsked{})
		case rep.Observation != nil:
			r.deliveries.Observe(ctx, observationOf(rep.Epoch, *rep.Observation))
		}
	}
}

func (r *runner) taken(id string) Taken { return Taken{Session: r.s.Input.ID, ID: id} }

func (r *runner) takeMessage(ctx workflow.Context, m session.Message) (Taken, error) {
	r.applyEvent(ctx, session.Said{Message: m})
	return r.taken(m.ID), nil
}

func (r *runner) checkOpen(b By) error { return r.s.CheckSender(b.By) }

func (r *runner) checkChoice(c Choosing) error {
	if err := r.s.CheckSender(c.By); err != nil {
		return err
	}
	return r.s.CheckChange(c.Change)
}

// changeChoice changes the sticky choice. An agent without a turn is ended, and resumed by the choice when it is needed.
func (r *runner) changeChoice(ctx workflow.Context, c Choosing) (Chosen, error) {
	r.applyEvent(ctx, session.Chosen{Change: c.Change})
	chosen := r.s.Input.Choice()
	return Chosen{chosen, r.s.Turn != nil}, workflow.UpsertMemo(ctx, map[string]any{session.ModelMemo: chosen.Model})
}

// checkLeave refuses to end a session for good while a delivery waits for its end or for a person.
func (r *runner) checkLeave(b By) error {
	if err := r.checkOpen(b); err != nil {
		return err
	}
	return r.deliveries.MustStay()
}

func (r *runner) checkTurn(b By) error {
	if err := r.checkOpen(b); err != nil {
		return err
	}
	if r.s.Turn == nil {
		return session.ErrIdle
	}
	return nil
}

var errNotBegun = errors.New("the agent is about to begin the turn, or has just ended it: interrupt it again in a moment")

// interruptTurn ends the turn. A turn that was cut off is dropped and not resumed.
func (r *runner) interruptTurn(ctx workflow.Context, _ By) (Taken, error) {
	id := r.s.Turn.ID
	if r.applyEvent(ctx, session.TurnDropped{}) {
		return r.taken(id), nil
	}
	done, err := r.callOwner(ctx, owner.Interrupt, activities.ProcessRef{Session: r.s.Input.ID, Epoch: r.s.Epochs}, "Interrupt the turn")
	switch {
	case err != nil || done:
	case r.s.Turn != nil && r.s.Turn.ID == id:
		err = errNotBegun
	default:
		err = session.ErrIdle
	}
	if err != nil {
		return Taken{}, temporal.NewNonRetryableApplicationError(err.Error(), RefusedError, err)
	}
	return r.taken(id), nil
}

func (r *runner) stopSession(ctx workflow.Context, b By) (Taken, error) {
	r.applyEvent(ctx, session.StopAsked{By: b.By})
	return r.taken(""), nil
}

func (r *runner) leaveSession(ctx workflow.Context, b By) (Taken, error) {
	r.applyEvent(ctx, session.RetireAsked{By: b.By})
	return r.taken(""), nil
}

// diffCheckout returns the diff of the checkout as it is now.
func (r *runner) diffCheckout(ctx workflow.Context, _ By) (run.Ref, error) {
	var ref run.Ref
	err := workflow.ExecuteActivity(readingActivity(ctx), acts.Diff, r.s.Input).Get(ctx, &ref)
	return ref, err
}
