package sessions_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// engine is an engine with workflows in memory, the newest first. A page of its lists has two.
type engine struct {
	client.Client
	workflows []*workflow.WorkflowExecutionInfo
	late      map[string]bool // workflows that lists do not show yet
	answer    error           // to each update and query
	got       []client.UpdateWorkflowOptions
	started   []client.StartWorkflowOptions
	taken     int // starts that find the id taken; negative: all but the first
}

func payload(t *testing.T, v any) *common.Payload {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayload(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (e *engine) add(t *testing.T, id, kind string, state session.State, status enums.WorkflowExecutionStatus) {
	t.Helper()
	w := &workflow.WorkflowExecutionInfo{
		Execution: &common.WorkflowExecution{WorkflowId: id}, Type: &common.WorkflowType{Name: kind}, Status: status, StartTime: timestamppb.New(time.Unix(1000, 0)),
		SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
			attribute.StatusName: payload(t, state), attribute.RepositoryName: payload(t, "/shop"),
		}},
		Memo: &common.Memo{Fields: map[string]*common.Payload{"title": payload(t, "title of "+id), "provider": payload(t, "claude"), session.ModelMemo: payload(t, "opus")}},
	}
	if status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		w.CloseTime = timestamppb.New(time.Unix(2000, 0))
	}
	e.workflows = append(e.workflows, w)
}

// ListWorkflow knows the filters of lists and of finding.
func (e *engine) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	_, rest, _ := strings.Cut(in.GetQuery(), "STARTS_WITH '")
	prefix, _, _ := strings.Cut(rest, "'")
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	from := len(in.GetNextPageToken())
	for i, w := range e.workflows[from:] {
		id, kind := w.GetExecution().GetWorkflowId(), w.GetType().GetName()
		open := w.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || !strings.Contains(in.GetQuery(), temporalclient.OpenTerm)
		passed := w.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW && strings.Contains(in.GetQuery(), "ExecutionStatus != 'ContinuedAsNew'")
		if open && !passed && strings.Contains(in.GetQuery(), "WorkflowType = '"+kind+"'") && strings.HasPrefix(id, prefix) && !e.late[id] {
			out.Executions = append(out.Executions, w)
		}
		if next := from + i + 1; len(out.Executions) == 2 && next < len(e.workflows) {
			out.NextPageToken = make([]byte, next)
			break
		}
	}
	return out, nil
}

func (e *engine) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(e.describe(ctx, id, execution))
}

func (e *engine) describe(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	i := slices.IndexFunc(e.workflows, func(w *workflow.WorkflowExecutionInfo) bool { return w.GetExecution().GetWorkflowId() == id })
	if i < 0 {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: e.workflows[i]}, nil
}

// GetWorkflowHistory returns the history of a workflow that no worker has served.
func (*engine) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return noEvents{}
}

type noEvents struct{ client.HistoryEventIterator }

func (noEvents) HasNext() bool { return false }

func (e *engine) ExecuteWorkflow(_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	e.started = append(e.started, o)
	if e.taken < 0 && len(e.started) > 1 || len(e.started) <= e.taken {
		return nil, serviceerror.NewWorkflowExecutionAlreadyStarted("there is one", "", "")
	}
	return nil, nil
}

func (e *engine) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	return nil, e.answer
}

func (e *engine) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	e.got = append(e.got, o)
	return updated{}, e.answer
}

type updated struct{ client.WorkflowUpdateHandle }

func (updated) Get(context.Context, any) error { return nil }

func (e *engine) client() sessions.Client { return sessions.Client{Temporal: e, Queue: "q"} }

const open, done = enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED

func TestASessionIsFoundByTheBeginningOfItsID(t *testing.T) {
	e := &engine{late: map[string]bool{"session-new": true}}
	for _, id := range []string{"session-0198aa-1", "session-0198aa-2", "session-0198bb-3", "session-session-x", "session-new", "session-new-2", "session-0198bb"} {
		e.add(t, id, "Session", session.Idle, open)
	}
	for range 60 { // one that has been talked to for long
		e.add(t, "session-0198cc-1", "Session", session.Idle, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
	}
	e.add(t, "session-0198cc-1", "Session", session.Idle, open)
	e.add(t, "session-0198cc-2", "Session", session.Idle, open)
	e.add(t, "session-other", "Other", session.Idle, open)
	for _, tt := range []struct {
		name, arg string
		want      session.ID
		says      string // of the error
		missing   bool
	}{
		{name: "the session id", arg: "0198aa-1", want: "0198aa-1"},
		{name: "the workflow id", arg: "session-0198aa-1", want: "0198aa-1"},
		{name: "an id that is the beginning of none", arg: "0198b-", missing: true},
		{name: "an id that is the beginning of another", arg: "0198bb", want: "0198bb"},
		{name: "a beginning", arg: "0198bb-", want: "0198bb-3"},
		{name: "a beginning that two sessions have", arg: "0198aa", says: "such as 0198aa-1 and 0198aa-2"},
		{name: "a session id that looks like a workflow id", arg: "session-x", want: "session-x"},
		{name: "a session that visibility does not have yet, and the beginning of another", arg: "new", want: "new"},
		{name: "its workflow id", arg: "session-new", want: "new"},
		{name: "a beginning that a session of many executions has, too", arg: "0198cc", says: "such as 0198cc-1 and 0198cc-2"},
		{name: "nothing", arg: "", missing: true},
		{name: "a quote", arg: "' OR WorkflowType != '", missing: true},
		{name: "a path", arg: "../runs", missing: true},
		{name: "a workflow that is no session", arg: "other", missing: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := e.client().Find(t.Context(), tt.arg)
			_, missing := errors.AsType[*sessions.NotFoundError](err)
			switch {
			case tt.missing && !missing, tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)),
				!tt.missing && tt.says == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestListsTellOpenSessionsFromRetiredOnes(t *testing.T) {
	e := &engine{}
	e.add(t, "session-a", "Session", session.Asking, open)
	e.add(t, "run-b", "Run", session.Idle, open)
	e.add(t, "session-c", "Session", session.Asleep, done) // its last word was not retired
	e.add(t, "session-d", "Session", session.Idle, open)
	e.add(t, "session-e", "Session", session.Idle, open)
	for _, tt := range []struct {
		all  bool
		most int
		want string
	}{{false, 9, "a asking, d idle, e idle"}, {true, 9, "a asking, c retired, d idle, e idle"}, {false, 2, "a asking, d idle"}} {
		list, err := e.client().List(t.Context(), tt.all, tt.most)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range list {
			got = append(got, string(l.ID)+" "+string(l.State))
			if l.Title != "title of session-"+string(l.ID) || l.Provider != "claude" || l.Model != "opus" || l.Repository != "/shop" || (l.Ended != nil) != (l.State == session.Retired) {
				t.Errorf("%+v", l)
			}
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("listed %s, want %s", text, tt.want)
		}
	}
}

func TestWhyAMessageWasNotTaken(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer error
		is     error
		says   string
	}{
		{name: "taken"},
		{name: "the session refuses it", answer: temporal.NewApplicationError("no turn is in progress", "Refused"), says: "no turn is in progress"},
		{name: "the session is retired", answer: serviceerror.NewNotFound("workflow execution already completed"), says: "session s does not exist or is retired"},
		{name: "no worker answers", answer: serviceerror.NewDeadlineExceeded("no poller"), is: runs.ErrNoWorker},
		{name: "the workflow has not begun", answer: serviceerror.NewWorkflowNotReady("no first task"), is: runs.ErrNoWorker},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &engine{answer: tt.answer}
			err := e.client().Send(t.Context(), "s", sessionflow.SayUpdate, "m1", session.Message{ID: "m1"}, nil)
			if (err == nil) != (tt.answer == nil) || tt.is != nil && !errors.Is(err, tt.is) || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v", err)
			}
			if _, refused := errors.AsType[*runs.RefusedError](err); refused != (tt.name == "the session refuses it") {
				t.Errorf("%v: refused %t", err, refused)
			}
			if o := e.got[0]; o.WorkflowID != "session-s" || o.UpdateID != "m1" || o.WaitForStage != client.WorkflowUpdateStageCompleted {
				t.Errorf("sent %+v", o)
			}
			if tt.is == nil {
				return
			}
			if _, err := e.client().State(t.Context(), "s"); !errors.Is(err, tt.is) {
				t.Errorf("the state: %v", err)
			}
		})
	}
}

// TestAProcessThatMayNotDecideSpeaksToNoSession is an agent inside of a run: it could approve its own tool calls.
func TestAProcessThatMayNotDecideSpeaksToNoSession(t *testing.T) {
	e, forbidden := &engine{}, errors.New("not from inside of a run")
	c := e.client()
	c.MayDecide = func() error { return forbidden }
	in := session.Input{ID: "s", Provider: "claude", Repository: run.Repository{Path: "/shop", Base: "c"}}
	for _, err := range []error{c.Start(t.Context(), in), c.Send(t.Context(), "s", sessionflow.ApprovalMessage, "", run.Decision{}, nil)} {
		if !errors.Is(err, forbidden) {
			t.Errorf("error %v", err)
		}
	}
	if len(e.got)+len(e.started) > 0 {
		t.Errorf("sent %+v, started %+v", e.got, e.started)
	}
}

func TestOneIDIsOneSession(t *testing.T) {
	e := &engine{taken: -1}
	in := session.Input{ID: "s", Provider: "claude", Title: "a talk", Repository: run.Repository{Path: "/shop", Base: "c"}}
	if err := e.client().Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if err := e.client().Start(t.Context(), in); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second start: %v", err)
	}
	o := e.started[0]
	if o.ID != "session-s" || o.TaskQueue != "q" || o.WorkflowIDReusePolicy != enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE || o.WorkflowIDConflictPolicy != enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL {
		t.Errorf("started with %+v", o)
	}
}

// A session without an id gets the next number of its repository, counted over the engine and the disk; another start that
// is faster takes it. Numbers are found.
func TestSessionsAreNamedByTheirRepository(t *testing.T) {
	runsDir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(runsDir, "sessions", "shop-3"), 0o700); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		listed []string
		taken  int // starts that find the id taken
		want   session.ID
	}{
		"above the disk":    {nil, 0, "shop-4"},
		"above the engine":  {[]string{"session-shop-7", "session-shop-x", "session-shop-2-9"}, 0, "shop-8"},
		"another is faster": {[]string{"session-shop-7"}, 2, "shop-10"},
	} {
		e := &engine{taken: tt.taken}
		for _, id := range tt.listed {
			e.add(t, id, "Session", session.Idle, open)
		}
		in := session.Input{Provider: "claude", Repository: run.Repository{Path: "/src/shop", Base: "c"}}
		if err := e.client().Begin(t.Context(), &in, runsDir); err != nil || in.ID != tt.want {
			t.Errorf("%s: got %s, %v, want %s", what, in.ID, err, tt.want)
		}
	}
	e := &engine{}
	for _, id := range []string{"session-shop-2", "session-slug-2", "session-slug-5"} {
		e.add(t, id, "Session", session.Idle, open)
	}
	c := e.client()
	for _, tt := range []struct {
		here, number string
		want         session.ID
	}{{"shop", "2", "shop-2"}, {"slug", "2", "slug-2"}, {"", "2", ""}, {"shop", "5", "slug-5"}, {"shop", "9", ""}} {
		c.Here = func(context.Context) string { return tt.here }
		if id, err := c.Find(t.Context(), tt.number); id != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("number %s in %q: got %q, %v, want %q", tt.number, tt.here, id, err, tt.want)
		}
	}
}
