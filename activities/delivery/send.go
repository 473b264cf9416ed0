package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Sender holds the activity by which other workflows give a session a batch. Any worker serves it.
type Sender struct{}

// SendInput is a batch for a session.
type SendInput struct {
	Session string       `json:"session"`
	Batch   EnqueueInput `json:"batch"`
}

// UnknownSessionError says that there is no such session, or none that lives.
const UnknownSessionError = "SessionUnknown"

// SendToSession gives the session the batch, and returns once the session's workflow has it. A second call with the same
// batch changes nothing: batches have ids. A session that refuses the batch is an error that no retry fixes.
func (Sender) SendToSession(ctx context.Context, in SendInput) error {
	return SendBatch(ctx, activity.GetClient(ctx), in)
}

// SendBatch is SendToSession with a client of the caller's.
func SendBatch(ctx context.Context, c client.Client, in SendInput) error {
	handle, err := c.UpdateWorkflow(ctx, UpdateOf(in.Session, in.Batch, client.WorkflowUpdateStageAccepted))
	if err == nil {
		err = refusalOf(ctx, handle)
	}
	return SendError(in.Session, err)
}

// refusalOf returns the refusal that came with the handle of an update; nil if the update was accepted. A refusal is the
// update's outcome, which a handle has from the start and does not ask for. It does not wait for another outcome: the
// session may have to wake its agent first.
func refusalOf(ctx context.Context, handle client.WorkflowUpdateHandle) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	err := handle.Get(ctx, nil)
	if _, refused := errors.AsType[*temporal.ApplicationError](err); refused {
		return err
	}
	return nil
}

// UpdateOf returns the update that gives a session a batch. Its id is of the batch's id and words: a repeated call is
// one update, and other words under the same id are another, which the session refuses.
func UpdateOf(session string, p EnqueueInput, stage client.WorkflowUpdateStage) client.UpdateWorkflowOptions {
	words, _ := json.Marshal(p) // strings and bools encode without error
	return client.UpdateWorkflowOptions{
		WorkflowID: WorkflowID(session), UpdateID: fmt.Sprintf("batch-%s-%s", p.ID, run.DigestOf(words)), UpdateName: EnqueueUpdate, Args: []any{p}, WaitForStage: stage,
	}
}

// WorkflowID returns the id of a session's workflow.
func WorkflowID(session string) string { return "session-" + session }

// SendError returns the error of an update that gives a session a batch, with the code of the contract.
func SendError(session string, err error) error {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return report.Permanent(UnknownSessionError, fmt.Errorf("session_unknown: session %s does not run here: see starter session list", session))
	}
	if app, refused := errors.AsType[*temporal.ApplicationError](err); refused {
		return report.Permanent(app.Type(), errors.New(app.Message()))
	}
	return err
}
