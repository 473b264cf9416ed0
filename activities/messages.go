package activities

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Brief is what a prompt is made of, besides the repository: it is kept as an
// artifact, so that history holds its digest only.
type Brief struct {
	Goal      string         `json:"goal"`
	Plan      *run.Ref       `json:"plan,omitempty"`
	Report    *run.Ref       `json:"report,omitempty"`
	Guidance  []run.Guidance `json:"guidance,omitempty"`
	Checks    []string       `json:"checks,omitempty"`
	FixesLeft int            `json:"fixesLeft"`
	Base      run.Commit     `json:"base"` // where the run started; Call.Head is where it stands
	// Refused is the patch or the answer that was last not taken; the last
	// guidance says why.
	Refused *run.Ref `json:"refused,omitempty"`
}

// RecordInput is one step of the record, and the brief of the provider call
// that follows it, if one does.
type RecordInput struct {
	RunID run.ID       `json:"runId"`
	Entry rundir.Entry `json:"entry"`
	Brief *Brief       `json:"brief,omitempty"`
	// BriefName is the artifact that keeps the brief.
	BriefName string `json:"briefName,omitempty"`
}

// RecordResult says how far the record on disk is, and where the brief is.
type RecordResult struct {
	Last  int      `json:"last"` // number of the last event on disk
	Brief *run.Ref `json:"brief,omitempty"`
}

// Place names a run and the repository that it works on. Most activities
// take one.
type Place struct {
	RunID      run.ID         `json:"runId"`
	Repository run.Repository `json:"repository"`
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
	Brief     run.Ref       `json:"brief"`
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
	Phase     run.Phase  `json:"phase"`
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
