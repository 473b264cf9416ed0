package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
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
		return started, fmt.Errorf("repository %.200q is no absolute path", s.Repository)
	}
	args := []string{"run", "--detach", "--json", "--runs-dir=" + r.cli.RunsDir, "--task-queue=" + r.cli.Queue, "--goal=" + s.Goal, "--repo=" + s.Repository}
	if s.Provider != "" {
		if err := mayName(s.Provider); err != nil {
			return started, fmt.Errorf("provider: %w", err)
		}
		args = append(args, "--provider="+s.Provider)
	}
	for _, c := range s.Checks {
		args = append(args, "--check="+c)
	}
	var out, said bytes.Buffer
	child := r.cli.Fork(console.Console{
		Program: r.cli.Program, Args: args, In: strings.NewReader(""), Out: &out, Err: &said, Environ: r.cli.Environ, Now: r.cli.Now,
		Width: func() int { return 0 }, Supervised: r.cli.Supervised,
	})
	child.ByAgent = true
	if code := child.Run(ctx); code != 0 {
		lines := strings.Split(strings.TrimSpace(said.String()), "\nstarter: ") // the last says why, those before it are notes
		return started, errors.New(story.OneLine(strings.TrimPrefix(lines[len(lines)-1], "starter: "), 600))
	}
	return started, json.Unmarshal(out.Bytes(), &started)
}

// mayName refuses a provider that only a person names, as a repository's file may not name it.
func mayName(provider string) error {
	if _, err := catalog.Parse(provider); err != nil {
		return err
	}
	if why := settings.Loosens("provider", provider); why != "" {
		return fmt.Errorf("%s %s: a person names it, in the settings or by `starter run`; name an agent or a model, such as claude", display.OneLine(provider, 200), why)
	}
	return nil
}

// Await waits until the run needs a person or has ended, or until ctx ends, and says what it needs.
func (r *remote) Await(ctx context.Context, name string) (any, error) {
	return onNamed(context.WithoutCancel(ctx), r, name, func(f runref.Found) (any, error) { return f.AwaitNeeds(ctx, f.ID) }) // the last look is not cut off
}
