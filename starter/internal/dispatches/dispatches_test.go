package dispatches_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/dispatches"
)

const gid dispatch.GardenID = "20260612T093000-0a1b2c"

// server answers as a Temporal server does: each letter that is given with the
// next of its refusals, then it is taken.
type server struct {
	client.Client
	refusals []error
	ids      []string // of the updates that were asked for
	end      error    // of an update that was taken
	untaken  bool     // whoever gives waits until its context ends
	unended  bool     // the same for whoever waits for the result
}

func (*server) NewWithStartWorkflowOperation(client.StartWorkflowOptions, any, ...any) client.WithStartWorkflowOperation {
	return nil
}

func (s *server) UpdateWithStartWorkflow(ctx context.Context, o client.UpdateWithStartWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	s.ids = append(s.ids, o.UpdateOptions.UpdateID)
	if n := len(s.ids); n <= len(s.refusals) {
		return nil, s.refusals[n-1]
	}
	if s.untaken {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &update{server: s}, nil
}

type update struct {
	client.WorkflowUpdateHandle
	server *server
}

func (u *update) Get(ctx context.Context, result any) error {
	if u.server.unended {
		<-ctx.Done()
		return ctx.Err()
	}
	outcome := dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket}
	*result.(*dispatch.Result) = dispatch.Result{Receipt: dispatch.Resolve(dispatch.FireAndForget, dispatch.Alive, false), Outcome: &outcome}
	return u.server.end
}

func give(ctx context.Context, s *server) (dispatch.Result, error) {
	return dispatches.Client{Temporal: s, Queue: "q"}.Dispatch(ctx, dispatch.Message{ID: "l-1", Request: dispatch.Request{Target: gid}})
}

// A workflow that was ending, or whose worker died with the letter, is asked
// again, with the same letter.
func TestALetterIsGivenUntilItIsTaken(t *testing.T) {
	s := &server{refusals: []error{serviceerror.NewNotFound("the workflow has ended"), serviceerror.NewWorkflowNotReady("Workflow Task in failed state.")}}
	res, err := give(t.Context(), s)
	if err != nil || !res.Succeeded() || strings.Join(s.ids, " ") != "l-1 l-1 l-1" {
		t.Errorf("%+v, %v, given as %v", res, err, s.ids)
	}
}

// Whoever waits is told when a workflow has the letter, not before.
func TestTaken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, row := range map[string]struct {
		server server
		want   int
	}{
		"taken, and under way":  {server{unended: true}, 1},
		"taken after a refusal": {server{refusals: []error{serviceerror.NewNotFound("")}}, 1},
		"not taken":             {server{untaken: true}, 0},
		"refused":               {server{refusals: []error{serviceerror.NewInvalidArgument("no")}}, 0},
	} {
		told, in := 0, ctx
		if !row.server.unended && !row.server.untaken {
			in = t.Context()
		}
		_, _ = dispatches.Client{Temporal: &row.server, Queue: "q", Taken: func() { told++ }}.Dispatch(in, dispatch.Message{ID: "l-1", Request: dispatch.Request{Target: gid}})
		if told != row.want {
			t.Errorf("%s: told %d times", name, told)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, row := range []struct {
		name   string
		server server
		want   string
	}{
		{"a refusal", server{refusals: []error{temporal.NewApplicationError("the message has no id", "x")}}, "dispatch to " + string(gid) + ": the message has no id"},
		{"what the workflow said", server{end: temporal.NewApplicationError("the record is broken", "x")}, "dispatch to " + string(gid) + ": the record is broken"},
		{"a step that failed", server{end: temporal.NewApplicationError("the disk is full", "x")}, "dispatch to " + string(gid) + ": the disk is full"},
		{"a namespace that is not there", server{refusals: []error{serviceerror.NewNamespaceNotFound("n")}}, "dispatch to " + string(gid) + ": Namespace n is not found."},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := give(t.Context(), &row.server); err == nil || err.Error() != row.want {
				t.Errorf("%v", err)
			}
			if n := len(row.server.ids); n != 1 {
				t.Errorf("given %d times", n)
			}
		})
	}
}

// A server that goes away says nothing of the message.
func TestTheServerIsLost(t *testing.T) {
	for _, row := range []struct {
		name   string
		server server
		taken  bool
	}{
		{"before the letter was taken", server{refusals: []error{serviceerror.NewUnavailable("gone")}}, false},
		{"after it was", server{end: client.NewWorkflowUpdateServiceTimeoutOrCanceledError(errors.New("gone"))}, true},
		{"with the workflow", server{end: serviceerror.NewNotFound("no such workflow")}, true},
		{"by a workflow that ended with the letter", server{end: temporal.NewApplicationError("the workflow has ended", "AcceptedUpdateCompletedWorkflow")}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := give(t.Context(), &row.server)
			if cut, ok := errors.AsType[*dispatches.CutOffError](err); !ok || cut.Taken != row.taken || cut.Over != strings.HasPrefix(row.name, "by a workflow that ended") || cut.Workflow != "dispatch-"+string(gid) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Who stops to wait is told what is known then.
func TestCutOff(t *testing.T) {
	for _, row := range []struct {
		name   string
		server server
		taken  bool
		want   string
	}{
		{"before it was taken", server{untaken: true}, false, "if the message was accepted, it is being sent in the workflow dispatch-" + string(gid)},
		{"while it was refused", server{refusals: []error{serviceerror.NewNotFound("")}, untaken: true}, false, "if the message was accepted"},
		{"after it was taken", server{unended: true}, true, "the message is still being sent, in the workflow dispatch-" + string(gid)},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := give(ctx, &row.server)
			cut, ok := errors.AsType[*dispatches.CutOffError](err)
			if !ok || cut.Taken != row.taken || !strings.Contains(err.Error(), row.want) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}
