package pi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// noProvider is what pi has for a provider where it has no model at all.
const noProvider = "unknown"

// greet waits until pi takes input, and makes sure of what was asked for: that
// the gate is shut, and that the session is the one to go on with.
func (s *session) greet(ctx context.Context) error {
	data, err := s.call(ctx, "get_state")
	if err != nil {
		return err
	}
	var now state
	if err := json.Unmarshal(data, &now); err != nil {
		return failed(provider.Unknown, true, "the state of pi cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if gated(s.o) && !s.shut {
		return unavailable("this pi did not load the extension that asks for permissions")
	}
	if now.Model.Provider == noProvider {
		return failed(provider.Auth, false, "pi has no model to use: nobody is logged in, and no key is set")
	}
	if err := now.fits(s.o); err != nil {
		return err
	}
	s.id, s.model = now.SessionID, now.Model
	if s.id == "" {
		s.id = s.o.Resume
	}
	s.queue.Put(agent.Started{SessionID: s.id, Resumed: s.o.Resume != ""})
	return nil
}

// fits says whether this is the session that o names. A fresh one under its id
// has no file yet: pi writes it with the first answer of the model.
func (now state) fits(o agent.Options) error {
	if o.Resume == "" {
		return nil
	}
	if now.SessionID != "" && now.SessionID != o.Resume {
		return agent.ErrNoSession
	}
	if now.File == "" {
		return nil
	}
	if _, err := os.Stat(now.File); err != nil && now.Messages == 0 {
		return agent.ErrNoSession
	}
	if o.Choice().Model != "" {
		return nil
	}
	// Without a word on the wire pi goes on with another model where it cannot
	// have the session's own: another provider, maybe, and another price.
	if saved := modelOf(now.File); saved != "" && saved != now.Model.code() {
		return bad("the session's model %s is not available: pi would go on with %s", saved, now.Model.code())
	}
	return nil
}

// whyExit says what keeps a pi that ended at its start from working.
func whyExit(e agent.Exit) error {
	said := func(text string) bool { return strings.Contains(e.Stderr, text) }
	switch {
	case said("No models available"):
		return failed(provider.Auth, false, "pi has no model to use: %s", e.Stderr)
	case said("Failed to load extension"):
		return unavailable(e.Stderr)
	case said("--list-models"), said("not a valid pi session"): // it names the model, or the file
		return bad("%s", e.Stderr)
	case e.Signal != "":
		return failed(provider.Unknown, true, "pi was killed by %s at its start", e.Signal)
	}
	return failed(provider.Unknown, true, "pi ended at its start with exit code %d: %s", e.Code, e.Stderr)
}

func unavailable(why string) error {
	return fmt.Errorf("%w: %s", agent.ErrUnavailable, provider.Clip(why, provider.MaxMessage))
}
