// Package run is the contract of a run: its words, its events, its state, and the
// fold. The fold turns events into state and decides the next step. The package is
// pure: no I/O, no clock, no Temporal. Package workflows carries out the steps.
package run

import "github.com/ratchet-dev/ratchet/internal/exact"

// Phase is one of the five phases of the loop.
type Phase string

// The phases. Ask has no role: a person answers it.
const (
	Plan     Phase = "plan"
	Execute  Phase = "execute"
	Evaluate Phase = "evaluate"
	Fix      Phase = "fix"
	Ask      Phase = "ask"
)

func (p *Phase) UnmarshalText(b []byte) error {
	return exact.Word(p, b, "phase", Plan, Execute, Evaluate, Fix, Ask)
}

// Role returns the role that serves the phase; empty for Ask.
func (p Phase) Role() Role { return roleOf[p] }

// Role is the role that a provider plays.
type Role string

// The four roles.
const (
	Planner   Role = "planner"
	Developer Role = "developer"
	Evaluator Role = "evaluator"
	Fixer     Role = "fixer"
)

// Roles lists every role.
var Roles = []Role{Planner, Developer, Evaluator, Fixer}

var roleOf = map[Phase]Role{Plan: Planner, Execute: Developer, Evaluate: Evaluator, Fix: Fixer}

func (r *Role) UnmarshalText(b []byte) error { return exact.Word(r, b, "role", Roles...) }

// Status is the status of a run as the outside sees it.
type Status string

// The seven statuses.
const (
	Created          Status = "created"
	Running          Status = "running"
	AwaitingApproval Status = "awaiting_approval"
	AwaitingInput    Status = "awaiting_input"
	Completed        Status = "completed"
	Failed           Status = "failed"
	Canceled         Status = "canceled"
)

// Statuses lists every status.
var Statuses = []Status{Created, Running, AwaitingApproval, AwaitingInput, Completed, Failed, Canceled}

func (s *Status) UnmarshalText(b []byte) error { return exact.Word(s, b, "status", Statuses...) }

// Terminal reports whether the run has ended.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Canceled }

// Waiting reports whether the run waits for a person.
func (s Status) Waiting() bool { return s == AwaitingApproval || s == AwaitingInput }

// EventType is one of the eighteen kinds of event.
type EventType string

// The event types (docs/contracts/run.md, 4).
const (
	RunCreatedEvent              EventType = "RUN_CREATED"
	PhaseStartedEvent            EventType = "PHASE_STARTED"
	PhaseCompletedEvent          EventType = "PHASE_COMPLETED"
	PhaseFailedEvent             EventType = "PHASE_FAILED"
	PatchProducedEvent           EventType = "PATCH_PRODUCED"
	ApprovalRequestedEvent       EventType = "APPROVAL_REQUESTED"
	ApprovalGrantedEvent         EventType = "APPROVAL_GRANTED"
	ApprovalRejectedEvent        EventType = "APPROVAL_REJECTED"
	PatchAppliedEvent            EventType = "PATCH_APPLIED"
	PatchApplyFailedEvent        EventType = "PATCH_APPLY_FAILED"
	EvaluationPassedEvent        EventType = "EVALUATION_PASSED"
	EvaluationFailedFixableEvent EventType = "EVALUATION_FAILED_FIXABLE"
	EvaluationFailedBlockedEvent EventType = "EVALUATION_FAILED_BLOCKED"
	QuestionRaisedEvent          EventType = "QUESTION_RAISED"
	QuestionAnsweredEvent        EventType = "QUESTION_ANSWERED"
	RunCompletedEvent            EventType = "RUN_COMPLETED"
	RunFailedEvent               EventType = "RUN_FAILED"
	RunCanceledEvent             EventType = "RUN_CANCELED"
)

// Policy decides which patches wait for a person.
type Policy string

// The approval policies. Input.Validate refuses the zero Policy.
const (
	Always Policy = "always"
	Risky  Policy = "risky"
	Never  Policy = "never"
)

func (p *Policy) UnmarshalText(b []byte) error {
	return exact.Word(p, b, "approval policy", Always, Risky, Never)
}

// Result is the result of a phase that ended normally.
type Result string

// The results of a phase. Patch, Question and Noop are the three answers of
// the developer and the fixer.
const (
	Planned   Result = "plan"
	Patched   Result = "patch"
	Rejected  Result = "rejected"
	Asked     Result = "ask"
	Noop      Result = "noop"
	Pass      Result = "pass"
	Fixable   Result = "fix"
	Blocked   Result = "blocked"
	Answered  Result = "answered"
	noOutcome Result = ""
)

func (r *Result) UnmarshalText(b []byte) error {
	return exact.Word(r, b, "result", Planned, Patched, Rejected, Asked, Noop, Pass, Fixable, Blocked, Answered)
}
