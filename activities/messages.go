package activities

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Place names a run and the repository that it works on, and brings what is
// not on disk yet: an activity that takes one records that before it acts. So
// the record holds only what the engine has already kept, it costs no round
// trip of its own, and what an activity reads from it is up to date.
type Place struct {
	RunID      run.ID         `json:"runId"`
	Repository run.Repository `json:"repository"`
	Entry      rundir.Entry   `json:"entry,omitzero"`
}

// Call is one provider call. Its phase, iteration and number name its
// artifacts: a second attempt at the same call finds the answer of the first.
type Call struct {
	Place
	Phase     run.Phase     `json:"phase"`
	Iteration int           `json:"iteration"`
	Number    int           `json:"number"`
	Provider  string        `json:"provider"`
	Dir       string        `json:"dir,omitempty"`
	Timeout   time.Duration `json:"timeout"`
	Head      run.Commit    `json:"head"`
	Patches   run.Size      `json:"patches,omitzero"` // bounds the patch that is answered
}

// Artifact names an artifact of the call.
func (c Call) Artifact(suffix string) string {
	return rundir.Artifact(c.Phase, c.Iteration, c.Number, suffix)
}

// PlanResult is the plan that the planner wrote.
type PlanResult struct {
	Plan    run.Ref   `json:"plan"`
	Summary string    `json:"summary"`
	Usage   run.Usage `json:"usage"`
}

// ProposeResult is what the developer or the fixer answered: exactly one of
// Violation, Question, Proposal and, with none of them, a NOOP.
type ProposeResult struct {
	Raw       run.Ref       `json:"raw"`
	Summary   string        `json:"summary,omitempty"`
	Violation *run.Problem  `json:"violation,omitempty"` // the answer breaks the output contract
	Question  *run.Question `json:"question,omitempty"`
	Proposal  *run.Proposal `json:"proposal,omitempty"`
	Refusal   *run.Problem  `json:"refusal,omitempty"` // the proposal does not apply
	Usage     run.Usage     `json:"usage"`
}

// ApplyInput names the patch to apply and the commit that it was made for.
type ApplyInput struct {
	Place
	Iteration int        `json:"iteration"`
	Patch     run.Ref    `json:"patch"`
	Base      run.Commit `json:"base"`
	Summary   string     `json:"summary"`
	// Time is the date of the commit: a second application makes the same one.
	Time time.Time `json:"time"`
}

// ApplyResult is the new tip of the branch, or why there is none.
type ApplyResult struct {
	Commit  run.Commit   `json:"commit,omitempty"`
	Stat    run.Stat     `json:"stat"` // the branch against the run's base
	Refusal *run.Problem `json:"refusal,omitempty"`
}

// CheckInput names the checks and the commit that they judge.
type CheckInput struct {
	Place
	Iteration int           `json:"iteration"`
	Commit    run.Commit    `json:"commit"`
	Stat      run.Stat      `json:"stat"`
	Commands  []string      `json:"commands"`
	Env       []string      `json:"env,omitempty"`
	Timeout   time.Duration `json:"timeout"` // of each command
}

// Judgement is the verdict of the checks or of the evaluator.
type Judgement struct {
	Verdict  run.Result    `json:"verdict"` // pass, fix or blocked
	Report   run.Ref       `json:"report"`
	Reasons  []string      `json:"reasons,omitempty"`
	Failed   []string      `json:"failed,omitempty"`
	Question *run.Question `json:"question,omitempty"` // verdict blocked
	Usage    *run.Usage    `json:"usage,omitempty"`
}

// JudgeInput asks the evaluator about what the checks let pass.
type JudgeInput struct {
	Call
	Report run.Ref `json:"report"` // of the checks
}
