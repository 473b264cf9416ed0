package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/workflows"
	"github.com/ratchet-dev/ratchet/workflows/page"
)

// The keys of the memos that lists show: the first line of the goal, the sandbox policy of a run
// without the box, the local user who started it, and the session whose agent did.
const (
	goalMemo    = "goal"
	sandboxMemo = "sandbox"
	byMemo      = "by"
	sessionMemo = "session"
)

// maxSummary is well below the Web UI's limit of 400 bytes.
const maxSummary = 100

// Start starts a run. The error is an *ExistsError when another run ever had the id. Two
// starts with one id make one run, even when they happen at once.
func (c *Client) Start(ctx context.Context, in run.Input) error {
	in.Repository.Path = cmp.Or(c.repository, in.Repository.Path)
	o := c.startOptions(in, run.Created)
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	return c.startWorkflow(ctx, in.RunID, o, workflows.RunInput{Input: &in})
}

// MayResume returns an ExistsError if the engine has an open workflow of the run. A run whose
// workflow has ended is in its record as it ended.
func (c *Client) MayResume(ctx context.Context, id run.ID) error {
	e, err := c.Describe(ctx, id)
	if _, unknown := errors.AsType[*NotFoundError](err); unknown {
		return nil
	}
	if err == nil && e.Open {
		return &ExistsError{id}
	}
	return err
}

// Resume continues a run that is not open in the engine. The error is an *ExistsError when the
// run is open.
func (c *Client) Resume(ctx context.Context, s *run.Snapshot) error {
	o := c.startOptions(s.Input, s.State.Status)
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	return c.startWorkflow(ctx, s.Input.RunID, o, workflows.RunInput{Snapshot: s})
}

func (c *Client) startWorkflow(ctx context.Context, id run.ID, o client.StartWorkflowOptions, in workflows.RunInput) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	_, err := c.temporal.ExecuteWorkflow(ctx, o, workflows.Run, in)
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return &ExistsError{id}
	}
	if err != nil {
		return fmt.Errorf("start run %s: %w", id, temporalclient.ExplainMissing(err))
	}
	return nil
}

func (c *Client) startOptions(in run.Input, status run.Status) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{
		attribute.Title().ValueSet(titleOf(in)),
		attribute.Status().ValueSet(string(status)),
		attribute.Repository().ValueSet(in.Repository.Shown()),
	}
	if in.Name != "" {
		attributes = append(attributes, attribute.Name().ValueSet(string(in.Name)))
	}
	return client.StartWorkflowOptions{
		ID:                                       in.RunID.WorkflowID(),
		TaskQueue:                                c.queueOf(in),
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true,
		StaticSummary:                            page.OfLine(titleOf(in)),
		Memo:                                     c.memoOf(in),
		TypedSearchAttributes:                    temporal.NewSearchAttributes(attributes...),
	}
}

// queueOf returns the task queue of a run: that of the hosts with the bucket, unless the run is bound to one.
func (c *Client) queueOf(in run.Input) string {
	if in.Repository.URL != "" && !c.pinned && temporalclient.OfOneHost(c.queue) && rundir.Bucket(c.RunsDir) != nil {
		return temporalclient.PoolOf(in.Sandbox)
	}
	return c.queue
}

// titleOf returns the line by which the Web UI shows a run.
func titleOf(in run.Input) string {
	if in.Name == "" {
		return firstLine(in.Goal)
	}
	return string(in.Name) + " · " + firstLine(in.Goal)
}

func (c *Client) memoOf(in run.Input) map[string]any {
	m := map[string]any{goalMemo: firstLine(in.Goal)}
	if in.Sandbox.Off() {
		m[sandboxMemo] = in.Sandbox
	}
	if in.Session != "" {
		m[sessionMemo] = in.Session
	}
	if c.By != "" {
		m[byMemo] = c.By
	}
	return m
}

func firstLine(goal string) string {
	return display.OneLine(display.FirstLine(goal), maxSummary)
}
