package activities_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func TestAnAnswerIsPaidOnce(t *testing.T) {
	s := newFixture(t)
	s.provider.says(patching(appending), "another answer")
	c := s.call(run.Execute)
	first := must[activities.ProposeResult](s, s.acts.Propose, c)
	second := must[activities.ProposeResult](s, s.acts.Propose, c)
	if !reflect.DeepEqual(first, second) || s.provider.calls() != 1 {
		t.Errorf("%d calls\n%+v\n%+v", s.provider.calls(), first, second)
	}
	if want := (run.Usage{InputTokens: 7, OutputTokens: 3, TotalTokens: 10}); first.Usage != want {
		t.Errorf("usage %+v", first.Usage)
	}
	c.Number = 2
	if third := must[activities.ProposeResult](s, s.acts.Propose, c); third.Violation == nil || s.provider.calls() != 2 {
		t.Errorf("the next call found the answer of this one: %+v", third)
	}
}

// A worker can die between an answer and its line in the log.
func TestAnAnswerThatWasKeptIsLoggedOnce(t *testing.T) {
	s := newFixture(t)
	s.provider.says(patching(appending))
	c := s.call(run.Execute)
	log := filepath.Join(s.runs.Run(c.RunID).Path(), "logs", "provider-execute.log")
	for _, lost := range []bool{false, true, false} {
		if lost {
			check(t, os.Remove(log))
		}
		for range 2 {
			must[activities.ProposeResult](s, s.acts.Propose, c)
		}
		b, err := os.ReadFile(log)
		check(t, err)
		if got := strings.Count(string(b), " answered {"); got != 1 {
			t.Errorf("the log, lost before %v, has %d lines about the answer, want 1:\n%s", lost, got, b)
		}
	}
}

func TestAttemptsAtOnceTakeTurns(t *testing.T) {
	s := newFixture(t)
	c := s.call(run.Plan)
	asked, answer := make(chan struct{}), make(chan struct{})
	s.provider.then(func(context.Context, func(provider.Progress)) (provider.Response, error) {
		close(asked)
		<-answer
		return provider.Response{RawText: "# Plan\n\n- do it\n", FinishReason: provider.Stop}, nil
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, err := do[activities.PlanResult](s, s.acts.Plan, c); err != nil || out.Summary != "do it" {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
	<-asked
	close(answer)
	wg.Wait()
	if n := s.provider.calls(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestWhatWasSaidBeforeAnErrorIsKept(t *testing.T) {
	s := newFixture(t)
	s.provider.fails("half an ans"+secret, failure.Error{Code: failure.Unknown, Message: "broke off at " + secret, Retriable: true})
	s.provider.fails("half", failure.Error{Code: failure.RateLimit, Message: "slow down", Retriable: true, RetryAfter: 7 * time.Second})
	c := s.call(run.Execute)
	app := callFailure(t, s, c)
	if app.Type() != "UNKNOWN" || app.NonRetryable() || app.Message() != "broke off at [redacted:MODEL_KEY]" {
		t.Errorf("%s %v %q", app.Type(), app.NonRetryable(), app.Message())
	}
	if b, _, err := s.dir().Find("execute/iter-0001.attempt-1.raw.txt"); err != nil || string(b) != "half an ans[redacted:MODEL_KEY]" {
		t.Errorf("kept %q, %v", b, err)
	}
	if app = callFailure(t, s, c); app.Type() != "RATE_LIMIT" || app.NextRetryDelay() != 7*time.Second {
		t.Errorf("%s after %v", app.Type(), app.NextRetryDelay())
	}
	if b, _, err := s.dir().Find("execute/iter-0001.attempt-2.raw.txt"); err != nil || string(b) != "half" {
		t.Errorf("kept %q, %v", b, err)
	}
	if out := s.propose(result("type: NOOP\nreason: done")); out.Summary != "done" {
		t.Errorf("after the errors: %+v", out)
	}
	log, err := os.ReadFile(filepath.Join(s.dir().Path(), "logs", "provider-execute.log"))
	if err != nil || strings.Count(string(log), "[ERROR] failed") != 2 || strings.Contains(string(log), secret) {
		t.Errorf("log %q, %v", log, err)
	}
}

func callFailure(t *testing.T, s *fixture, c activities.Call) *temporal.ApplicationError {
	t.Helper()
	_, err := do[activities.ProposeResult](s, s.acts.Propose, c)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	return app
}

func TestTheFifthErrorIsTheLast(t *testing.T) {
	s := newFixture(t)
	s.provider.fails("", failure.Error{Code: failure.Timeout, Message: "too slow", Retriable: true})
	for n := 1; n <= 6; n++ {
		if app := callFailure(t, s, s.call(run.Execute)); app.NonRetryable() != (n >= 5) {
			t.Errorf("error %d: final is %v", n, app.NonRetryable())
		}
	}
}

func TestErrorsThatNoRetryMends(t *testing.T) {
	for name, spoil := range map[string]func(*fixture, *activities.Call){
		"the provider says so": func(s *fixture, _ *activities.Call) {
			s.provider.fails("", failure.Error{Code: failure.Auth, Message: "401"})
		},
		"there is no such provider": func(s *fixture, _ *activities.Call) { s.opened = errors.New("unknown kind") },
		"the record is behind":      func(_ *fixture, c *activities.Call) { c.Entry.Events = c.Entry.Events[2:] },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			c := s.call(run.Execute)
			spoil(s, &c)
			if app := callFailure(t, s, c); !app.NonRetryable() {
				t.Errorf("%s may be tried again", app.Type())
			}
		})
	}
}

func TestAnotherErrorMayBeTriedAgain(t *testing.T) {
	s := newFixture(t)
	s.provider.responds(provider.Response{}, io.ErrUnexpectedEOF)
	if app := callFailure(t, s, s.call(run.Execute)); app.Type() != "UNKNOWN" || app.NonRetryable() {
		t.Errorf("%s, final %v", app.Type(), app.NonRetryable())
	}
}

func TestAnEmptyPlanIsNone(t *testing.T) {
	s := newFixture(t)
	s.provider.says(" \n\n")
	_, err := do[activities.PlanResult](s, s.acts.Plan, s.call(run.Plan))
	if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok || !app.NonRetryable() {
		t.Errorf("error %v", err)
	}
}

func TestTheRequest(t *testing.T) {
	s := newFixture(t)
	s.write("log.txt", "not committed\n")
	s.propose(result("type: NOOP\nreason: done"))
	req := s.provider.asked[0]
	if err := req.Validate(); err != nil {
		t.Error(err)
	}
	if req.Role != run.Developer || req.RunID != "r1" || req.Call != 1 || req.Constraints.Timeout() != time.Minute {
		t.Errorf("request %+v", req)
	}
	said := req.Prompt.User
	for _, a := range req.ContextArtifacts {
		said += a.Content
	}
	if !strings.Contains(said, "append a line") || !strings.Contains(said, "log.txt") || strings.Contains(said, "not committed") {
		t.Errorf("prompt %s", said)
	}
}

// A file that is larger than what a request takes is cut by whole lines, and none of its characters is cut.
func TestTheRequestWithALargeText(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.write("ru.txt", "я"+strings.Repeat("xстрока\n", 20000))
	s.git("add", "ru.txt")
	s.git("commit", "-q", "-m", "a large text")
	s.provider.says("DECISION: PASS")
	c := s.call(run.Evaluate)
	c.Head = run.Commit(s.git("rev-parse", "HEAD"))
	must[activities.Judgement](s, s.acts.Judge, activities.JudgeInput{Call: c, Report: s.check("true").Report})
	asked := s.provider.asked[len(s.provider.asked)-1]
	for _, a := range asked.ContextArtifacts {
		if strings.HasPrefix(a.Name, "ru.txt") {
			if lines := strings.Count(a.Content, "\n"); lines == 0 || a.Name != fmt.Sprintf("ru.txt, lines 1 to %d of 20000", lines) {
				t.Errorf("%s has %d lines", a.Name, lines)
			}
			return
		}
	}
	t.Errorf("the text is not among the %d artifacts", len(asked.ContextArtifacts))
}

func TestHeartbeatsShowWhatComes(t *testing.T) {
	s := newFixture(t)
	shown := make(chan struct{})
	s.provider.then(func(ctx context.Context, progress func(provider.Progress)) (provider.Response, error) {
		progress(provider.Progress{Bytes: 42, Tail: "so far " + secret})
		<-shown
		return provider.Response{RawText: "# Plan\n\nx\n", FinishReason: provider.Stop}, nil
	})
	s.planWatched(shown, func(b report.Progress) bool {
		if strings.Contains(b.Tail, secret) {
			t.Errorf("beat %+v", b)
		}
		return b.Bytes == 42 && b.Tail == "so far [redacted:MODEL_KEY]"
	})
}

// An attempt that waits for another one of the same call is alive, too, and says
// for which process it waits. Finding B12.
func TestAWaitingAttemptBeats(t *testing.T) {
	s := newFixture(t)
	s.provider.says("# Plan\n\nx\n")
	lock, err := s.dir().Take(t.Context(), s.call(run.Plan).Artifact("lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	beats := make(chan struct{})
	go func() {
		<-beats
		lock.Unlock()
	}()
	s.planWatched(beats, func(b report.Progress) bool {
		return b.Doing == fmt.Sprintf("waits: process %d holds the answer", os.Getpid()) && s.provider.calls() == 0
	})
}

// So is one that waits for the session of its agent, which another worker has.
// Finding B12.
func TestWhoWaitsForASessionSaysForWhom(t *testing.T) {
	s := newFixture(t)
	s.employ("[[say:# Plan\n\nx]]")
	release, err := s.runs.Slot("r1", "").Hold(t.Context(), func() {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	beats := make(chan struct{})
	go func() {
		<-beats
		release()
	}()
	s.planWatched(beats, func(b report.Progress) bool {
		return b.Doing == fmt.Sprintf("waits: process %d holds the agent's session", os.Getpid())
	})
}

// A host that slept begins an attempt after the engine has given it to another.
func TestAnAttemptThatIsGivenUpPaysNothing(t *testing.T) {
	s := newFixture(t)
	s.provider.says("a plan")
	ctx, stop := context.WithCancelCause(t.Context())
	env, beats := s.environmentOf(ctx), 0
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) {
		beats++
		stop(serviceerror.NewNotFound("given to another"))
	})
	_, err := env.ExecuteActivity(s.acts.Plan, s.call(run.Plan))
	if err == nil || beats == 0 || s.provider.calls() != 0 {
		t.Errorf("%d calls after %d heartbeats, %v; want none, and an error", s.provider.calls(), beats, err)
	}
}

// planWatched plans, and closes seen at the first heartbeat that is the one.
func (s *fixture) planWatched(seen chan struct{}, is func(report.Progress) bool) {
	s.t.Helper()
	env := s.environment()
	once := sync.OnceFunc(func() { close(seen) })
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var b report.Progress
		if err := details.Get(&b); err != nil {
			s.t.Error(err)
		}
		if is(b) {
			once()
		}
	})
	if _, err := env.ExecuteActivity(s.acts.Plan, s.call(run.Plan)); err != nil {
		s.t.Error(err)
	}
}

// Workers serve every exported method of Activities to whoever may start a workflow: each takes one message.
func TestEachExportedMethodIsAnActivity(t *testing.T) {
	served := reflect.TypeFor[*activities.Activities]()
	if served.NumMethod() == 0 {
		t.Error("there is none")
	}
	for m := range served.Methods() {
		if in := m.Type.NumIn(); in < 2 || in > 3 || m.Type.In(1) != reflect.TypeFor[context.Context]() || in == 3 && m.Type.In(2).Kind() != reflect.Struct {
			t.Errorf("%s is served as an activity: %s", m.Name, m.Type)
		}
	}
}

func TestNewRefusesHalfAConfiguration(t *testing.T) {
	s := newFixture(t)
	whole := activities.Config{
		Runs: s.runs, Redact: &redact.Redactor{}, LookupEnv: os.LookupEnv, Agents: session.NewPool(0), Survey: noAgents, Probe: noProblem,
		Open: func(activities.Opening) (provider.Provider, error) { return nil, nil },
	}
	if _, err := activities.New(whole); err != nil {
		t.Error(err)
	}
	for i := range 7 {
		part := whole
		[]func(){
			func() { part.Runs = nil }, func() { part.Redact = nil }, func() { part.LookupEnv = nil }, func() { part.Open = nil },
			func() { part.Agents = nil }, func() { part.Survey = nil }, func() { part.Probe = nil },
		}[i]()
		if _, err := activities.New(part); err == nil {
			t.Errorf("%+v is taken", part)
		}
	}
}
