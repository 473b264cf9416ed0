package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

// Start starts a run as `starter run --detach` does, tightened whatever the settings are (session.Tighten,
// settings.Values.ForAgent): the agent chooses the repository, too. A value of the agent is never read as a flag.
func (r *remote) Start(ctx context.Context, s tools.Start) (started runtools.Started, err error) {
	if err := r.cli.MayDecide(); err != nil {
		return started, err
	}
	if !filepath.IsAbs(s.Repository) {
		return started, fmt.Errorf("repository %.200q is not an absolute path", s.Repository)
	}
	args := []string{"run", "--" + newrun.ByAgentFlag, "--detach", "--json", "--goal=" + s.Goal, "--repo=" + s.Repository}
	if s.Provider != "" {
		if err := newrun.MayName(s.Provider); err != nil {
			return started, fmt.Errorf("provider: %w", err)
		}
		args = append(args, "--provider="+s.Provider)
	}
	for _, c := range s.Checks {
		args = append(args, "--check="+c)
	}
	out, err := r.cli.Call(ctx, args...)
	if err != nil {
		return started, errors.New(story.OneLine(err.Error(), 600))
	}
	return started, json.Unmarshal(out, &started)
}

// Await waits until the run needs a person or has ended, or until ctx ends, and says what it needs.
func (r *remote) Await(ctx context.Context, name string) (any, error) {
	return onNamed(context.WithoutCancel(ctx), r, name, func(f runref.Found) (any, error) { return f.AwaitNeeds(ctx, f.ID) }) // the last look is not cut off
}
