package activities_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// engine has an activity under way.
type engine struct {
	client.Client
	later  int32  // attempts that it has begun since
	over   bool   // the activity has ended, or is to be canceled
	silent int    // so many questions and reports are not answered
	asked  func() // after each answer to a question; nil: nothing
	taking func() // before each report; nil: nothing
}

func (e *engine) answers() error {
	if e.silent > 0 {
		e.silent--
		return serviceerror.NewUnavailable("paused")
	}
	return nil
}

func (e *engine) DescribeWorkflow(ctx context.Context, id, execution string) (*client.WorkflowExecutionDescription, error) {
	return temporaltest.Described(e.describe(ctx, id, execution))
}

func (e *engine) describe(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if err := e.answers(); err != nil {
		return nil, err
	}
	if e.asked != nil {
		defer e.asked()
	}
	info := activity.GetInfo(ctx)
	a := &workflow.PendingActivityInfo{ActivityId: info.ActivityID, State: enums.PENDING_ACTIVITY_STATE_STARTED, Attempt: info.Attempt + e.later}
	if e.over {
		a.State = enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflow.PendingActivityInfo{a}}, nil
}

// told is a client of the engine for one activity. As an interceptor it returns the result that the
// engine was told as that of the activity.
type told struct {
	interceptor.WorkerInterceptorBase
	*engine
	result any
}

func (c *told) CompleteActivity(_ context.Context, _ []byte, result any, _ error) error {
	if c.taking != nil {
		c.taking()
	}
	if c.later > 0 || c.over {
		return serviceerror.NewNotFound("activity already timed out")
	}
	err := c.answers()
	if err == nil {
		c.result = result
	}
	return err
}

func (c *told) CompleteActivityByID(_ context.Context, _, _, _, _ string, result any, _ error) error {
	c.result = result
	return nil
}

func (c *told) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &tellsInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, c}
}

type tellsInbound struct {
	interceptor.ActivityInboundInterceptorBase
	told *told
}

func (i *tellsInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	out, err := i.Next.ExecuteActivity(ctx, in)
	if errors.Is(err, activity.ErrResultPending) {
		return i.told.result, nil
	}
	if err == nil && i.told.result != nil {
		err = errors.New("a result was told, and returned as well")
	}
	return out, err
}

// The lock is kept until the engine has the verdict: the next attempt would begin
// the check again.
func TestAVerdictIsReportedUntilTheEngineHasIt(t *testing.T) {
	for name, meanwhile := range map[string]func(*engine){
		"the engine is paused":                         func(e *engine) { e.silent = 2 },
		"another attempt was begun":                    func(e *engine) { e.later = 1 },
		"another attempt was begun by a paused engine": func(e *engine) { e.later, e.silent = 2, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			s.engine.asked = sync.OnceFunc(func() { meanwhile(&s.engine) })
			held := 0
			s.engine.taking = func() {
				short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if _, err := s.dir().Take(short, "check.lock", nil); err != nil {
					held++
				}
			}
			ran := filepath.Join(t.TempDir(), "ran")
			if j := s.check("echo once >>" + ran); j.Verdict != run.Pass || held == 0 {
				t.Errorf("%+v, with the lock held at %d reports", j, held)
			}
			if b, err := os.ReadFile(ran); string(b) != "once\n" {
				t.Errorf("ran %q, %v", b, err)
			}
			if _, err := s.dir().Take(t.Context(), "check.lock", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// An attempt of a worker that slept, while another attempt ended the activity or
// is under way, begins nothing. Finding B8.
func TestAnAttemptThatIsNotWaitedForDoesNotCheck(t *testing.T) {
	for name, e := range map[string]engine{
		"the activity has ended":               {over: true},
		"it has ended, says a paused engine":   {over: true, silent: 2},
		"another attempt at it has begun":      {later: 1},
		"two have begun, says a paused engine": {later: 2, silent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			ctx, cancel := context.WithCancel(t.Context())
			s.engine = e
			s.engine.asked = cancel // as the engine does that is asked next
			ran := filepath.Join(t.TempDir(), "ran")
			if _, err := s.environmentOf(ctx).ExecuteActivity(s.acts.Check, s.checking("touch "+ran)); err == nil {
				t.Error("no error")
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the check ran")
			}
		})
	}
}
