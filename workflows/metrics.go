package workflows

import (
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The metrics of runs. Temporal's SDK adds its own. docs/observing.md describes them. No label names a run, a
// repository, a goal or a person, so that the number of series is bounded.
const (
	runsStarted  = "ratchet_runs_started"
	runsEnded    = "ratchet_runs_ended"     // by status
	runDuration  = "ratchet_run_duration"   // by status
	phasesBegun  = "ratchet_phases_started" // by phase
	providerCall = "ratchet_provider_calls" // by role, provider, outcome
	tokensUsed   = "ratchet_tokens"         // by role, provider, direction
	costMicros   = "ratchet_cost_micros"    // by role, provider
	patches      = "ratchet_patches"        // by outcome
	evaluations  = "ratchet_evaluations"    // by outcome
	personWait   = "ratchet_wait_for_people"
)

type labels = map[string]string

// countEvent counts an event in the worker's metrics. was is the run before the event. The handler of a workflow counts
// nothing while the workflow is replayed.
func (r *runner) countEvent(ctx workflow.Context, was *run.Snapshot, e run.Event) {
	m := workflow.GetMetricsHandler(ctx)
	count := func(name string, l labels) { m.WithTags(l).Counter(name).Inc(1) }
	waited := func(kind string) {
		m.WithTags(labels{"kind": kind}).Timer(personWait).Record(e.TS.Sub(was.State.UpdatedAt))
	}
	decided := func(outcome string) {
		if was.Approval.Permission != nil {
			waited("tool")
			return
		}
		waited("patch")
		count(patches, labels{"outcome": outcome})
	}
	call := func(outcome string) {
		count(providerCall, r.callLabels(was.Phase(), "outcome", outcome))
	}
	switch p := e.Payload.(type) {
	case run.RunCreated:
		count(runsStarted, nil)
	case run.PhaseStarted:
		count(phasesBegun, labels{"phase": string(e.Phase)})
	case run.PhaseCompleted:
		if p.Artifact != nil {
			call(string(p.Result))
		}
	case run.PhaseFailed:
		call("failed")
	case run.PatchProduced:
		call("patch")
		count(patches, labels{"outcome": "proposed"})
	case run.ApprovalGranted:
		decided("approved")
	case run.ApprovalRejected:
		decided("rejected")
	case run.PatchApplied:
		count(patches, labels{"outcome": "applied"})
	case run.PatchApplyFailed:
		count(patches, labels{"outcome": "refused"})
	case run.EvaluationPassed:
		count(evaluations, labels{"outcome": "passed"})
	case run.EvaluationFailedFixable:
		count(evaluations, labels{"outcome": "fixable"})
	case run.EvaluationFailedBlocked:
		count(evaluations, labels{"outcome": "blocked"})
	case run.QuestionAnswered:
		waited("question")
	case run.RunCompleted, run.RunFailed, run.RunCanceled:
		l := labels{"status": string(r.s.State.Status)}
		count(runsEnded, l)
		m.WithTags(l).Timer(runDuration).Record(e.TS.Sub(r.s.State.CreatedAt))
	}
	r.countUsage(m, was.Phase(), r.s.Usage.Sub(was.Usage))
}

// countUsage counts what an event added to the usage of the run. A provider that reports only the total has the direction
// "total".
func (r *runner) countUsage(m client.MetricsHandler, phase run.Phase, u run.Usage) {
	count := func(direction string, n int64) {
		if n > 0 {
			m.WithTags(r.callLabels(phase, "direction", direction)).Counter(tokensUsed).Inc(n)
		}
	}
	count("input", u.InputTokens)
	count("output", u.OutputTokens)
	count("total", u.TotalTokens-u.InputTokens-u.OutputTokens)
	if u.Cost > 0 {
		m.WithTags(r.callLabels(phase)).Counter(costMicros).Inc(int64(u.Cost))
	}
}

// callLabels returns the labels of a provider call: the role, the kind of the provider without its model or command
// line, and the pair.
func (r *runner) callLabels(phase run.Phase, pair ...string) labels {
	role := phase.Role()
	kind, _, _ := strings.Cut(r.s.Input.Providers.For(role), ":")
	l := labels{"role": string(role), "provider": kind}
	for i := 0; i+1 < len(pair); i += 2 {
		l[pair[i]] = pair[i+1]
	}
	return l
}
