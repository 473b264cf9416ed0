package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/terminal"
	"github.com/ratchet-dev/ratchet/workflows"
)

// goalMemo is the memo that lists show; it is the first line of the goal.
const goalMemo = "goal"

// The Web UI's limits are 400 and 20,000 bytes.
const (
	maxSummary = 100
	maxDetails = 16 << 10
)

// Start starts a run. An id that was ever given to another one is an
// *ExistsError: two starts with one id, at once too, make one run.
func (c *Client) Start(ctx context.Context, in run.Input) error {
	o := c.options(in, run.Created)
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	return c.start(ctx, in.RunID, o, workflows.RunInput{Input: &in})
}

// Resume goes on with a run that the engine does not know as open; one that
// it does is an *ExistsError.
func (c *Client) Resume(ctx context.Context, s *run.Snapshot) error {
	o := c.options(s.Input, s.State.Status)
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	return c.start(ctx, s.Input.RunID, o, workflows.RunInput{Snapshot: s})
}

func (c *Client) start(ctx context.Context, id run.ID, o client.StartWorkflowOptions, in workflows.RunInput) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	_, err := c.temporal.ExecuteWorkflow(ctx, o, workflows.Run, in)
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return &ExistsError{id}
	}
	if err != nil {
		return fmt.Errorf("start run %s: %w", id, err)
	}
	return nil
}

func (c *Client) options(in run.Input, status run.Status) client.StartWorkflowOptions {
	goal := firstLine(in.Goal)
	return client.StartWorkflowOptions{
		ID:                                       in.RunID.WorkflowID(),
		TaskQueue:                                c.queue,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true,
		StaticSummary:                            goal,
		StaticDetails:                            details(in),
		Memo:                                     map[string]any{goalMemo: goal},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attribute.Status().ValueSet(string(status)),
			attribute.Repository().ValueSet(in.Repository.Path),
		),
	}
}

func firstLine(goal string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(goal), "\n")
	return terminal.Clip(patch.Display(line), maxSummary)
}

// details is what was asked for, as the Web UI shows it: Markdown.
func details(in run.Input) string {
	var b strings.Builder
	b.WriteString(patch.Markdown([]byte(clip(in.Goal, maxDetails/2))))
	item := func(name, value string) {
		fmt.Fprintf(&b, "- %s: `%s`\n", name, strings.ReplaceAll(patch.Display(clip(value, 300)), "`", "'"))
	}
	b.WriteByte('\n')
	item("Repository", in.Repository.Path)
	item("Base", string(in.Repository.Base))
	for _, r := range run.Roles {
		if spec := in.Providers.For(r); spec != "" {
			item("Provider of the "+string(r), spec)
		}
	}
	for _, check := range in.Checks[:min(len(in.Checks), 10)] {
		item("Check", check)
	}
	item("Approval", string(in.Policy))
	return b.String()
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
