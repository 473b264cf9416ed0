package dispatches_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

// shelf is a server with executions, the newest first, two on a page.
type shelf struct {
	client.Client
	executions []execution
	queries    []string
	asked      []string // executions that were queried
}

type execution struct {
	open   bool
	status enums.WorkflowExecutionStatus // if it is neither open nor completed
	has    dispatch.History
	err    error // of its query
}

func (s *shelf) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.queries = append(s.queries, r.GetQuery())
	from := len(r.GetNextPageToken())
	res := &workflowservice.ListWorkflowExecutionsResponse{}
	for i := from; i < min(from+2, len(s.executions)); i++ {
		status := enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		if s.executions[i].open {
			status = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}
		if s.executions[i].status != 0 {
			status = s.executions[i].status
		}
		res.Executions = append(res.Executions, &workflow.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{WorkflowId: "w", RunId: fmt.Sprint(i)}, Status: status,
		})
	}
	if from+2 < len(s.executions) {
		res.NextPageToken = make([]byte, from+2)
	}
	return res, nil
}

func (s *shelf) of(runID string) execution {
	var i int
	fmt.Sscan(runID, &i)
	return s.executions[i]
}

func (s *shelf) QueryWorkflow(_ context.Context, _, runID, _ string, _ ...any) (converter.EncodedValue, error) {
	s.asked = append(s.asked, runID)
	e := s.of(runID)
	return &ran{has: e.has}, e.err
}

func (s *shelf) GetWorkflow(_ context.Context, _, runID string) client.WorkflowRun {
	return &closed{ran: ran{has: s.of(runID).has}}
}

type ran struct{ has dispatch.History }

func (r *ran) HasValue() bool { return true }

// Get goes through JSON, as what a server keeps does.
func (r *ran) Get(v any) error {
	b, err := json.Marshal(r.has)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	return err
}

type closed struct {
	client.WorkflowRun
	ran ran
}

func (c *closed) Get(_ context.Context, v any) error { return c.ran.Get(v) }

// served is an execution that has had these dispatches, oldest first.
func served(open bool, ids ...string) execution {
	e := execution{open: open, has: dispatch.History{Target: gid}}
	for i, id := range ids {
		e.has.Ended = append(e.has.Ended, dispatch.Ended{
			ID: id, Intent: dispatch.FireAndForget, At: time.Unix(int64(i), 0).UTC(),
			Result: dispatch.Result{Receipt: dispatch.Resolve(dispatch.FireAndForget, dispatch.Dead, false)},
		})
	}
	return e
}

// at moves what an execution has had to later.
func at(seconds int, e execution) execution {
	for i := range e.has.Ended {
		e.has.Ended[i].At = e.has.Ended[i].At.Add(time.Duration(seconds) * time.Second)
	}
	return e
}

func TestPast(t *testing.T) {
	goesOn := at(7, served(true, "e"))
	goesOn.has.Open = []dispatch.Ongoing{{ID: "f", Intent: dispatch.OwnedOutcome, Since: time.Unix(9, 0).UTC()}}
	terminated := goesOn
	terminated.status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	mute := execution{open: true, err: errors.New("no worker answers")}
	for _, row := range []struct {
		name       string
		executions []execution
		target     dispatch.GardenID
		most       int
		want       string
		unknown    bool
		asked      int
	}{
		{"none", nil, "", 20, "", false, 0},
		{"the newest first, over pages", []execution{goesOn, at(3, served(false, "c", "d")), served(false, "a", "b")}, "", 20, "f* e d c b a", false, 1},
		{"at most so many", []execution{goesOn, at(3, served(false, "c", "d")), served(false, "a", "b")}, gid, 3, "f* e d", false, 1},
		{"those of an open one may be older", []execution{at(100, served(true, "a")), at(200, served(false, "b")), at(300, served(true, "c"))}, "", 2, "c b", false, 2},
		{"a workflow that was terminated", []execution{terminated, served(false, "a")}, "", 20, "f! e a", false, 1},
		{"without a worker", []execution{mute, at(100, served(false, "c", "d")), mute, served(false, "a")}, "", 20, "d c a", true, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shelf{executions: row.executions}
			found, err := dispatches.Client{Temporal: s, Queue: "q"}.Past(t.Context(), row.target, row.most)
			var ids []string
			for _, p := range found {
				if p.Target != gid || p.At.IsZero() || p.Intent == "" {
					t.Errorf("%+v", p)
				}
				switch {
				case p.Lost != "":
					p.ID += "!"
				case p.Result == nil:
					p.ID += "*"
				}
				ids = append(ids, p.ID)
			}
			if got := strings.Join(ids, " "); got != row.want || (err != nil) != row.unknown || found == nil {
				t.Errorf("%s, %v", got, err)
			}
			if len(s.asked) != row.asked {
				t.Errorf("%d were asked", len(s.asked))
			}
			if named := strings.Contains(s.queries[0], "dispatch-"+string(gid)); named != (row.target != "") {
				t.Errorf("listed %s", s.queries[0])
			}
		})
	}
}
