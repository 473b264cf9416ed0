package session

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/sessionref"
)

// looked is an engine that gives a session's snapshots one after the other, the last one again and again.
type looked struct {
	client.Client
	t     *testing.T
	snaps []session.Snapshot
	ended enums.WorkflowExecutionStatus // of the workflow, from outside; zero: it was not

	update error // the answer to each update
}

// GetWorkflowHistory returns no events.
func (*looked) GetWorkflowHistory(context.Context, string, string, bool, enums.HistoryEventFilterType) client.HistoryEventIterator {
	return clitest.NoEvents{}
}

func (l *looked) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, l.update
}

func (l *looked) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	p, err := converter.GetDefaultDataConverter().ToPayloads(l.snaps[0])
	if err != nil {
		l.t.Fatal(err)
	}
	if len(l.snaps) > 1 {
		l.snaps = l.snaps[1:]
	}
	return client.NewValue(p), nil
}

func (l *looked) QueryWorkflowWithOptions(ctx context.Context, r *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if l.ended != 0 && r.QueryRejectCondition == enums.QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY {
		return &client.QueryWorkflowWithOptionsResponse{QueryRejected: &querypb.QueryRejected{Status: l.ended}}, nil
	}
	v, err := l.QueryWorkflow(ctx, "", "", "")
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: v}, err
}

// followed returns a command line that follows the session of the engine.
func followed(t *testing.T, l looked) (c *factory.Factory, s sessionref.Found, out *bytes.Buffer) {
	l.t, out = t, &bytes.Buffer{}
	c = factory.New(console.Console{Out: out, Err: out, Now: time.Now}, nil)
	c.RunsDir = t.TempDir()
	return c, sessionref.Found{Client: sessions.Client{Temporal: &l}, ID: "s1"}, out
}

// snapshots returns the states that a session takes when the events happen to it.
func snapshots(t *testing.T, events ...session.Event) (list []session.Snapshot) {
	t.Helper()
	s := session.New(session.Input{ID: "s1", Provider: "claude", Repository: run.Repository{Path: "/r", Base: "c"}}, time.Now())
	for _, e := range events {
		if err := s.Apply(time.Now(), e); err != nil {
			t.Fatal(err)
		}
		now := *s
		now.Asks = append([]session.Ask(nil), s.Asks...)
		list = append(list, now)
	}
	return list
}

// TestEachCallThatWaitsIsTold has the agent ask for its next call before the next look at the session.
func TestEachCallThatWaitsIsTold(t *testing.T) {
	asked := func(n int, call string) session.Report {
		return session.Report{Epoch: 1, N: n, Asked: &run.Permission{CallID: call, Tool: call, Digest: run.DigestOf([]byte(call))}}
	}
	all := snapshots(t, session.Said{Message: session.Message{ID: "m1", Text: "do"}}, session.ProcessStarting{},
		session.Report{Epoch: 1, N: 1, Ready: &session.Ready{Queue: "own"}}, session.HandingBegun{},
		asked(2, "Read"), session.Report{Epoch: 1, N: 3, Withdrawn: &session.Withdrew{CallID: "Read"}}, asked(4, "Write"),
		session.StopAsked{}, session.RetireAsked{}, session.ProcessEnded{Epoch: 1, End: session.Ended}, session.Retirement{})
	working, first, second, retired := all[3], all[4], all[6], all[10]
	c, s, out := followed(t, looked{snaps: []session.Snapshot{working, first, second, retired}})
	if err := Watch(t.Context(), c, s); err != nil {
		t.Fatal(err)
	}
	for _, a := range []session.Ask{first.Asks[0], second.Asks[0]} {
		if !strings.Contains(out.String(), "approve --approval "+a.ApprovalID) {
			t.Errorf("%s is not told:\n%s", a.Permission.Tool, out)
		}
	}
}

// TestFollowingEndsWithTheWorkflow has the workflow of a session terminated from outside: its last state stays what it was.
func TestFollowingEndsWithTheWorkflow(t *testing.T) {
	working := snapshots(t, session.Said{Message: session.Message{ID: "m1", Text: "do"}}, session.ProcessStarting{},
		session.Report{Epoch: 1, N: 1, Ready: &session.Ready{Queue: "own"}}, session.HandingBegun{})[3:]
	for what, follow := range map[string]func(*factory.Factory, sessionref.Found) error{
		"watch": func(c *factory.Factory, s sessionref.Found) error { return Watch(t.Context(), c, s) },
		"say": func(c *factory.Factory, s sessionref.Found) error {
			if err := awaitAnswer(t.Context(), c, s, "m1"); err == nil || !strings.Contains(err.Error(), "terminated") {
				return errors.Join(errors.New("not refused"), err)
			}
			return nil
		},
	} {
		c, s, out := followed(t, looked{snaps: working, ended: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED})
		if err := follow(c, s); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}

// TestAnAnswerThatIsForgottenIsNotAwaited waits for a message that ended more than a hundred messages ago.
func TestAnAnswerThatIsForgottenIsNotAwaited(t *testing.T) {
	idle := snapshots(t, session.ProcessStarting{}, session.Report{Epoch: 1, N: 1, Ready: &session.Ready{Queue: "own"}})[1:]
	c, s, _ := followed(t, looked{snaps: idle})
	if err := awaitAnswer(t.Context(), c, s, "m1"); err == nil || !strings.Contains(err.Error(), "last 100 messages") {
		t.Errorf("error %v", err)
	}
}

// TestAMessageThatMayBeTakenLaterIsSaidOnce says something while no worker answers. The engine keeps the message, and the
// next worker takes it.
func TestAMessageThatMayBeTakenLaterIsSaidOnce(t *testing.T) {
	_, s, _ := followed(t, looked{update: serviceerror.NewDeadlineExceeded("no poller")})
	err := sayOnce(t.Context(), s.Client, s.ID, session.Message{ID: "m1", Text: "do"})
	if !errors.Is(err, runs.ErrNoWorker) || !strings.Contains(err.Error(), "--message-id m1") {
		t.Errorf("error %v", err)
	}
	_, s, _ = followed(t, looked{update: serviceerror.NewNotFound("no such workflow")})
	if err := sayOnce(t.Context(), s.Client, s.ID, session.Message{ID: "m1", Text: "do"}); err == nil || strings.Contains(err.Error(), "--message-id") {
		t.Errorf("error %v", err)
	}
}

// TestALongMessageIsNotCutAtABlank has a message on standard input that would fit without its end.
func TestALongMessageIsNotCutAtABlank(t *testing.T) {
	long := strings.Repeat("x", session.MaxMessage)
	for text, fits := range map[string]bool{long: true, long + "\n \n": true, long + strings.Repeat(" ", 9000) + "y": false} {
		c := factory.New(console.Console{In: strings.NewReader(text)}, nil)
		got, err := textArgument(c, "-")
		if (err == nil && len(got) <= session.MaxMessage) != fits {
			t.Errorf("of %d bytes %d are said, %v", len(text), len(got), err)
		}
	}
}
