package run

import (
	"fmt"
	"slices"
	"strings"
)

// CodeBaseline is the code of a problem with the checks on the base commit: one of
// them could not run there or did not end in time.
const CodeBaseline = "BASELINE"

// Baseline is the outcome of the checks on the base commit. They run there before
// any provider is called. It decides nothing about a later evaluation.
type Baseline struct {
	Report Ref `json:"report,omitzero"` // as of an Evaluation
	Passed int `json:"passed,omitempty"`
	// Failed holds the checks that failed, the first maxBaseline of More+len(Failed).
	Failed []BaselineCheck `json:"failed,omitempty"`
	More   int             `json:"more,omitempty"`
	// Millis is the time that all checks took together, in milliseconds.
	Millis int64 `json:"durationMs,omitempty"`
	// Problem says why a check has no result; nil: all have. A run with a problem
	// asks a person before it calls a provider.
	Problem *Problem `json:"problem,omitempty"`
	// Unrun holds the indices of the checks that have no result.
	Unrun []int `json:"unrun,omitempty"`
}

// BaselineCheck is a check that failed on the base commit. The command is clipped.
type BaselineCheck struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exitCode"` // 128 + n after signal n
	// Failed and Cases count test cases, as far as the output of the tool reports them;
	// zero: it does not.
	Failed int `json:"failed,omitempty"`
	Cases  int `json:"cases,omitempty"`
}

// maxBaseline bounds the failed checks of a Baseline, which enters the history.
const maxBaseline = 10

// AddFailed adds a failed check, or counts it if the list is full.
func (b *Baseline) AddFailed(c BaselineCheck) {
	if len(b.Failed) == maxBaseline {
		b.More++
		return
	}
	b.Failed = append(b.Failed, c)
}

// Outcome describes how the check failed: "1 of 3 cases", "exit code 1".
func (c BaselineCheck) Outcome() string {
	switch {
	case c.Failed > 0 && c.Cases >= c.Failed:
		return fmt.Sprintf("%d of %d cases", c.Failed, c.Cases)
	case c.Failed == 1:
		return "1 case"
	case c.Failed > 0:
		return fmt.Sprintf("%d cases", c.Failed)
	}
	return fmt.Sprintf("exit code %d", c.ExitCode)
}

// Summary describes the outcome in one line, without the commands that passed.
func (b Baseline) Summary() string {
	switch {
	case b.Problem != nil:
		return "not known: " + b.Problem.Message
	case len(b.Failed) == 0 && b.Passed == 1:
		return "the check passes already"
	case len(b.Failed) == 0:
		return fmt.Sprintf("all %d checks pass already", b.Passed)
	}
	var parts []string
	for _, c := range b.Failed {
		parts = append(parts, fmt.Sprintf("%s fails as expected: %s", c.Command, c.Outcome()))
	}
	if b.More > 0 {
		parts = append(parts, fmt.Sprintf("%d more fail", b.More))
	}
	if b.Passed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d pass", b.Passed, b.Passed+len(b.Failed)+b.More))
	}
	return strings.Join(parts, "; ")
}

// NeedsBaseline reports whether the checks must run on the base commit before the
// next step, which starts the planner's phase. They run again after a problem,
// unless a person let the run continue without a baseline.
func (s *Snapshot) NeedsBaseline() bool {
	due := s.Next.Do == Start && s.Next.Phase == Plan
	return due && s.WantsBaseline() && (s.Baseline == nil || s.unsettledBaseline() != nil)
}

// WantsBaseline reports whether the checks of the run are to run on its base commit.
func (s *Snapshot) WantsBaseline() bool {
	return len(s.Input.Checks) > 0 && !s.Input.NoBaseline
}

// Checks returns the checks that judge the run: the checks of its input, without those that could not run on the base
// commit if a person has left them out. If none would be left to judge the result, all stay.
func (s *Snapshot) Checks() []string {
	if !s.Unbased || s.Baseline == nil || !s.canLeaveOut() {
		return s.Input.Checks
	}
	var kept []string
	for i, c := range s.Input.Checks {
		if !slices.Contains(s.Baseline.Unrun, i) {
			kept = append(kept, c)
		}
	}
	return kept
}

// canLeaveOut reports whether something would judge the result without the checks that have no result.
func (s *Snapshot) canLeaveOut() bool {
	n := len(s.Baseline.Unrun)
	return n > 0 && (n < len(s.Input.Checks) || s.Input.Providers.Evaluator != "")
}

// BaselineReport refers to the report of the baseline; nil: none.
func (s *Snapshot) BaselineReport() *Ref {
	if s.Baseline == nil || s.Baseline.Report.Name == "" {
		return nil
	}
	return &s.Baseline.Report
}

// unsettledBaseline returns the problem of a baseline that a person has not
// settled; nil: none.
func (s *Snapshot) unsettledBaseline() *Problem {
	if s.Baseline == nil || s.Unbased {
		return nil
	}
	return s.Baseline.Problem
}

// BaselineProblem returns the problem of the baseline that stands in the way of the
// planner, and the question about it. ok is false if none does.
func (s *Snapshot) BaselineProblem() (p Problem, q Question, ok bool) {
	unsettled := s.unsettledBaseline()
	switch {
	case unsettled == nil:
		return p, q, false
	case unsettled.Code == CodeRepository:
		return *unsettled, RepositoryQuestion(*unsettled), true
	case unsettled.Code == CodeSandbox:
		return *unsettled, SandboxQuestion(Plan, *unsettled), true
	}
	without := withoutWord + ", to continue now; the run asks again after the patch if they still cannot run"
	if s.canLeaveOut() {
		without = withoutWord + ", to leave these checks out of this run"
	}
	return *unsettled, Question{
		Question: fmt.Sprintf("Before any change: %s. How should the run continue?", unsettled.Message),
		NeededInput: []string{
			againWord + ", to run the checks again once this is fixed on the worker",
			without,
			stopWord + ", to end the run",
		},
	}, true
}

// The answers to the question about a baseline, besides stopWord.
const (
	againWord   = "again"
	withoutWord = "without"
)

// BaselineChoice is the content of the reply to a question about the baseline. The
// zero choice runs the checks again.
type BaselineChoice struct {
	Without bool // continue without a baseline
	Stop    bool
}

// ParseBaseline parses the reply to a question about the baseline. It returns the
// zero choice for a reply to any other question.
func (s *Snapshot) ParseBaseline(r Reply) (BaselineChoice, error) {
	if !s.asksBaseline() {
		return BaselineChoice{}, nil
	}
	switch text := strings.TrimSpace(r.Text); {
	case strings.EqualFold(text, againWord):
		return BaselineChoice{}, nil
	case strings.EqualFold(text, withoutWord):
		return BaselineChoice{Without: true}, nil
	case strings.EqualFold(text, stopWord), strings.EqualFold(text, "cancel"):
		return BaselineChoice{Stop: true}, nil
	}
	return BaselineChoice{}, fmt.Errorf("answer with %q, %q or %q", againWord, withoutWord, stopWord)
}

// asksBaseline reports whether the pending question concerns checks that could not
// run on the base commit.
func (s *Snapshot) asksBaseline() bool {
	e := s.State.LastError
	return s.State.PendingQuestionID != "" && e != nil && e.Code == CodeBaseline
}
