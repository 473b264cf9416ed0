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

// request is a permission request.
type request struct {
	Call    toolCall `json:"toolCall"`
	Options []choice `json:"options"`
}

// choice is one of the answers that an agent offers.
type choice struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// ask is a permission request that waits for a decision.
type ask struct {
	id      string // of the events
	call    *tool
	options []choice
	answer  chan sdk.RequestPermissionOutcome // has room for it
}

func (a *ask) settle(o sdk.RequestPermissionOutcome) { a.answer <- o }

func cancelled() sdk.RequestPermissionOutcome { return sdk.NewRequestPermissionOutcomeCancelled() }

// pick finds the option for a verdict by its kind: the order and the ids are
// different with every agent. Nothing that lasts is picked, neither to allow nor
// to deny, except for AllowSession what an agent of which we know it keeps for
// this session and no longer. Elsewhere AllowSession is Allow: a list of our own
// would go by the tool's name, and that is often no more than its kind, so that
// one command would allow them all (docs/contracts/acp.md, 2.3).
func pick(options []choice, v agent.PermissionVerdict, h habits) (sdk.RequestPermissionOutcome, bool) {
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
	return cancelled(), true
}

// ask implements peer: it tells of the request and returns the wait for its
// answer, which may take days.
func (s *session) ask(params json.RawMessage) func(context.Context) (any, *sdk.RequestError) {
	var r request
	if !read(params, &r) || r.Call.ID == "" {
		return func(context.Context) (any, *sdk.RequestError) {
			return nil, sdk.NewInvalidParams(map[string]any{"error": "a permission request for no tool call"})
		}
	}
	a := &ask{options: r.Options, answer: make(chan sdk.RequestPermissionOutcome, 1)}
	s.put(a, r.Call)
	return func(ctx context.Context) (any, *sdk.RequestError) {
		select {
		case o := <-a.answer:
			return sdk.RequestPermissionResponse{Outcome: o}, nil
		case <-ctx.Done(): // the agent took it back, or is gone
			s.takeBack(a)
			return sdk.RequestPermissionResponse{Outcome: cancelled()}, nil
		}
	}
}

// put decides a request by what the session may do, or lets it wait. Outside of
// a turn, and in one that was given up, nothing is allowed any more.
func (s *session) put(a *ask, c toolCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.interrupted {
		a.settle(cancelled())
		return
	}
	a.call = s.tool(c)
	s.tell(a.call, c.input())
	name := a.call.name(s.habits)
	switch {
	case s.readOnly:
		s.deny(a, "denied: the session is read-only")
	case slices.Contains(s.refused, name):
		s.deny(a, fmt.Sprintf("denied: %s may not be used", name))
	case slices.Contains(s.allowed, name) && s.allow(a):
	default:
		for a.id = c.ID; s.waiting(a.id) >= 0; a.id += "'" {
		}
		s.asks = append(s.asks, a)
		paths := a.call.paths()
		s.events.Put(agent.Permission{
			CallID: a.id, Tool: name, Input: c.input(), Title: a.call.Title,
			Paths: paths, Edit: a.call.Kind == string(sdk.ToolKindEdit) && len(paths) > 0,
		})
	}
}

// deny denies without asking; the caller holds the lock.
func (s *session) deny(a *ask, why string) {
	o, _ := pick(a.options, agent.Deny, s.habits)
	s.denied(a, why)
	a.settle(o)
}

// allow allows without asking, where that can be done once.
func (s *session) allow(a *ask) bool {
	o, ok := pick(a.options, agent.Allow, s.habits)
	if ok {
		a.settle(o)
	}
	return ok
}

func (s *session) denied(a *ask, why string) {
	a.call.denial = why
	s.turn.denied = append(s.turn.denied, a.call)
}

// waiting is the place of a request among those that wait; negative when it
// does not.
func (s *session) waiting(id string) int {
	return slices.IndexFunc(s.asks, func(a *ask) bool { return a.id == id })
}

// Decide implements agent.Session. A verdict that the agent offers no option for
// is an error, and the request still waits.
func (s *session) Decide(ctx context.Context, d agent.PermissionDecision) error {
	switch d.Verdict {
	case agent.Allow, agent.AllowSession, agent.Deny, agent.Abort:
	default:
		return fmt.Errorf("no verdict %q", d.Verdict)
	}
	told, err := s.decide(d)
	if err != nil {
		return err
	}
	return until(ctx, told)
}

// decide settles a request; what it returns is closed when the agent was told
// all of it.
func (s *session) decide(d agent.PermissionDecision) (told <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.waiting(d.CallID)
	if i < 0 {
		return nil, agent.ErrNotPending
	}
	a := s.asks[i]
	o, ok := pick(a.options, d.Verdict, s.habits)
	if !ok {
		return nil, fmt.Errorf("the agent offers no way to allow %s once", a.call.name(s.habits))
	}
	s.asks = slices.Delete(s.asks, i, i+1)
	if d.Verdict == agent.Deny || d.Verdict == agent.Abort {
		s.denied(a, strings.TrimSuffix("denied: "+d.Reason, ": "))
	}
	a.settle(o)
	if d.Verdict == agent.Abort {
		s.interrupt()
		return s.cancelled, nil
	}
	return nil, nil
}

// withdraw takes back all requests that wait, which the caller answers; it holds
// the lock.
func (s *session) withdraw(why string) []*ask {
	all := s.asks
	for _, a := range all {
		if s.turn != nil {
			s.denied(a, why)
		}
		s.events.Put(agent.Withdrawn{CallID: a.id})
	}
	s.asks = nil
	return all
}

func cancelAll(all []*ask) {
	for _, a := range all {
		a.settle(cancelled())
	}
}

// takeBack withdraws one request, if it still waits.
func (s *session) takeBack(a *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.asks, a); i >= 0 {
		s.asks = slices.Delete(s.asks, i, i+1)
		s.events.Put(agent.Withdrawn{CallID: a.id})
	}
}
