package pi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

// noProvider is the provider that pi reports if it has no model at all.
const noProvider = "unknown"

// checkState waits until pi takes input. It checks that the gate is shut if it is
// needed, and that the session is the one to resume.
func (s *session) checkState(ctx context.Context) error {
	data, err := s.callPi(ctx, "get_state")
	if err != nil {
		return err
	}
	var now state
	if err := json.Unmarshal(data, &now); err != nil {
		return newError(failure.Unknown, true, "the state of pi cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if needsGate(s.o) && !s.gateShut {
		return unavailableError("this pi did not load the extension that asks for permissions")
	}
	if now.Model.Provider == noProvider {
		return newError(failure.Auth, false, "pi has no model to use: log in, or set an API key")
	}
	if now.File != "" {
		now.File = s.sandbox.HostPath(s.o, now.File)
	}
	if err := now.checkSession(ctx, s.o); err != nil {
		return err
	}
	s.id, s.model = now.SessionID, now.Model
	s.id = cmp.Or(s.id, s.o.Resume)
	s.Queue.Put(agent.Started{SessionID: s.id, Resumed: s.o.Resume != ""})
	return nil
}

// checkSession returns an error if the session is not the one that o names. A new
// session under that id has no file yet: pi writes it with the first answer of the
// model.
func (now state) checkSession(ctx context.Context, o agent.Options) error {
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
	// If pi cannot use the session's own model, it silently continues with another
	// one, perhaps of another provider and at another price.
	if saved := savedModel(ctx, now.File); saved != "" && saved != now.Model.modelCode() {
		return badRequest("the session's model %s is not available: pi would continue with %s", saved, now.Model.modelCode())
	}
	return nil
}

// startError returns the error of a pi that ended at its start.
func startError(e agent.Exit) error {
	said := func(text string) bool { return strings.Contains(e.Stderr, text) }
	switch {
	case said("No models available"):
		return newError(failure.Auth, false, "pi has no model to use: %s", e.Stderr)
	case said("Failed to load extension"):
		return unavailableError(e.Stderr)
	case said("--list-models"), said("not a valid pi session"): // the text names the model, or the file
		return badRequest("%s", e.Stderr)
	case e.Signal != "":
		return newError(failure.Unknown, true, "pi was killed by %s at its start", e.Signal)
	}
	return newError(failure.Unknown, true, "pi ended at its start with exit code %d: %s", e.Code, e.Stderr)
}

func unavailableError(why string) error {
	return fmt.Errorf("%w: %s", agent.ErrUnavailable, display.Clip(why, failure.MaxMessage))
}
