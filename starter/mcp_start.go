package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

// strictFlags are said for every run that an agent starts, whatever the settings are: a person sees each patch and each
// tool call, and the box holds what the run executes.
var strictFlags = []string{"--approve=" + string(run.Always), "--tools=" + string(run.AskTools), "--sandbox=" + string(run.SandboxRequired), "--network=false"}

// Start starts a run as `starter run --detach` does. A value of the agent is never read as a flag.
func (r *remote) Start(ctx context.Context, s tools.Start) (started tools.Started, err error) {
	if err := r.cli.mayDecide(); err != nil {
		return started, err
	}
	if !filepath.IsAbs(s.Repository) {
		return started, fmt.Errorf("repository %.200q is no absolute path", s.Repository)
	}
	args := append([]string{"run", "--detach", "--json", "--runs-dir=" + r.cli.runsDir, "--task-queue=" + r.cli.queue, "--goal=" + s.Goal, "--repo=" + s.Repository}, strictFlags...)
	if s.Provider != "" {
		spec, err := catalog.Parse(s.Provider)
		if err == nil && spec.Named() {
			err = errors.New("a program is named by a person, in the settings or by `starter run`: name an agent or a model, such as claude")
		}
		if err != nil {
			return started, fmt.Errorf("provider: %w", err)
		}
		args = append(args, "--provider="+s.Provider)
	}
	for _, c := range s.Checks {
		args = append(args, "--check="+c)
	}
	var out, said bytes.Buffer
	child := newCLI(console{
		program: r.cli.program, args: args, in: strings.NewReader(""), out: &out, err: &said, environ: r.cli.environ, now: r.cli.now,
		width: func() int { return 0 }, supervised: r.cli.supervised,
	})
	if code := child.main(ctx); code != 0 {
		lines := strings.Split(strings.TrimSpace(said.String()), "\nstarter: ") // the last says why, those before it are notes
		return started, errors.New(story.OneLine(strings.TrimPrefix(lines[len(lines)-1], "starter: "), 600))
	}
	return started, json.Unmarshal(out.Bytes(), &started)
}

// awaitEvery is the pace of the looks at a run that is waited for.
const awaitEvery = time.Second

// Await waits until the run needs a person or has ended, or until ctx ends, and says what it needs.
func (r *remote) Await(ctx context.Context, name string) (tools.Needs, error) {
	last := context.WithoutCancel(ctx) // the last look is not cut off
	return onNamed(last, r, name, func(f found) (tools.Needs, error) {
		for {
			n, err := f.lookOnce(last)
			if err != nil || n.Over || n.Waits {
				return n, err
			}
			wait := time.NewTimer(awaitEvery)
			select {
			case <-ctx.Done():
				wait.Stop()
				return n, nil
			case <-wait.C:
			}
		}
	})
}

// lookOnce looks at the run once.
func (f found) lookOnce(ctx context.Context) (tools.Needs, error) {
	e, err := f.Describe(ctx, f.id)
	if err != nil {
		return tools.Needs{}, err
	}
	if e.Status.Terminal() {
		return tools.NewNeeds(f.id, e.Name, e.Status, nil), nil
	}
	p, err := f.Pending(ctx, f.id)
	if err != nil {
		return tools.Needs{}, err
	}
	return tools.NewNeeds(f.id, e.Name, p.Status, &p), nil
}
