// Package sessions is the client's side of standing sessions. It starts and finds sessions, queries their
// state and sends them messages. It makes no decisions; the workflow does.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/workflows/page"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// Client reaches the sessions of one Temporal namespace.
type Client struct {
	Temporal client.Client
	Queue    string // of the worker whose disk holds the sessions
	// Here returns the label of the repository that the caller is in; nil or empty: none. A number alone is one of its
	// sessions.
	Here func(context.Context) string
	// MayDecide returns the reason why this process may not speak to sessions; nil permits it.
	MayDecide func() error
}

// NotFoundError reports a name that no session has.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no session %q: see `starter session list`", e.Name)
}

// Limits of each call to the engine, and of each call to a worker through it.
const (
	callTimeout  = 5 * time.Second
	queryTimeout = 8 * time.Second
)

// The keys of the memo that lists show.
const (
	titleMemo    = "title"
	providerMemo = "provider"
)

// Start starts a session. Two starts with one id make one session; the second one is refused.
func (c Client) Start(ctx context.Context, in session.Input) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	_, err := c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: in.ID.WorkflowID(), TaskQueue: c.Queue, StaticSummary: page.OfLine(summaryOf(in)),
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{titleMemo: in.Title, providerMemo: in.Provider, session.ModelMemo: in.Model},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attribute.Title().ValueSet(summaryOf(in)), attribute.Status().ValueSet(string(session.Asleep)), attribute.Repository().ValueSet(in.Repository.Path)),
	}, sessionflow.Session, sessionflow.Input{Session: &in})
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return &ExistsError{in.ID}
	}
	if err != nil {
		return fmt.Errorf("start session %s: %w", in.ID, temporalclient.ExplainMissing(err))
	}
	return nil
}

func summaryOf(in session.Input) string {
	if in.Title != "" {
		return in.Title
	}
	return "A session of " + in.Provider
}

// Listed is a session as the engine's visibility shows it, a little late.
type Listed struct {
	ID         session.ID    `json:"sessionId"`
	State      session.State `json:"state"`
	Title      string        `json:"title,omitempty"`
	Provider   string        `json:"provider"`
	Model      string        `json:"model,omitempty"` // the sticky one
	Repository string        `json:"repository"`
	Started    time.Time     `json:"startedAt"`
	Ended      *time.Time    `json:"endedAt,omitempty"`
}

// workflowType is the name that workers register sessionflow.Session under.
const workflowType = "Session"

// List returns the sessions, the newest first; retired ones only if all is set.
func (c Client) List(ctx context.Context, all bool, most int) ([]Listed, error) {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew'", workflowType)
	if !all {
		query = fmt.Sprintf("WorkflowType = '%s' AND %s", workflowType, temporalclient.OpenTerm)
	}
	return c.listMatching(ctx, query, most)
}

// Asking returns the sessions that wait for a person.
func (c Client) Asking(ctx context.Context) ([]Listed, error) {
	const most = 200
	return c.listMatching(ctx, fmt.Sprintf("WorkflowType = '%s' AND %s AND %s = '%s'", workflowType, temporalclient.OpenTerm, attribute.StatusName, session.Asking), most)
}

func (c Client) listMatching(ctx context.Context, query string, most int) ([]Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found := []Listed{}
	for info, err := range temporalclient.Executions(ctx, c.Temporal, query, min(most, 200)) {
		if err != nil {
			return nil, fmt.Errorf("list the sessions: %w", err)
		}
		if l, ok := newListed(info); ok {
			found = append(found, l)
		}
		if len(found) == most {
			break
		}
	}
	return found, nil
}

func newListed(info *workflow.WorkflowExecutionInfo) (Listed, bool) {
	id, ok := session.IDOf(info.GetExecution().GetWorkflowId())
	l := Listed{ID: id, Started: info.GetStartTime().AsTime()}
	if t := info.GetCloseTime(); t != nil {
		ended := t.AsTime()
		l.Ended = &ended
	}
	fields, memo := info.GetSearchAttributes().GetIndexedFields(), info.GetMemo().GetFields()
	l.State = temporalclient.PayloadValue[session.State](fields[attribute.StatusName])
	l.Repository = temporalclient.PayloadValue[string](fields[attribute.RepositoryName])
	l.Title, l.Provider = temporalclient.PayloadValue[string](memo[titleMemo]), temporalclient.PayloadValue[string](memo[providerMemo])
	if s := info.GetStatus(); s != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && s != enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
		l.State = session.Retired
	}
	l.Model = temporalclient.PayloadValue[string](memo[session.ModelMemo])
	return l, ok
}

// Find returns the session with the given name: a session id, the number at its end, a workflow id, or the beginning of
// an id when one session alone has it.
func (c Client) Find(ctx context.Context, name string) (session.ID, error) {
	if session.ID(name).Validate() != nil {
		return "", &NotFoundError{name}
	}
	stems := []string{name}
	if id, ok := session.IDOf(name); ok {
		stems = append(stems, string(id))
	}
	for _, stem := range stems { // the engine itself knows a session that lists do not show yet
		if known, err := c.knowsSession(ctx, session.ID(stem)); known || err != nil {
			return session.ID(stem), err
		}
	}
	if number, ok := run.ParseNumber(name); ok {
		id, err := c.findNumbered(ctx, number)
		if !errors.As(err, new(*NotFoundError)) {
			return id, err
		}
	}
	id, err := runs.CompleteID("session", name, stems, func(stem session.ID) (ids []session.ID, err error) {
		found, err := c.listMatching(ctx, fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus != 'ContinuedAsNew' AND WorkflowId STARTS_WITH '%s'", workflowType, stem.WorkflowID()), 50)
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

// knowsSession reports whether there is a session with the id.
func (c Client) knowsSession(ctx context.Context, id session.ID) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := temporalclient.Describe(ctx, c.Temporal, id.WorkflowID(), "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return false, nil
	}
	return d.GetWorkflowExecutionInfo().GetType().GetName() == workflowType, err
}

// State returns the session's state. A session whose workflow was ended from outside is retired, whatever its last state
// was.
func (c Client) State(ctx context.Context, id session.ID) (s session.Snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	got, err := c.Temporal.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: id.WorkflowID(), QueryType: sessionflow.StateQuery, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY,
	})
	var v converter.EncodedValue
	if err == nil {
		v = got.QueryResult
	}
	if err == nil && got.QueryRejected != nil {
		v, err = c.Temporal.QueryWorkflow(ctx, id.WorkflowID(), "", sessionflow.StateQuery)
	}
	if err == nil {
		err = v.Get(&s)
	}
	if err != nil {
		return s, fmt.Errorf("query the state of session %s: %w", id, c.unansweredError(ctx, id, err))
	}
	if end := got.QueryRejected; end != nil {
		s.State, s.Reason = session.Retired, fmt.Sprintf("its workflow was ended from outside (%s)", strings.ToLower(end.GetStatus().String()))
	}
	return s, nil
}

// Send sends an update and waits for its result, which out receives unless it is nil. A message with an id
// is taken once, however often it is sent. The error is a *runs.RefusedError where the session itself refuses it.
func (c Client) Send(ctx context.Context, id session.ID, name, updateID string, message, out any) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout(name))
	defer cancel()
	err := runs.Update(ctx, c.Temporal, client.UpdateWorkflowOptions{WorkflowID: id.WorkflowID(), UpdateID: updateID, UpdateName: name, Args: []any{message}}, out)
	if _, refused := errors.AsType[*runs.RefusedError](err); refused || err == nil {
		return err
	}
	return fmt.Errorf("send %s to session %s: %w", name, id, c.unansweredError(ctx, id, err))
}

// sendTimeout bounds a message: a diff is read meanwhile.
func sendTimeout(name string) time.Duration {
	if name == sessionflow.DiffUpdate {
		return 2 * time.Minute
	}
	return queryTimeout
}

func (c Client) unansweredError(ctx context.Context, id session.ID, err error) error {
	return runs.ExplainSilence(ctx, c.Temporal, id.WorkflowID(), err, fmt.Errorf("session %s does not exist or is retired", id))
}

func (c Client) mayDecide() error {
	if c.MayDecide == nil {
		return nil
	}
	return c.MayDecide()
}
