package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Named reports whether everything that the provider needs is named by a path. Then every process on this
// host finds the same, whatever its environment.
func (s Spec) Named() bool {
	return s.Kind == Replay || (s.Kind == Command || s.Kind == ACP) && len(s.Argv) > 0 && strings.Contains(s.Argv[0], "/")
}

// Probe reports, before a run is started, why the provider cannot work on this machine: its program is not
// there or does not say its version, its key or its address is missing. It calls no model and begins no
// session. A program that does not say its version while ctx lasts is slow, and no fault is found in it.
func (s Spec) Probe(ctx context.Context, env Env) error {
	if err := s.Validate(env.Dir, env.Environ); err != nil {
		return err
	}
	switch s.Kind {
	case Anthropic, OpenAI:
		if _, err := s.openAPI(env); err != nil {
			return fmt.Errorf("provider %s: %w", s, err)
		}
	case Claude, Codex, Pi:
		client, ok := s.newAdapter(env).(agent.Versioner)
		if !ok {
			return nil
		}
		if _, err := client.Version(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("provider %s: %w: install it again, or name another program", s, err)
		}
	}
	return nil
}
