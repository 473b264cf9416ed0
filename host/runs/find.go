package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
)

// Listed is a run as the engine's visibility shows it, a little late.
type Listed struct {
	ID         run.ID     `json:"runId"`
	Name       run.Name   `json:"name,omitempty"`
	Status     run.Status `json:"status"`
	Phase      run.Phase  `json:"phase,omitempty"`
	Iteration  int        `json:"iteration"`
	Repository string     `json:"repository"`
	Goal       string     `json:"goal"` // first line
	// Sandbox is run.SandboxOff for a run without the box that a starter has begun;
	// else empty.
	Sandbox run.Sandbox `json:"sandbox,omitempty"`
	// By is the local user who started the run; empty: unknown.
	By string `json:"by,omitempty"`
	// Session is the standing session whose agent started the run, in By's name; empty: a person did.
	Session string     `json:"session,omitempty"`
	Started time.Time  `json:"startedAt"`
	Ended   *time.Time `json:"endedAt,omitempty"`
	// Merged is set if a branch of the user's has the run's commits. List does not know it.
	Merged bool `json:"merged,omitempty"`
	// Undone is set if a commit on a branch of the user's has undone the run's last merge. List does not know it.
	Undone bool `json:"undone,omitempty"`
	// Unsure is set where that is not known: the repository did not answer in time.
	Unsure bool `json:"-"`
	// Outcome says how the workflow ended when no status of a run does: terminated or
	// timed_out.
	Outcome string `json:"outcome,omitempty"`
}

// Filter selects runs; the zero Filter selects all.
type Filter struct {
	Status     run.Status
	Repository string // path of the repository
	By         string // local user who started the run
	Open, Over bool   // only runs that are open, or over
	Max        int    // zero: 100
}

// queryText returns the filter in the engine's language. It leaves out By, which the engine does not index.
func (f Filter) queryText() string {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew'", workflowType)
	if f.Status != "" {
		query += fmt.Sprintf(" AND %s = '%s'", attribute.StatusName, f.Status)
	}
	if f.Repository != "" {
		query += fmt.Sprintf(" AND %s = %s", attribute.RepositoryName, quoteValue(f.Repository))
	}
	if f.Open {
		query += " AND " + temporalclient.OpenTerm
	}
	if f.Over {
		query += " AND " + temporalclient.OverTerm
	}
	return query
}

// quoteValue quotes a text for the engine's language, which quotes as SQL does.
func quoteValue(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// workflowType is the name that workers register workflows.Run under.
const workflowType = "Run"

// List returns the runs that match, the newest first.
func (c *Client) List(ctx context.Context, f Filter) ([]Listed, error) {
	return c.listMatching(ctx, f.queryText(), f.Max, f.admits)
}

// admits reports whether the filter leaves in a run by its repository and its user.
func (f Filter) admits(l Listed) bool {
	return (f.Repository == "" || l.Repository == f.Repository) && (f.By == "" || l.By == f.By)
}

// Lister lists runs as a Client does.
type Lister interface {
	List(context.Context, Filter) ([]Listed, error)
	// Waiting returns all runs that wait for a person.
	Waiting(context.Context, ...run.Status) ([]Listed, error)
}

// ListWithWaits returns the runs that match, the newest first, and all that wait for a person among them: f.Max bounds
// the others. The filter names no status and leaves open runs in.
func ListWithWaits(ctx context.Context, from Lister, f Filter) ([]Listed, error) {
	found, err := from.List(ctx, f)
	if err != nil {
		return nil, err
	}
	waiting, err := from.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	known := map[run.ID]bool{}
	for _, l := range found {
		known[l.ID] = true
	}
	for _, l := range waiting {
		if !known[l.ID] && f.admits(l) {
			found = append(found, l)
		}
	}
	return found, nil
}

// Waiting returns all open runs that wait for a person, the newest first. The kinds are
// run.AwaitingApproval and run.AwaitingInput; none means both.
func (c *Client) Waiting(ctx context.Context, kinds ...run.Status) ([]Listed, error) {
	if len(kinds) == 0 {
		kinds = []run.Status{run.AwaitingApproval, run.AwaitingInput}
	}
	var words []string
	for _, kind := range kinds {
		words = append(words, fmt.Sprintf("'%s'", kind))
	}
	query := fmt.Sprintf("WorkflowType = '%s' AND %s AND %s IN (%s)", workflowType, temporalclient.OpenTerm, attribute.StatusName, strings.Join(words, ", "))
	return c.listRuns(ctx, query, math.MaxInt)
}

func (c *Client) listRuns(ctx context.Context, query string, limit int) ([]Listed, error) {
	return c.listMatching(ctx, query, limit, func(Listed) bool { return true })
}

// listMatching returns the first runs of a query that match; a limit of zero means 100.
func (c *Client) listMatching(ctx context.Context, query string, limit int, match func(Listed) bool) ([]Listed, error) {
	limit = cmp.Or(limit, 100)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found := []Listed{}
	seen := map[run.ID]bool{} // a resumed run has two executions
	for info, err := range temporalclient.Executions(ctx, c.temporal, query, min(limit, 200)) {
		if err != nil {
			return nil, fmt.Errorf("list the runs: %w", temporalclient.ExplainMissing(err))
		}
		if l, ok := newListed(info); ok && !seen[l.ID] && match(l) {
			seen[l.ID] = true
			found = append(found, l)
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

func newListed(info *workflow.WorkflowExecutionInfo) (Listed, bool) {
	id, ok := run.IDOf(info.GetExecution().GetWorkflowId())
	l := Listed{ID: id, Started: info.GetStartTime().AsTime()}
	if t := info.GetCloseTime(); t != nil {
		ended := t.AsTime()
		l.Ended = &ended
	}
	fields := info.GetSearchAttributes().GetIndexedFields()
	l.Status = temporalclient.PayloadValue[run.Status](fields[attribute.StatusName])
	l.Phase = temporalclient.PayloadValue[run.Phase](fields[attribute.PhaseName])
	l.Iteration = temporalclient.PayloadValue[int](fields[attribute.IterationName])
	l.Repository = temporalclient.PayloadValue[string](fields[attribute.RepositoryName])
	l.Goal = temporalclient.PayloadValue[string](info.GetMemo().GetFields()[goalMemo])
	l.Name = temporalclient.PayloadValue[run.Name](fields[attribute.NameName])
	l.Sandbox = temporalclient.PayloadValue[run.Sandbox](info.GetMemo().GetFields()[sandboxMemo])
	l.By = temporalclient.PayloadValue[string](info.GetMemo().GetFields()[byMemo])
	l.Session = temporalclient.PayloadValue[string](info.GetMemo().GetFields()[sessionMemo])
	l.endWith(info.GetStatus())
	return l, ok
}

// endWith sets the status from the engine's status of an ended workflow. The engine's status
// overrides the search attributes, which the workflow itself sends.
func (l *Listed) endWith(s enums.WorkflowExecutionStatus) {
	switch s {
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		l.Status, l.Phase = run.Completed, ""
	case enums.WORKFLOW_EXECUTION_STATUS_FAILED:
		l.Status, l.Phase = run.Failed, ""
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		l.Status, l.Phase = run.Canceled, ""
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		l.Status, l.Phase, l.Outcome = run.Failed, "", "terminated"
	case enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		l.Status, l.Phase, l.Outcome = run.Failed, "", "timed_out"
	}
}

// Find returns the run with the given name. The name is the run's name, as slug#14 or slug/14, or its
// number alone, a run id, a workflow id, or the beginning of either when only one run has it.
func (c *Client) Find(ctx context.Context, name string) (run.ID, error) {
	if short, ok := run.ParseName(name); ok {
		return c.findNamed(ctx, name, short)
	}
	if number, ok := run.ParseNumber(name); ok {
		id, err := c.findNumbered(ctx, number)
		if _, missing := errors.AsType[*NotFoundError](err); !missing {
			return id, err
		}
	}
	if run.ID(name).Validate() != nil {
		return "", &NotFoundError{name}
	}
	stems := []string{name}
	if id, ok := run.IDOf(name); ok {
		stems = append(stems, string(id))
	}
	for _, stem := range stems {
		_, err := c.Describe(ctx, run.ID(stem))
		if _, missing := errors.AsType[*NotFoundError](err); !missing {
			return run.ID(stem), err
		}
	}
	id, err := CompleteID("run", name, stems, func(stem run.ID) (ids []run.ID, err error) {
		found, err := c.listRuns(ctx, fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s'", workflowType, stem.WorkflowID()), 20)
		for _, l := range found {
			ids = append(ids, l.ID)
		}
		return ids, err
	})
	if id == "" && err == nil {
		err = &NotFoundError{name}
	}
	return id, err
}

// CompleteID returns the only id that begins with one of the stems, by lists of ids that may; empty: there is none.
func CompleteID[ID ~string](what, name string, stems []string, list func(stem ID) ([]ID, error)) (ID, error) {
	var ids []ID
	for _, stem := range stems {
		found, err := list(ID(stem))
		if err != nil {
			return "", err
		}
		for _, id := range found {
			if stem != "" && strings.HasPrefix(string(id), stem) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	if len(ids) > 1 {
		return "", fmt.Errorf("%d %s ids begin with %q, such as %s and %s: type more of it", len(ids), what, name, ids[0], ids[1])
	}
	return append(ids, "")[0], nil
}

// Execution is a run as the engine sees it. It is current and needs no worker.
type Execution struct {
	Listed
	Open       bool
	Canceling  bool   // a cancellation was requested
	Queue      string // the task queue whose workers do its steps
	Activities []Activity

	execution string // Temporal's own id of it
}

// Describe asks the engine about a run. The error is a *NotFoundError when the engine does not
// know the run.
func (c *Client) Describe(ctx context.Context, id run.ID) (Execution, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := temporalclient.Describe(ctx, c.temporal, id.WorkflowID(), "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return Execution{}, &NotFoundError{string(id)}
	}
	if err != nil {
		return Execution{}, fmt.Errorf("look at run %s: %w", id, err)
	}
	info := d.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != workflowType {
		return Execution{}, &NotFoundError{string(id)}
	}
	e := Execution{execution: info.GetExecution().GetRunId(), Queue: info.GetTaskQueue()}
	e.Listed, _ = newListed(info)
	e.Open = info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	e.Canceling = d.GetWorkflowExtendedInfo().GetCancelRequested()
	for _, a := range d.GetPendingActivities() {
		e.Activities = append(e.Activities, newActivity(a))
	}
	return e, nil
}
