package activities_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/activities"
)

// engine is a client of one that has the activity under way, or has given this
// attempt at it up.
type engine struct {
	client.Client
	gaveUp bool
	over   bool   // the activity has ended, or is to be canceled
	silent int    // so many questions are not answered
	asked  func() // after it said that it is over

	mu     sync.Mutex
	result any // by which the activity was ended, whatever its attempt
}

func (e *engine) DescribeWorkflowExecution(ctx context.Context, _, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if e.silent > 0 {
		e.silent--
		return nil, serviceerror.NewUnavailable("paused")
	}
	info := activity.GetInfo(ctx)
	a := &workflow.PendingActivityInfo{ActivityId: info.ActivityID, State: enums.PENDING_ACTIVITY_STATE_STARTED, Attempt: info.Attempt}
	if e.gaveUp {
		a.Attempt++
	}
	if e.over && e.asked != nil {
		defer e.asked()
	}
	if e.over {
		a.State = enums.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflow.PendingActivityInfo{a}}, nil
}

func (e *engine) CompleteActivityByID(_ context.Context, _, _, _, _ string, result any, _ error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.result = result
	return nil
}

func TestTheVerdictOfAnAttemptThatWasGivenUpIsTheActivitys(t *testing.T) {
	for name, gaveUp := range map[string]bool{"given up": true, "not given up": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.prepare()
			s.engine.gaveUp, s.engine.silent = gaveUp, 2
			j := s.check("true")
			handed, ok := s.engine.result.(activities.Judgement)
			if ok != gaveUp || ok && handed.Report != j.Report {
				t.Errorf("handed over %+v", s.engine.result)
			}
		})
	}
}

// What waited for an attempt that has ended the activity does not begin it again.
// Finding B8.
func TestWhatHasEndedMeanwhileIsNotCheckedAgain(t *testing.T) {
	s := newSite(t)
	s.prepare()
	s.engine.over, s.engine.silent = true, 2
	unlock, err := s.dir().Lock(t.Context(), "check.lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	env := s.environmentOf(ctx)
	waits := sync.OnceFunc(unlock)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { waits() })
	s.engine.asked = cancel // as the engine does that is asked next
	ran := filepath.Join(t.TempDir(), "ran")
	if _, err := env.ExecuteActivity(s.acts.Check, s.checking("touch "+ran)); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the check ran")
	}
}
