package claude

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// greeting is what the client says of itself when it takes input (docs/contracts/claude-code.md, 7).
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

// greet asks the client to begin and waits until it takes input. Of a fresh
// session the id is known then: it is ours.
func (s *session) awaitGreeting(ctx context.Context) (greeting, error) {
	// A client that is gone says in its exit why.
	s.sendRequest("initialize")
	select {
	case g := <-s.greetResults:
		if g.err != nil {
			return greeting{}, g.err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.id.resumed {
			s.tellStarted(s.id.adoptID(s.id.id))
		}
		return g.greeting, nil
	case <-ctx.Done():
		return greeting{}, ctx.Err()
	}
}

// started passes on how the start went; all but the first word are dropped.
func (s *session) reportStart(g greetResult) {
	select {
	case s.greetResults <- g:
	default:
	}
}

// answered takes the answer to a request of ours. Only the first one matters:
// an interrupt shows in the result of the turn.
func (s *session) takeResponse(r *controlResponse) {
	if r == nil {
		return
	}
	var g greetResult
	if r.Subtype == "error" {
		g.err = newError(provider.BadRequest, false, "Claude Code did not start: %s", r.Error)
	} else if err := json.Unmarshal(r.Response, &g.greeting); err != nil {
		g.greeting = greeting{} // it takes input all the same
	}
	s.reportStart(g)
}

// whyExit says what keeps a client that ended at its start from working.
func startError(e agent.Exit) error {
	said := func(text string) bool { return strings.Contains(e.Stderr, text) }
	switch {
	case said(unknownSession):
		return agent.ErrNoSession
	case said("root/sudo"), said("unknown option"):
		return unavailableError(e.Stderr)
	case e.Signal != "":
		return newError(provider.Unknown, true, "Claude Code was killed by %s at its start", e.Signal)
	}
	return newError(provider.Unknown, true, "Claude Code ended at its start with exit code %d: %s", e.Code, e.Stderr)
}
