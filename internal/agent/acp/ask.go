package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// permissionRequest is a permission request in the agent's form.
type permissionRequest struct {
	Call    toolCall           `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

// permissionOption is one of the answers that an agent offers.
type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// waitingRequest is a permission request that waits for a decision.
type waitingRequest struct {
	id      string // of the events
	call    *tool
	options []permissionOption
	answer  chan sdk.RequestPermissionOutcome // has room for it
}

func (a *waitingRequest) answerWith(o sdk.RequestPermissionOutcome) { a.answer <- o }

func cancelledOutcome() sdk.RequestPermissionOutcome {
	return sdk.NewRequestPermissionOutcomeCancelled()
}

// pickOption finds the option for a verdict by its kind, because the order and the
// ids differ between agents. It picks no option that lasts, neither to allow nor
// to deny. The exception is AllowSession, for an agent that is known to keep such
// an option for this session and no longer. For other agents AllowSession is
// Allow. A list of our own would go by the tool's name, which is often no more
// than its kind, so that one command would allow them all
// (CLIENT.md, 2.3).
func pickOption(options []permissionOption, v agent.PermissionVerdict, h habits) (sdk.RequestPermissionOutcome, bool) {
	find := func(kind sdk.PermissionOptionKind, label string) (sdk.RequestPermissionOutcome, bool) {
		for _, o := range options {
			if o.Kind == string(kind) && strings.Contains(strings.ToLower(o.Name), label) {
				return sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(o.ID)), true
			}
		}
		return sdk.RequestPermissionOutcome{}, false
	}
	switch v {
	case agent.AllowSession:
		if o, ok := find(sdk.PermissionOptionKindAllowAlways, "this session"); ok && h.forSession {
			return o, true
		}
		return find(sdk.PermissionOptionKindAllowOnce, "")
	case agent.Allow:
		return find(sdk.PermissionOptionKindAllowOnce, "")
	}
	if o, ok := find(sdk.PermissionOptionKindRejectOnce, ""); ok && v == agent.Deny {
		return o, true
	}
	return cancelledOutcome(), true
}

// takeRequest implements peer. It reports the request and returns a function that
// waits for its answer, which may take days.
func (s *session) takeRequest(params json.RawMessage) func(context.Context) (any, *sdk.RequestError) {
	var r permissionRequest
	if !decodeLenient(params, &r) || r.Call.ID == "" {
		return func(context.Context) (any, *sdk.RequestError) {
			return nil, sdk.NewInvalidParams(map[string]any{"error": "a permission request without a tool call"})
		}
	}
	a := &waitingRequest{options: r.Options, answer: make(chan sdk.RequestPermissionOutcome, 1)}
	s.decideOrWait(a, r.Call)
	return func(ctx context.Context) (any, *sdk.RequestError) {
		select {
		case o := <-a.answer:
			return sdk.RequestPermissionResponse{Outcome: o}, nil
		case <-ctx.Done(): // the agent took the request back, or has ended
			s.takeBack(a)
			return sdk.RequestPermissionResponse{Outcome: cancelledOutcome()}, nil
		}
	}
}

// maxWaiting bounds the requests that wait. No agent that asks a person comes near it.
const maxWaiting = 100

// decideOrWait answers a request by the session's permissions, or lets it wait. It
// allows nothing outside of a turn or in an interrupted turn.
func (s *session) decideOrWait(a *waitingRequest, c toolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.interrupted {
		a.answerWith(cancelledOutcome())
		return
	}
	a.call = s.toolOf(c)
	input, name := a.call.inputAsked(c), a.call.toolName(s.habits)
	s.emitToolUse(a.call, input)
	switch {
	case s.readOnly:
		s.denyRequest(a, "denied: the session is read-only")
	case slices.Contains(s.refused, name):
		s.denyRequest(a, fmt.Sprintf("denied: %s is not allowed", name))
	case slices.Contains(s.allowed, name) && s.allowRequest(a):
	case len(s.requests) >= maxWaiting:
		s.denyRequest(a, "denied: too many calls are waiting for a permission")
	default:
		for a.id = c.ID; s.indexOfWaiting(a.id) >= 0; a.id += "'" {
		}
		s.requests = append(s.requests, a)
		paths := a.call.touchedPaths()
		s.events.Put(agent.Permission{
			CallID: a.id, Tool: name, Input: input, Title: a.call.Title,
			Paths: paths, Edit: a.call.Kind == string(sdk.ToolKindEdit) && len(paths) > 0,
		})
	}
}

// denyRequest denies without asking; the caller holds the lock.
func (s *session) denyRequest(a *waitingRequest, why string) {
	o, _ := pickOption(a.options, agent.Deny, s.habits)
	s.recordDenial(a, why)
	a.answerWith(o)
}

// allowRequest allows a call once, without asking. It returns false if the agent
// offers no such option.
func (s *session) allowRequest(a *waitingRequest) bool {
	o, ok := pickOption(a.options, agent.Allow, s.habits)
	if ok {
		a.answerWith(o)
	}
	return ok
}

func (s *session) recordDenial(a *waitingRequest, why string) {
	a.call.denial = why
	s.turn.denied = append(s.turn.denied, a.call)
}

// indexOfWaiting returns the index of a request among the waiting ones; it is
// negative if the request does not wait.
func (s *session) indexOfWaiting(id string) int {
	return slices.IndexFunc(s.requests, func(a *waitingRequest) bool { return a.id == id })
}

// Decide implements agent.Session. If the agent offers no option for the verdict,
// Decide returns an error and the request still waits.
func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	switch d.Verdict {
	case agent.Allow, agent.AllowSession, agent.Deny, agent.Abort:
	default:
		return fmt.Errorf("unknown verdict %q", d.Verdict)
	}
	answered, err := s.resolveRequest(d)
	if err != nil {
		return err
	}
	return waitUntil(ctx, answered)
}

// resolveRequest answers a request. The channel, unless nil, is closed when the
// agent has the whole answer.
func (s *session) resolveRequest(d agent.PermissionDecision) (answered <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.indexOfWaiting(d.CallID)
	if i < 0 {
		return nil, agent.ErrNotPending
	}
	a := s.requests[i]
	o, ok := pickOption(a.options, d.Verdict, s.habits)
	if !ok {
		return nil, fmt.Errorf("the agent offers no way to allow %s once", a.call.toolName(s.habits))
	}
	s.requests = slices.Delete(s.requests, i, i+1)
	if d.Verdict == agent.Deny || d.Verdict == agent.Abort {
		s.recordDenial(a, strings.TrimSuffix("denied: "+d.Reason, ": "))
	}
	a.answerWith(o)
	if d.Verdict == agent.Abort {
		s.interruptTurn()
		return s.cancelled, nil
	}
	return nil, nil
}

// withdrawRequests removes all waiting requests and returns them; the caller
// answers them. The caller holds the lock.
func (s *session) withdrawRequests(why string) []*waitingRequest {
	all := s.requests
	for _, a := range all {
		if s.turn != nil {
			s.recordDenial(a, why)
		}
		s.events.Put(agent.Withdrawn{CallID: a.id})
	}
	s.requests = nil
	return all
}

func cancelAll(all []*waitingRequest) {
	for _, a := range all {
		a.answerWith(cancelledOutcome())
	}
}

// takeBack withdraws one request, if it still waits.
func (s *session) takeBack(a *waitingRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.requests, a); i >= 0 {
		s.requests = slices.Delete(s.requests, i, i+1)
		s.events.Put(agent.Withdrawn{CallID: a.id})
	}
}
