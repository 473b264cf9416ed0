package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
)

// PageCommands are the commands that the review page of this process offers.
type PageCommands struct {
	Factory    *factory.Factory
	Toolchains []string // of the worker
}

// Merge merges as `starter merge` does.
func (p PageCommands) Merge(ctx context.Context, id run.ID, into, by string) error {
	args := []string{"merge", "--into=" + into}
	if by != p.Factory.UserName() { // else git's own identity says it better
		args = append(args, "--by="+by)
	}
	for _, dir := range p.Toolchains {
		args = append(args, "--toolchain="+dir)
	}
	_, err := p.Factory.Call(ctx, append(args, "--", string(id))...)
	return err
}

// Undo undoes as `starter undo` does.
func (p PageCommands) Undo(ctx context.Context, id run.ID, from, by string) error {
	args := []string{"undo", "--from=" + from}
	if by != p.Factory.UserName() {
		args = append(args, "--by="+by)
	}
	_, err := p.Factory.Call(ctx, append(args, "--", string(id))...)
	return err
}

// Retry starts a run as `starter retry` does.
func (p PageCommands) Retry(ctx context.Context, id run.ID, onto string) (run.ID, error) {
	args := []string{"retry", "--detach", "--json"}
	if onto != "" {
		args = append(args, "--onto="+onto)
	}
	return p.begin(ctx, append(args, "--", string(id))...)
}

// Start starts a run as `starter run` does. It takes the name of an agent or a model; a program is named in the settings.
func (p PageCommands) Start(ctx context.Context, n review.NewRun) (run.ID, error) {
	args := []string{"run", "--detach", "--json", "--repo=" + n.Repository}
	for _, value := range n.Set {
		args = append(args, "--set="+value)
	}
	if n.Provider != "" {
		if err := newrun.MayName(n.Provider); err != nil {
			return "", fmt.Errorf("provider: %w", err)
		}
		args = append(args, "--provider="+n.Provider)
	}
	if n.Saved {
		return p.begin(ctx, append(args, "--", n.Goal)...)
	}
	return p.begin(ctx, append(args, "--goal="+n.Goal)...)
}

// Goals lists the saved goals as `starter run --goals` does.
func (p PageCommands) Goals(ctx context.Context, repository string) (list []review.SavedGoal, err error) {
	out, err := p.Factory.Call(ctx, "run", "--goals", "--json", "--repo="+repository)
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	return list, err
}

// begin returns the run that a command starts.
func (p PageCommands) begin(ctx context.Context, args ...string) (run.ID, error) {
	out, err := p.Factory.Call(ctx, args...)
	var started runtools.Started
	if err == nil {
		err = json.Unmarshal(out, &started)
	}
	if err == nil && started.RunID == "" {
		err = errors.New("the command names no run")
	}
	return started.RunID, err
}
