package claude

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// greeting is the client's description of itself when it takes input
// (CLIENT.md, 7).
type greeting struct {
	Models []struct {
		Value       string `json:"value"`
		Resolved    string `json:"resolvedModel"`
		Name        string `json:"displayName"`
		Description string `json:"description"`
	} `json:"models"`
}

type greetResult struct {
	greeting greeting
	err      error
}

// awaitGreeting asks the client to begin and waits until it takes input. It then
// reports the id of a fresh session, which is ours.
func (s *session) awaitGreeting(ctx context.Context) (greeting, error) {
	// The exit of a client that has ended says why, so the error is not needed.
	s.sendRequest("initialize")
	select {
	case g := <-s.greetResults:
		if g.err != nil {
			return greeting{}, g.err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.id.resumed {
			s.emitStarted(s.id.adoptID(s.id.id))
		}
		return g.greeting, nil
	case <-ctx.Done():
		return greeting{}, ctx.Err()
	}
}

// reportStart passes on the result of the start; only the first result counts.
func (s *session) reportStart(g greetResult) {
	select {
	case s.greetResults <- g:
	default:
	}
}

// takeResponse handles the response to a request of ours. Only the first response
// matters: the effect of an interrupt is in the result of the turn.
func (s *session) takeResponse(r *controlResponse) {
	if r == nil {
		return
	}
	var g greetResult
	if r.Subtype == "error" {
		g.err = newError(failure.BadRequest, false, "Claude Code did not start: %s", r.Error)
	} else if err := json.Unmarshal(r.Response, &g.greeting); err != nil {
		g.greeting = greeting{} // the client takes input all the same
	}
	s.reportStart(g)
}

// startError returns the error of a client that ended at its start.
func startError(e agent.Exit) error {
	said := func(text string) bool { return strings.Contains(e.Stderr, text) }
	switch {
	case said(unknownSession):
		return agent.ErrNoSession
	case said("root/sudo"), said("unknown option"):
		return unavailableError(e.Stderr)
	case e.Signal != "":
		return newError(failure.Unknown, true, "Claude Code was killed by %s at its start", e.Signal)
	}
	return newError(failure.Unknown, true, "Claude Code ended at its start with exit code %d: %s", e.Code, e.Stderr)
}
