// Package runs is the client's side of runs, for the commands of starter and for the review page. It starts and
// finds runs, queries their state and sends them messages. It makes no decisions; the workflow does.
package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Client reaches the runs of one Temporal namespace.
type Client struct {
	// Namespace is that of the connection; empty: the default.
	Namespace string
	// RunsDir holds the names and the records of this host's runs; empty: this host has no runs directory.
	RunsDir string
	// Here returns the label of the repository that the caller is in; empty: none. A number alone is
	// one of its runs. A nil Here returns none.
	Here func(context.Context) string
	// MayDecide returns the reason why this process may not settle, guide or end a run. A
	// nil MayDecide permits it.
	MayDecide func() error
	// By is the local user who starts runs, for lists; empty: they do not say.
	By string

	temporal   client.Client
	queue      string
	repository string // see OfHost; empty: on the repository of the input
	pinned     bool   // see OfHost
}

// New returns a client of the runs that workers on the task queue serve.
func New(c client.Client, queue string) *Client { return &Client{temporal: c, queue: queue} }

// Temporal returns the connection of the client.
func (c *Client) Temporal() client.Client { return c.temporal }

// Errors that callers tell apart.
var (
	// ErrNoWorker reports a run that no worker serves. The engine has the run, but a worker
	// computes the answers to queries.
	ErrNoWorker = errors.New("no worker answers: start one with `starter up` or `worker`")
	// ErrOver reports a message to a run that has ended.
	ErrOver = errors.New("is over")
	// ErrPaused reports a run whose workflow an operator has paused: the engine answers nothing for it, and takes no message.
	ErrPaused = errors.New("it is paused in the engine: unpause its workflow in the Web UI, or with `temporal workflow unpause`")
)

// NotFoundError reports a name that no run has.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no run %q: see `starter list`", e.Name)
}

// ExistsError reports a run id that is already taken.
type ExistsError struct{ ID run.ID }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("run %s already exists: follow it with `starter watch %s`, or use another --id", e.ID, e.ID)
}

// RefusedError reports that the run itself refused a message. The run did not change.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Lost reports whether the error means that the engine does not answer.
func Lost(err error) bool {
	if errors.Is(err, ErrNoWorker) {
		return false
	}
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	return unavailable || late || errors.Is(err, context.DeadlineExceeded)
}

// Limits of each call to the engine, and of each call to a worker through it.
const (
	callTimeout  = 5 * time.Second
	queryTimeout = 8 * time.Second
)

// Result waits for the end of the run and returns how it ended. It needs no worker. An error
// other than the context's means that the workflow ended outside of the contract: it was
// terminated, or refused at the start.
func (c *Client) Result(ctx context.Context, id run.ID) (workflows.RunResult, error) {
	var res workflows.RunResult
	err := c.temporal.GetWorkflow(ctx, id.WorkflowID(), "").Get(ctx, &res)
	if err == nil {
		return res, nil
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok && app.Type() == workflows.RunFailedError {
		return res, app.Details(&res)
	}
	if canceled, ok := errors.AsType[*temporal.CanceledError](err); ok && canceled.HasDetails() {
		return res, canceled.Details(&res)
	}
	return res, fmt.Errorf("run %s: %w", id, err)
}

// Decide sends a decision about an approval. The run itself accepts or refuses it. For an edit Decide waits until the run has
// looked whether the patch applies.
func (c *Client) Decide(ctx context.Context, id run.ID, d run.Decision) error {
	if d.Decision != run.Edit {
		return c.sendMessage(ctx, id, workflows.ApprovalMessage, d)
	}
	before, err := c.Pending(ctx, id)
	if err != nil {
		return err
	}
	if err := c.sendMessage(ctx, id, workflows.ApprovalMessage, d); err != nil {
		return err
	}
	for {
		now, err := c.Pending(ctx, id)
		if err != nil {
			return err
		}
		if r := lastRefused(now); r != lastRefused(before) {
			return &RefusedError{r.Reason}
		}
		if now.Approval == nil || before.Approval == nil || now.Approval.ApprovalID != before.Approval.ApprovalID {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(editPoll):
		}
	}
}

// editPoll is how often a run is asked whether it has taken an edit.
const editPoll = 100 * time.Millisecond

// lastRefused returns the last decision that a run has refused.
func lastRefused(p run.Pending) (last run.RefusedSignal) {
	for _, r := range p.RefusedSignals {
		if r.Signal == workflows.ApprovalMessage {
			last = r
		}
	}
	return last
}

// Reply answers a question.
func (c *Client) Reply(ctx context.Context, id run.ID, r run.Reply) error {
	return c.sendMessage(ctx, id, workflows.AnswerMessage, r)
}

// Note leaves guidance for the next prompt.
func (c *Client) Note(ctx context.Context, id run.ID, n run.Note) error {
	return c.sendMessage(ctx, id, workflows.NoteMessage, n)
}

// NoteOnce leaves guidance for the next prompt. Calls with the same name leave one note.
func (c *Client) NoteOnce(ctx context.Context, id run.ID, once string, n run.Note) error {
	return c.sendUpdate(ctx, id, client.UpdateWorkflowOptions{UpdateID: once, UpdateName: workflows.NoteMessage, Args: []any{n}})
}

// Move has the run continue on another task queue, after the step in progress.
func (c *Client) Move(ctx context.Context, id run.ID, queue string) error {
	return c.sendMessage(ctx, id, workflows.MoveMessage, run.Move{Queue: queue})
}

func (c *Client) mayDecide() error {
	if c.MayDecide == nil {
		return nil
	}
	return c.MayDecide()
}

func (c *Client) sendMessage(ctx context.Context, id run.ID, name string, message any) error {
	return c.sendUpdate(ctx, id, client.UpdateWorkflowOptions{UpdateName: name, Args: []any{message}})
}

// sendUpdate sends a message and waits until the run has accepted or refused it.
func (c *Client) sendUpdate(ctx context.Context, id run.ID, o client.UpdateWorkflowOptions) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	o.WorkflowID = id.WorkflowID()
	err := Update(ctx, c.temporal, o, nil)
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return c.lateError(context.WithoutCancel(ctx), id)
	}
	if _, refused := errors.AsType[*RefusedError](err); refused || err == nil {
		return err
	}
	return fmt.Errorf("send the %s to run %s: %w", o.UpdateName, id, c.unansweredError(ctx, id, err))
}

// Update sends an update and waits for its result, which out receives unless it is nil. The error is a *RefusedError where
// the workflow itself refuses it.
func Update(ctx context.Context, c client.Client, o client.UpdateWorkflowOptions, out any) error {
	o.WaitForStage = client.WorkflowUpdateStageCompleted
	handle, err := c.UpdateWorkflow(ctx, o)
	if err == nil {
		err = handle.Get(ctx, out)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return &RefusedError{app.Message()}
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	return err
}

// lateError returns the error of a message that came too late or that names no run.
func (c *Client) lateError(ctx context.Context, id run.ID) error {
	e, err := c.Describe(ctx, id)
	if err != nil {
		return c.forgottenError(id, err)
	}
	return overError(e.Name, id, e.Status)
}

// forgottenError returns err, or the error of a run that is over if the engine has forgotten it.
func (c *Client) forgottenError(id run.ID, err error) error {
	if s := c.endedRecord(id, err); s != nil {
		return overError(rundir.FactsOf(s).Name, id, s.State.Status)
	}
	return err
}

func overError(name run.Name, id run.ID, status run.Status) error {
	return fmt.Errorf("%s %w: it is %s", name.Shown(id), ErrOver, status)
}

// Cancel asks the run to end. It does not wait for the end.
func (c *Client) Cancel(ctx context.Context, id run.ID) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	e, err := c.Describe(ctx, id)
	if err != nil {
		return c.forgottenError(id, err)
	}
	if !e.Open {
		return overError(e.Name, id, e.Status)
	}
	err = c.temporal.CancelWorkflow(ctx, id.WorkflowID(), "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return c.lateError(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	return nil
}

// Served reports whether a worker has asked for work lately.
func (c *Client) Served(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	queue, err := c.temporal.DescribeTaskQueue(ctx, c.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return false, fmt.Errorf("look for workers of task queue %s: %w", c.queue, err)
	}
	return len(queue.GetPollers()) > 0, nil
}

const servedPoll = 100 * time.Millisecond

// AwaitServed calls Served until a worker has asked for work or patience has passed. It serves
// callers that a worker which is just starting should not refuse.
func (c *Client) AwaitServed(ctx context.Context, patience time.Duration) (bool, error) {
	deadline := time.Now().Add(patience)
	for {
		served, err := c.Served(ctx)
		if served || err != nil || time.Now().After(deadline) {
			return served, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(servedPoll):
		}
	}
}
