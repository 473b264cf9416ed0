package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Named reports whether everything that the provider needs is named by a path. Then every process on this
// host finds the same, whatever its environment.
func (s Spec) Named() bool {
	return s.Dir != "" || len(s.Argv) > 0 && strings.Contains(s.Argv[0], "/")
}

// Relative reports whether what the provider needs is named by a path that counts from Env.Dir.
func (s Spec) Relative() bool {
	path := s.Dir
	if len(s.Argv) > 0 {
		path = s.Argv[0]
	}
	return s.Named() && !filepath.IsAbs(path)
}

// Probe reports, before a run is started, why the provider cannot work on this machine: its program is not
// there or does not say its version, its key or its address is missing. It calls no model and begins no
// session. A program that does not say its version while ctx lasts is slow, and no fault is found in it.
func (s Spec) Probe(ctx context.Context, env Env) error {
	if err := s.Validate(env.Dir, env.Environ); err != nil {
		return err
	}
	e := registry[s.Kind]
	switch {
	case e.api != nil:
		if _, err := s.openAPI(env); err != nil {
			return fmt.Errorf("provider %s: %w", s, err)
		}
	case e.argv != nil:
		client, ok := e.adapter(s, env).(agent.Versioner)
		if !ok {
			return nil
		}
		if _, err := client.Version(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("provider %s: %w: reinstall it, or name another program", s, err)
		}
	}
	return nil
}

// CheckOptions reports, before a run is started, why the provider does not take the options on this machine.
// It begins no session. The work that the options are for may write files.
func (s Spec) CheckOptions(ctx context.Context, env Env, x setup.Options) error {
	if x.IsZero() {
		return nil
	}
	err := s.checkOptions(ctx, env, x)
	if e, ok := errors.AsType[*failure.Error](err); ok {
		err = errors.New(e.Message)
	}
	if err != nil {
		return fmt.Errorf("provider %s: %w", s, err)
	}
	return nil
}

func (s Spec) checkOptions(ctx context.Context, env Env, x setup.Options) error {
	if err := x.Validate(s.Kind); err != nil || !s.Agent() {
		return err
	}
	if err := env.places().Check(x); err != nil {
		return err
	}
	o := agent.Options{Sandbox: agent.WorkspaceWrite}
	if err := o.AddSetup(x, lookupIn(env.Environ)); err != nil {
		return err
	}
	if c, ok := registry[s.Kind].adapter(s, env).(agent.OptionChecker); ok {
		return c.CheckOptions(ctx, o)
	}
	return nil
}
