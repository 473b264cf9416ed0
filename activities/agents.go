package activities

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// AgentsResult lists the agents that can work for this worker.
type AgentsResult struct {
	Agents []agent.Manifest `json:"agents"`
}

// Agents looks for the agents on this machine. A second call looks again.
func (a *Activities) Agents(ctx context.Context) (AgentsResult, error) {
	return AgentsResult{Agents: a.survey(ctx)}, nil
}

// ProbeInput names the providers of a run that is about to start.
type ProbeInput struct {
	Specs []string `json:"specs"`
	Dir   string   `json:"dir,omitempty"` // the working directory of their programs
	// Sandbox is the policy of the run.
	Sandbox run.Sandbox `json:"sandbox,omitempty"`
	// Options are those that a provider has in the run, by its spec.
	Options map[string]setup.Options `json:"options,omitempty"`
}

// ProbeResult says in one line for each provider that cannot work here why, and what helps.
type ProbeResult struct {
	Problems []string `json:"problems,omitempty"`
	// Notify holds the channels by which the worker notifies people about runs.
	Notify []run.Channel `json:"notify,omitempty"`
}

// probeLimit bounds the look at one provider.
const probeLimit = 8 * time.Second

// Probe looks whether the providers can work on this machine: it looks for programs and keys, and calls no
// model. A second call looks again.
func (a *Activities) Probe(ctx context.Context, in ProbeInput) (ProbeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	found := make([]string, len(in.Specs))
	var all sync.WaitGroup
	for i, spec := range in.Specs {
		all.Go(func() {
			if err := a.probe(ctx, Opening{Spec: spec, Dir: in.Dir, Sandbox: in.Sandbox, Options: in.Options[spec]}); err != nil {
				found[i] = display.Clip(a.redact.String(err.Error()), 2*report.MaxSummary)
			}
		})
	}
	all.Wait()
	return ProbeResult{Problems: slices.DeleteFunc(found, func(why string) bool { return why == "" }), Notify: a.notify}, nil
}
