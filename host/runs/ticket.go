package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	internalforge "github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// TicketView is a ticket as its workflow reports it.
type TicketView struct {
	Name  string       `json:"name"` // HOST/OWNER/NAME#NUMBER
	State ticket.State `json:"state"`
	Open  bool         `json:"open"`
	// Problem is why nothing happens at the moment, or why the ticket could not begin; empty: nothing is wrong.
	Problem string `json:"problem,omitempty"`
	// Rate is what the server said last of its limit of calls, if the ticket waits for a change there.
	Rate internalforge.Rate `json:"rate,omitzero"`
	// Repository and Since are where the runs work, and when the ticket began. Only AskingTickets sets them.
	Repository string    `json:"-"`
	Since      time.Time `json:"-"`
}

const ticketPrefix = "ticket-"

// NoTicketError reports a name that no ticket has.
type NoTicketError struct{ Name string }

func (e *NoTicketError) Error() string {
	return fmt.Sprintf("no ticket %q: `starter ticket list` shows those there are", e.Name)
}

// StartTicket starts the ticket of an issue. There is one for ever: a second call finds it, open or over, and created is
// false.
func (c *Client) StartTicket(ctx context.Context, in forge.TicketInput) (created bool, err error) {
	return c.startTicket(ctx, in, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
}

func (c *Client) startTicket(ctx context.Context, in forge.TicketInput, reuse enums.WorkflowIdReusePolicy) (created bool, err error) {
	if err := c.mayDecide(); err != nil {
		return false, err
	}
	_, err = c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: forge.TicketID(in.Ticket), TaskQueue: c.queue, StaticSummary: "Issue " + in.Name(),
		WorkflowIDReusePolicy: reuse, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL, WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, forge.Ticket, in)
	if _, there := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); there {
		return false, nil
	}
	return err == nil, err
}

// RetryTicket begins a ticket that is over again, from where it stood, and with the text of the issue as it is now. The
// settings are those that it was started with.
func (c *Client) RetryTicket(ctx context.Context, name string) error {
	v, err := c.Ticket(ctx, name)
	switch {
	case err != nil:
		return err
	case v.State.End == ticket.Merged: // which it may still be reporting to the server
		return fmt.Errorf("ticket %s is merged: there is nothing to retry", v.Name)
	case v.Open && v.State.Question != nil:
		return c.AnswerTicket(ctx, name, "retry")
	case v.Open && v.State.End != "":
		return fmt.Errorf("ticket %s is %s and still tells the server: retry it in a moment", v.Name, v.State.End)
	case v.Open:
		return fmt.Errorf("ticket %s is %s: it continues by itself", v.Name, v.State.Step)
	}
	in, err := c.ticketInput(ctx, v.Name)
	if err != nil {
		return err
	}
	in.State = v.State.Retried()
	_, err = c.startTicket(ctx, in, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
	return err
}

// ticketInput returns the input of the last execution of a ticket.
func (c *Client) ticketInput(ctx context.Context, name string) (in forge.TicketInput, err error) {
	events := c.temporal.GetWorkflowHistory(ctx, ticketPrefix+name, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := events.Next()
	if err != nil {
		return in, err
	}
	payloads := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	return in, converter.GetDefaultDataConverter().FromPayloads(payloads, &in)
}

// Ticket returns a ticket by its name.
func (c *Client) Ticket(ctx context.Context, name string) (v TicketView, err error) {
	v.Name = strings.ToLower(name)
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	d, err := temporalclient.Describe(ctx, c.temporal, ticketPrefix+v.Name, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return v, &NoTicketError{name}
	}
	if err != nil {
		return v, err
	}
	for _, a := range d.GetPendingActivities() {
		if f := a.GetLastFailure(); f != nil && f.GetApplicationFailureInfo().GetType() != forgeacts.UnchangedError {
			v.Problem = f.GetMessage()
		}
	}
	if v.Open = d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING; !v.Open {
		err = c.temporal.GetWorkflow(ctx, ticketPrefix+v.Name, "").Get(ctx, &v.State)
		if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
			v.Problem = app.Message()
			return v, nil
		}
		if err != nil {
			v.Problem = "its workflow was ended from outside"
		}
		return v, nil
	}
	answer, err := c.temporal.QueryWorkflow(ctx, ticketPrefix+v.Name, "", forge.TicketQuery)
	if err != nil {
		v.Problem = cmp.Or(v.Problem, Unanswered(ctx, c.temporal, ticketPrefix+v.Name).Error())
		return v, nil
	}
	if err := answer.Get(&v.State); err != nil {
		return v, err
	}
	if v.State.Step == ticket.Waiting {
		c.addWatch(ctx, d.GetWorkflowExecutionInfo().GetTaskQueue(), &v)
	}
	return v, nil
}

// addWatch adds what the watch of the ticket's repository knows: the limit of the server, and why it is not asked.
func (c *Client) addWatch(ctx context.Context, queue string, v *TicketView) {
	repo, _, _ := strings.Cut(v.Name, "#")
	parts := strings.Split(repo, "/")
	if len(parts) != 3 {
		return
	}
	w, ok := c.Watch(ctx, internalforge.Repo{Host: parts[0], Owner: parts[1], Name: parts[2]}, queue)
	if v.Rate = w.Rate; ok && w.Problem != "" {
		v.Problem = cmp.Or(v.Problem, "the server is not asked at the moment: "+w.Problem)
	}
}

// AskingTickets returns the open tickets that wait for an answer. It asks those alone.
func (c *Client) AskingTickets(ctx context.Context) (list []TicketView, err error) {
	query := fmt.Sprintf("WorkflowType = 'Ticket' AND %s AND %s = '%s'", temporalclient.OpenTerm, attribute.StatusName, run.AwaitingInput)
	page, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: maxTickets, Query: query})
	if err != nil {
		return nil, err
	}
	for _, e := range page.GetExecutions() {
		v, err := c.Ticket(ctx, nameOfTicket(e))
		if err != nil || !v.Open || v.State.Question == nil { // it was answered meanwhile
			continue
		}
		v.Since, v.Repository = e.GetStartTime().AsTime(), temporalclient.PayloadValue[string](e.GetSearchAttributes().GetIndexedFields()[attribute.RepositoryName])
		list = append(list, v)
	}
	return list, nil
}

// PullOf returns the pull request of a run; ok is false where there is none, or it is not open yet.
func (c *Client) PullOf(ctx context.Context, id run.ID) (out forge.Result, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d, err := temporalclient.Describe(ctx, c.temporal, forge.WorkflowID(id), "")
	if err != nil || d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return out, false
	}
	err = c.temporal.GetWorkflow(ctx, forge.WorkflowID(id), "").Get(ctx, &out)
	return out, err == nil && out.URL != ""
}

// ReadIssue returns the text of an issue as the goal of a run, which a worker reads with its token.
func (c *Client) ReadIssue(ctx context.Context, url string) (goal string, issue run.Issue, err error) {
	if err := c.mayDecide(); err != nil {
		return "", issue, err
	}
	repo, number, err := internalforge.ParseIssue(url)
	if err != nil {
		return "", issue, err
	}
	if served, err := c.Served(ctx); err == nil && !served {
		return "", issue, ErrNoWorker
	}
	wr, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "issue-" + uuid.NewString(), TaskQueue: c.queue, StaticSummary: "Text of " + fmt.Sprintf("%s#%d", repo, number)}, forge.IssueGoal, repo, number)
	var out forgeacts.IssueText
	if err == nil {
		err = wr.Get(ctx, &out)
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return "", issue, errors.New(app.Message())
	}
	return out.Goal, run.Issue{URL: url, Digest: out.Digest}, err
}

// SetRule has the watch of a repository start the tickets of issues that get a label; nil ends that.
func (c *Client) SetRule(ctx context.Context, repo internalforge.Repo, rule *forgeacts.Rule) error {
	if err := c.mayDecide(); err != nil {
		return err
	}
	o := client.StartWorkflowOptions{TaskQueue: c.queue, StaticSummary: "Watch of " + repo.String()}
	_, err := c.temporal.SignalWithStartWorkflow(ctx, forge.WatchID(repo, c.queue), forge.RuleSignal, rule, o, forge.Watch, forge.WatchInput{})
	return err
}

// Watched is the watch of a repository.
type Watched struct {
	Label   string             `json:"label,omitempty"` // that starts tickets; empty: none does
	Tickets int                `json:"tickets"`
	Rate    internalforge.Rate `json:"rate,omitzero"`
	Refused map[int]string     `json:"refused,omitempty"` // why the label of an issue starts no ticket
	Problem string             `json:"problem,omitempty"` // why the server is not asked at the moment; empty: it is
}

// Watch returns the watch of a repository; ok is false where there is none.
func (c *Client) Watch(ctx context.Context, repo internalforge.Repo, queue string) (w Watched, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	id := forge.WatchID(repo, cmp.Or(queue, c.queue))
	d, err := temporalclient.Describe(ctx, c.temporal, id, "")
	if err != nil || d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return w, false
	}
	var in forge.WatchInput
	if v, err := c.temporal.QueryWorkflow(ctx, id, "", forge.WatchQuery); err == nil && v.Get(&in) == nil {
		w.Tickets, w.Refused, w.Rate = len(in.Entries), in.Refused, in.Seen.Rate
		if in.Rule != nil {
			w.Label = in.Rule.Label
		}
	}
	for _, a := range d.GetPendingActivities() {
		var seen internalforge.PollState
		if converter.GetDefaultDataConverter().FromPayloads(a.GetHeartbeatDetails(), &seen) == nil && seen.Rate.Limit > 0 {
			w.Rate = seen.Rate
		}
		if f := a.GetLastFailure(); f != nil && f.GetApplicationFailureInfo().GetType() != forgeacts.UnchangedError {
			w.Problem = f.GetMessage()
			if at := a.GetScheduledTime(); at != nil && at.AsTime().After(time.Now()) {
				w.Problem += "; next call at " + at.AsTime().Local().Format(time.TimeOnly)
			}
		}
	}
	return w, true
}

// maxTickets bounds a list.
const maxTickets = 100

// Tickets returns the last tickets, the open ones first. One that could not begin is none.
func (c *Client) Tickets(ctx context.Context) (list []TicketView, err error) {
	page, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: maxTickets, Query: "WorkflowType = 'Ticket' AND ExecutionStatus != 'ContinuedAsNew' AND ExecutionStatus != 'Failed'",
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range page.GetExecutions() {
		name := nameOfTicket(e)
		if seen[name] { // a ticket that was retried
			continue
		}
		seen[name] = true
		v, err := c.Ticket(ctx, name)
		if _, none := errors.AsType[*NoTicketError](err); none {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b TicketView) int {
		switch {
		case a.Open == b.Open:
			return 0
		case a.Open:
			return -1
		}
		return 1
	})
	return list, nil
}

func nameOfTicket(e *workflow.WorkflowExecutionInfo) string {
	return strings.TrimPrefix(e.GetExecution().GetWorkflowId(), ticketPrefix)
}

// ErrNoQuestion is the error of an answer to a ticket that asks nothing.
var ErrNoQuestion = errors.New("has no question")

// AnswerTicket answers the question of a ticket.
func (c *Client) AnswerTicket(ctx context.Context, name, text string) error {
	v, err := c.openTicket(ctx, name)
	if err != nil {
		return err
	}
	if v.State.Question == nil {
		return fmt.Errorf("ticket %s %w: it is %s", v.Name, ErrNoQuestion, v.State.Step)
	}
	return c.temporal.SignalWorkflow(ctx, ticketPrefix+v.Name, "", forge.AnswerSignal, forge.Answer{Text: text, Key: v.State.Question.Key})
}

// StopTicket ends a ticket and its run. The branch and the pull request stay.
func (c *Client) StopTicket(ctx context.Context, name string) error {
	v, err := c.openTicket(ctx, name)
	if err != nil {
		return err
	}
	return c.temporal.CancelWorkflow(ctx, ticketPrefix+v.Name, "")
}

func (c *Client) openTicket(ctx context.Context, name string) (TicketView, error) {
	if err := c.mayDecide(); err != nil {
		return TicketView{}, err
	}
	v, err := c.Ticket(ctx, name)
	if err == nil && !v.Open {
		err = fmt.Errorf("ticket %s %w: %s", v.Name, ErrOver, cmp.Or(string(v.State.End), v.Problem))
	}
	return v, err
}

// AwaitTicket waits until a ticket has a run, a question or an end, and returns it. Tell gets the reasons why it takes
// longer, once each.
func (c *Client) AwaitTicket(ctx context.Context, name string, tell func(string)) (v TicketView, err error) {
	ticks := time.NewTicker(ticketLook)
	defer ticks.Stop()
	last := ""
	for {
		if v, err = c.Ticket(ctx, name); err != nil || !v.Open || v.State.Run != "" || v.State.Question != nil {
			return v, err
		}
		if v.Problem != "" && v.Problem != last {
			last = v.Problem
			tell(last)
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-ticks.C:
		}
	}
}

const ticketLook = 300 * time.Millisecond
