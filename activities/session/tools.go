package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// RunTools serves the tools by which the agent of a session starts runs.
type RunTools interface {
	// Serve serves the agent of one process, until close is called: at a socket that no other session is shown.
	Serve(c Caller) (b *agent.Bridge, close func(), err error)
}

// Caller is the agent of a process as the server of its tools sees it. The functions may be called from several
// goroutines.
type Caller struct {
	Session  session.Input
	Dir      string // of the session, for what the server keeps; no box shows it
	Temporal client.Client
	// Owns reports whether a process is the agent's, or was started by it.
	Owns func(pid int) bool
	// Message returns the id of the message in whose turn the agent is. The error says why the agent may begin nothing.
	Message func() (string, error)
	// Permit decides about a call in the turn of a message as the session decides about the agent's own tools: by its
	// policy, or by a person. It waits for that person, while the turn lasts. The error says why the call may not be made.
	Permit func(ctx context.Context, message string, asked agent.Permission) error
}

// The reasons why an agent may begin nothing.
var (
	errNoMessage  = errors.New("no message is being processed: runs are started in the turn of a message")
	errDelivery   = errors.New("this turn reads a result: it cannot start a run")
	errEndOfTurn  = errors.New("the turn has ended")
	errNoRunTools = errors.New("this worker has no tools for runs: start the session without --mcp ratchet")
)

// openTools serves the agent's tools, if the session has any.
func (s *agentProcess) openTools(ctx context.Context) (closeTools func(), err error) {
	if s.in.Session.Runs == nil {
		return func() {}, nil
	}
	if s.a.Tools == nil {
		return nil, errNoRunTools
	}
	s.own = map[string]chan agent.PermissionDecision{}
	s.bridge, closeTools, err = s.a.Tools.Serve(Caller{
		Session: s.in.Session, Dir: s.slot.Path(), Temporal: activity.GetClient(ctx), Owns: s.ownsProcess, Message: s.messageUnderWay, Permit: s.permitCall,
	})
	if err != nil {
		return nil, fmt.Errorf("serve the tools of the session: %w", err)
	}
	return closeTools, nil
}

// maxDepth bounds the way from a process to the agent's.
const maxDepth = 64

// ownsProcess reports whether the process descends from the agent's.
func (s *agentProcess) ownsProcess(pid int) bool {
	own := int(s.pid.Load())
	for range maxDepth {
		if pid == own || pid <= 1 || own == 0 {
			break
		}
		pid = process.Parent(pid)
	}
	return own > 0 && pid == own
}

func (s *agentProcess) messageUnderWay() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn == nil:
		return "", errNoMessage
	case s.turn.delivery:
		return "", errDelivery
	}
	return s.turn.ID, nil
}

// permitCall puts a call of one of our own tools to the follower, which decides about it as about a call of the agent's,
// and waits for the decision. A call of an earlier turn is refused: a later one may be a delivery's.
func (s *agentProcess) permitCall(ctx context.Context, message string, asked agent.Permission) error {
	decided, err := s.addOwnCall(message, asked.CallID)
	if err != nil {
		return err
	}
	defer s.removeOwnCall(asked.CallID)
	select {
	case s.calls <- asked:
	case d := <-decided: // the turn has ended before the follower has taken the call
		return errorOf(d)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case d := <-decided:
		return errorOf(d)
	case <-ctx.Done():
		select {
		case s.calls <- agent.Withdrawn{CallID: asked.CallID}:
		case <-time.After(withdrawLimit): // the follower of a process that ends takes none
		}
		return fmt.Errorf("the call was given up: %w", ctx.Err())
	}
}

// withdrawLimit bounds the wait for a follower that may have ended.
const withdrawLimit = time.Second

// addOwnCall adds a call of our own tools to those that wait for a decision, if the turn of the message is in progress.
func (s *agentProcess) addOwnCall(message, id string) (<-chan agent.PermissionDecision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.ID != message {
		return nil, errEndOfTurn
	}
	decided := make(chan agent.PermissionDecision, 1)
	s.own[id] = decided
	return decided, nil
}

func (s *agentProcess) removeOwnCall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.own, id)
}

// errorOf returns nil for a call that may be made.
func errorOf(d agent.PermissionDecision) error {
	switch {
	case d.Verdict == agent.Allow || d.Verdict == agent.AllowSession:
		return nil
	case d.Reason == "":
		return errors.New("a person refused it")
	}
	return fmt.Errorf("it was refused: %s", d.Reason)
}

// answerCall sends the decision on a call to our own server, if it is a call of its tools, or to the agent. The caller holds
// s.mu.
func (s *agentProcess) answerCall(ctx context.Context, d agent.PermissionDecision) error {
	decided, ours := s.own[d.CallID]
	if !ours {
		return s.Session.Decide(ctx, d)
	}
	delete(s.own, d.CallID)
	decided <- d
	if d.Verdict == agent.Abort {
		return s.Interrupt(ctx)
	}
	return nil
}

// denyOwnCalls refuses the calls of our own tools that wait for a decision. The caller holds s.mu.
func (s *agentProcess) denyOwnCalls() {
	for id, decided := range s.own {
		delete(s.own, id)
		decided <- agent.PermissionDecision{CallID: id, Verdict: agent.Deny, Reason: errEndOfTurn.Error()}
	}
}
