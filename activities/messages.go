package activities

import (
	"fmt"
	"time"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Header names a run, the repository that it works on and its sandbox policy, and carries the events that are not on
// disk yet. An activity that takes a Header writes these events to the record before it acts. The
// record therefore holds only events that the engine has already kept, needs no round trip of its
// own, and is up to date when an activity reads it.
type Header struct {
	RunID      run.ID         `json:"runId"`
	Name       run.Name       `json:"name,omitempty"`
	Repository run.Repository `json:"repository"`
	// Sandbox is the run's policy for the box; empty means run.SandboxRequired.
	Sandbox run.Sandbox `json:"sandbox,omitempty"`
	// Branch is the name of the run's branch; empty means the name by run.ID.Branch.
	Branch string       `json:"branch,omitempty"`
	Entry  rundir.Entry `json:"entry,omitzero"`
}

// SetHeader replaces the header of the input that embeds it.
func (h *Header) SetHeader(header Header) { *h = header }

// Call describes one provider call. Its phase, iteration, number and candidate name
// its artifacts. A second attempt at the same call finds the answer of the first.
type Call struct {
	Header
	Phase     run.Phase     `json:"phase"`
	Iteration int           `json:"iteration"`
	Number    int           `json:"number"`
	Provider  string        `json:"provider"`
	Dir       string        `json:"dir,omitempty"`
	Timeout   time.Duration `json:"timeout"`
	Head      run.Commit    `json:"head"`
	Patches   run.Size      `json:"patches,omitzero"` // bounds the patch of the answer
	Checks    []string      `json:"checks,omitempty"` // will judge the patch; a change of a file that they run needs a person

	// Slot names the agent session that serves the call. Permits holds the decisions
	// on the session's tools. Left holds the rest of the budgets.
	Slot    string        `json:"slot,omitempty"`
	Tools   run.Tools     `json:"tools,omitempty"`
	Network bool          `json:"network,omitempty"`
	Permits []run.Permit  `json:"permits,omitempty"`
	Left    provider.Left `json:"left,omitzero"`
	// Options are those that hold for the phase's role.
	Options setup.Options `json:"options,omitzero"`
	// Candidate is the number, from 1, of the contest's candidate that the call is
	// for; zero: there is no contest.
	Candidate int `json:"attempt,omitempty"`
	// Lost is a proposal of the phase that could not be applied because its artifacts
	// were gone. If they are back, the proposal is the answer and nothing is paid.
	Lost *run.Proposal `json:"lost,omitempty"`
}

// Artifact names an artifact of the call.
func (c Call) Artifact(suffix string) string {
	if c.Candidate > 0 {
		suffix = fmt.Sprintf("try-%d.%s", c.Candidate, suffix)
	}
	return rundir.Artifact(c.Phase, c.Iteration, c.Number, suffix)
}

// patchName names the patch of the call's phase and iteration. There is at most one for each
// candidate. Its name does not depend on the number of the call that answered with it.
func (c Call) patchName() string {
	c.Number = 1
	return c.Artifact("patch")
}

// Answer is the result of an activity that calls a provider.
type Answer interface {
	// Halted returns the reason why there is no answer, nil if there is one, and the
	// usage of the call so far.
	Halted() (*run.Halt, run.Usage)
}

// Halted implements Answer.
func (p PlanResult) Halted() (*run.Halt, run.Usage) { return p.Halt, p.Usage }

// Halted implements Answer.
func (p ProposeResult) Halted() (*run.Halt, run.Usage) { return p.Halt, p.Usage }

// Halted implements Answer.
func (j Judgement) Halted() (*run.Halt, run.Usage) {
	if j.Usage == nil {
		return j.Halt, run.Usage{}
	}
	return j.Halt, *j.Usage
}

// PlanResult holds the plan that the planner wrote.
type PlanResult struct {
	Plan    run.Ref     `json:"plan"`
	Summary string      `json:"summary"`
	Usage   run.Usage   `json:"usage"`
	Retries []run.Retry `json:"retries,omitempty"`
	Halt    *run.Halt   `json:"halt,omitempty"` // then there is no plan
}

// ProposeResult holds the answer of the developer or the fixer. At most one of Halt,
// Violation, Question and Proposal is set. If none is, the answer is a NOOP.
type ProposeResult struct {
	Raw       run.Ref       `json:"raw"`
	Halt      *run.Halt     `json:"halt,omitempty"`
	Summary   string        `json:"summary,omitempty"`
	Violation *run.Problem  `json:"violation,omitempty"` // the answer breaks the output contract
	Question  *run.Question `json:"question,omitempty"`
	Proposal  *run.Proposal `json:"proposal,omitempty"`
	Refusal   *run.Problem  `json:"refusal,omitempty"` // the proposal does not apply
	Usage     run.Usage     `json:"usage"`
	Retries   []run.Retry   `json:"retries,omitempty"`
}

// EditInput is a patch that a person has made of the pending one. The number of the gate is part of the name of its
// artifact.
type EditInput struct {
	Call
	Of    run.Proposal `json:"of"`
	Patch string       `json:"patch"`
	Gate  int          `json:"gate"`
}

// EditResult refers to the edited patch as it would be applied, or holds the reason why it cannot be.
type EditResult struct {
	Edit    *run.Ref     `json:"edit,omitempty"`
	Refusal *run.Problem `json:"refusal,omitempty"`
}

// PartInput names the accepted part of a refused patch, or its edit. The number of the gate that refused the patch is
// part of the name of the part's artifact.
type PartInput struct {
	Call
	Part run.Part `json:"part"`
	Gate int      `json:"gate"`
}

// PartResult holds the part as a patch of its own, or the reason why there is none.
type PartResult struct {
	Proposal *run.Proposal `json:"proposal,omitempty"`
	Refusal  *run.Problem  `json:"refusal,omitempty"`
}

// ApplyInput names the patch to apply and the commit that the patch was made for.
type ApplyInput struct {
	Header
	Iteration int        `json:"iteration"`
	Patch     run.Ref    `json:"patch"`
	Raw       run.Ref    `json:"raw,omitzero"` // the answer that the patch was read from
	Base      run.Commit `json:"base"`
	Message   string     `json:"message"` // of the commit, without its trailers
	// Time is the date of the commit: a second application makes the same one.
	Time time.Time `json:"time"`
}

// ApplyResult holds the new tip of the branch, or the reason why there is none.
type ApplyResult struct {
	Commit  run.Commit   `json:"commit,omitempty"`
	Stat    run.Stat     `json:"stat"` // of the branch against the run's base
	Refusal *run.Problem `json:"refusal,omitempty"`
}

// CheckInput names the checks and the commit that they judge. Evaluation is the
// number of the evaluation within the iteration and names the report; zero means the
// first.
type CheckInput struct {
	Header
	Iteration  int           `json:"iteration"`
	Evaluation int           `json:"evaluation,omitempty"`
	Commit     run.Commit    `json:"commit"`
	Stat       run.Stat      `json:"stat"`
	Commands   []string      `json:"commands"`
	Env        []string      `json:"env,omitempty"`
	Network    []string      `json:"network,omitempty"` // run.Input.CheckNetwork
	Timeout    time.Duration `json:"timeout"`           // of each command
	// CacheReadOnly is run.Input.CacheReadOnly.
	CacheReadOnly bool `json:"cacheReadOnly,omitempty"`
	// Baseline is set for the checks on the base commit, which run before any provider is called. Commit
	// is the base then: the code is the user's own, and the run has not changed it yet.
	Baseline bool `json:"baseline,omitempty"`
	// Before is the report of the run's baseline, with which the results are compared; nil: none.
	Before *run.Ref `json:"before,omitempty"`
}

// checkLabel names a check of the input in the progress that is shown.
func (in CheckInput) checkLabel() string {
	if in.Baseline {
		return "baseline, check"
	}
	return "check"
}

// TryInput names the patch of a contest's candidate, and the checks that judge it.
// Commit is the commit that the patch applies to.
type TryInput struct {
	CheckInput
	Candidate int     `json:"attempt"`
	Number    int     `json:"number"` // of the call that proposed it
	Patch     run.Ref `json:"patch"`
	Raw       run.Ref `json:"raw,omitzero"` // the answer that the patch was read from
}

// Judgement holds the verdict of the checks or of the evaluator.
type Judgement struct {
	Verdict  run.Result    `json:"verdict,omitempty"` // pass, fix or blocked; none of a call without an answer
	Report   run.Ref       `json:"report"`
	Reasons  []string      `json:"reasons,omitempty"`
	Failed   []string      `json:"failed,omitempty"`
	Before   []string      `json:"failedBefore,omitempty"` // members of Failed that failed on the base commit, too
	Baseline *run.Baseline `json:"baseline,omitempty"`     // of the checks on the base commit
	Network  string        `json:"network,omitempty"`      // what the checks reached, in one line
	Question *run.Question `json:"question,omitempty"`     // verdict blocked
	// Again reports of a blocked verdict that nothing was judged. The person's answer then leads to
	// another evaluation, not to a fix.
	Again   bool        `json:"again,omitempty"`
	Usage   *run.Usage  `json:"usage,omitempty"`
	Retries []run.Retry `json:"retries,omitempty"`
	Halt    *run.Halt   `json:"halt,omitempty"` // then there is no verdict
}

// JudgeInput describes the call of the evaluator about a result whose checks passed.
type JudgeInput struct {
	Call
	Report run.Ref `json:"report"` // of the checks
	// Patch is the patch of a contest's candidate. The evaluator judges it in place
	// of the branch.
	Patch *run.Ref `json:"patch,omitempty"`
}
