package activities_test

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// works lets the next call of the provider work until its context ends, for the given cause. The context that it returns is
// for the activity.
func (s *fixture) works(cause error, work func(func(provider.Progress)) provider.Response) context.Context {
	ctx, stop := context.WithCancelCause(s.t.Context())
	s.t.Cleanup(func() { stop(nil) })
	s.provider.then(func(ctx context.Context, progress func(provider.Progress)) (provider.Response, error) {
		resp := work(progress)
		stop(cause)
		<-ctx.Done()
		return resp, ctx.Err()
	})
	return ctx
}

// within runs the activity in the context, and returns its error.
func (s *fixture) within(ctx context.Context, activity, in any) error {
	_, err := s.environmentOf(ctx).ExecuteActivity(activity, in)
	return err
}

func uses(tokens int64) func(func(provider.Progress)) provider.Response {
	return func(func(provider.Progress)) provider.Response {
		return provider.Response{FinishReason: provider.Failed, Usage: &run.Usage{TotalTokens: tokens}}
	}
}

// Nobody makes a call again that was canceled, so its end tells what it has used.
func TestACanceledCallTellsWhatItHasUsed(t *testing.T) {
	late := &failure.Error{Code: failure.Timeout, Message: "late", Retriable: true}
	for name, tc := range map[string]struct {
		failed int64 // used by an attempt before
		work   func(func(provider.Progress)) provider.Response
		want   int64
	}{
		"its only attempt":         {0, uses(1000), 1000},
		"an attempt after another": {1, uses(1000), 1001},
		"an agent, whose answer to a cancellation tells no usage": {0, func(progress func(provider.Progress)) provider.Response {
			progress(provider.Progress{Used: run.Usage{TotalTokens: 600}})
			progress(provider.Progress{Used: run.Usage{TotalTokens: 700}})
			return provider.Response{FinishReason: provider.Failed}
		}, 700},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			if tc.failed > 0 {
				s.provider.responds(provider.Response{Usage: &run.Usage{TotalTokens: tc.failed}}, late)
			}
			ctx := s.works(temporal.NewCanceledError(), tc.work)
			if tc.failed > 0 {
				callFailure(t, s, s.call(run.Execute))
			}
			err := s.within(ctx, s.acts.Propose, s.call(run.Execute))
			if used := canceledAfter(t, err); used.TotalTokens != tc.want {
				t.Errorf("it tells %+v, want %d", used, tc.want)
			}
		})
	}
}

// A worker that stops is no cancellation: the call is made again.
func TestACallThatItsWorkerStoppedIsNotCanceled(t *testing.T) {
	s := newFixture(t)
	ctx := s.works(errors.New("the worker stops"), uses(1000))
	err := s.within(ctx, s.acts.Propose, s.call(run.Execute))
	if end, ok := errors.AsType[*temporal.CanceledError](err); err == nil || ok && end.HasDetails() {
		t.Errorf("it ends with %v", err)
	}
}

func TestACanceledEvaluatorTellsBothQuestions(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.provider.responds(provider.Response{RawText: "hm", FinishReason: provider.Stop, Usage: &run.Usage{TotalTokens: 10}}, nil)
	ctx := s.works(temporal.NewCanceledError(), uses(1000))
	err := s.within(ctx, s.acts.Judge, s.judging(0))
	if used := canceledAfter(t, err); used.TotalTokens != 1010 {
		t.Errorf("it tells %+v", used)
	}
}

// An agent that waits for a permission has used what it tells; the answer tells the sum, and a refusal for good has no other.
func TestAPermissionTellsWhatTheAgentHasUsed(t *testing.T) {
	s := newFixture(t)
	s.employ("[[usage:1000,20]]" + tool("run", map[string]string{"command": "make"}) + "[[say:done]]" + writes("a.txt", "A\n"))
	out := must[activities.ProposeResult](s, s.acts.Propose, s.developing())
	if out.Halt == nil || out.Halt.Permission == nil || out.Usage.TotalTokens != 1020 {
		t.Errorf("it tells %+v at %+v", out.Usage, out.Halt)
	}
}

// canceledAfter returns the usage that a cancellation tells.
func canceledAfter(t *testing.T, err error) (used run.Usage) {
	t.Helper()
	end, ok := errors.AsType[*temporal.CanceledError](err)
	if !ok || !end.HasDetails() {
		t.Fatalf("no cancellation that tells anything: %v", err)
	}
	if err := end.Details(&used); err != nil {
		t.Fatal(err)
	}
	return used
}
