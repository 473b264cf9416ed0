package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// Host lets other sessions of this host reach a standing session while its agent lives; citizen.Host does.
type Host interface {
	// Open makes the session known to others by the garden id that is given, or by a new id if it is empty.
	// Close makes the session unknown again.
	Open(ctx context.Context, id dispatch.GardenID, dir string, about dispatch.About, s controlsocket.Session) (known dispatch.GardenID, close func(), err error)
}

// registerPeer makes the session known to others, by the same id in each process. Without it the session works
// all the same.
func (s *agentProcess) registerPeer(ctx context.Context) (leave func()) {
	if s.a.Host == nil {
		return func() {}
	}
	in := s.in.Session
	p := &peer{agentProcess: s, temporal: activity.GetClient(ctx), workflow: activity.GetInfo(ctx).WorkflowExecution.ID}
	choice := s.in.Choice.Over(in.Choice())
	about := dispatch.About{Agent: string(in.Kind()), Model: choice.Model, Session: string(in.ID), Goal: in.Title}
	s.mu.Lock()
	id := s.note.Garden
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	id, leave, err := s.a.Host.Open(ctx, id, s.dir, about, p)
	if err != nil {
		_ = s.slot.Dir().Log("agent", rundir.Info, "not addressable", map[string]any{"error": err.Error()}) // the record does not rely on it
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note.Garden = id
	_ = s.note.keepIn(s.slot) // the next process has another address then
	return leave
}

// peer is the session as others reach it. A message of theirs is said to the session like a person's: it waits
// for its turn in the workflow, which survives the agent and the worker.
type peer struct {
	*agentProcess
	temporal client.Client
	workflow string
}

// SayUpdate is the name of the update that says a message to the session.
const SayUpdate = "say"

// Info implements controlsocket.Session.
func (p *peer) Info(context.Context) (controlsocket.Info, error) {
	_, idle := p.idleSince()
	p.mu.Lock()
	defer p.mu.Unlock()
	in := p.in.Session
	model := &controlsocket.Model{ID: in.Model, Provider: string(in.Kind())}
	return controlsocket.Info{SessionID: string(p.note.Garden), CWD: p.dir, Model: model, Idle: idle}, nil
}

// Send implements controlsocket.Session. The message is acknowledged once the workflow has it.
func (p *peer) Send(ctx context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	_, idle := p.idleSince()
	by := "another session"
	if m.Sender != nil {
		by = fmt.Sprintf("%s, %s", m.Sender.AgentID, m.Sender.SessionID)
	}
	handle, err := p.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: p.workflow, UpdateName: SayUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{session.Message{ID: "peer-" + uuid.NewString(), Text: m.Prompt(), By: by}},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return "", controlsocket.ErrNotReady
	}
	if ctx.Err() != nil || isUnsure(err) {
		return "", controlsocket.ErrUncertain
	}
	if err != nil {
		return "", err
	}
	if idle {
		return dispatch.Direct, nil
	}
	return dispatch.Followed, nil
}

// isUnsure reports whether the engine may have taken the update although the call has failed.
func isUnsure(err error) bool {
	_, unreached := errors.AsType[*serviceerror.Unavailable](err)
	_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
	_, timedOut := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err)
	return unreached || late || timedOut
}

// LastMessage implements controlsocket.Session. The answers are in the session's transcripts.
func (*peer) LastMessage(context.Context) (*controlsocket.LastMessage, error) { return nil, nil }

var errPersons = errors.New("the session belongs to a person: end its turn with starter session")

// Abort implements controlsocket.Session.
func (*peer) Abort(context.Context) error { return errPersons }
