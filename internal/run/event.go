package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// Event is one line of a run's history. Type equals the type of Payload:
// Snapshot.Event sets it, and Snapshot.Apply refuses an event in which they differ.
type Event struct {
	ID        string    `json:"id"`
	RunID     ID        `json:"runId"`
	TS        time.Time `json:"ts"` // UTC
	Type      EventType `json:"type"`
	Phase     Phase     `json:"phase,omitempty"`
	Iteration int       `json:"iteration,omitempty"`
	Payload   Payload   `json:"payload"`
}

// Payload is the content of an event. The set of payloads is closed.
type Payload interface{ Type() EventType }

// UnmarshalJSON decodes the payload according to the event's type. It refuses an
// unknown type.
func (e *Event) UnmarshalJSON(b []byte) error {
	type plain Event
	var raw struct {
		*plain
		Payload json.RawMessage `json:"payload"`
	}
	raw.plain = (*plain)(e)
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	decode, ok := payloads[e.Type]
	if !ok {
		return fmt.Errorf("unknown event type %q", e.Type)
	}
	p, err := decode(raw.Payload)
	if err != nil {
		return fmt.Errorf("payload of %s: %w", e.Type, err)
	}
	e.Payload = p
	return nil
}

var payloads = map[EventType]func([]byte) (Payload, error){
	RunCreatedEvent:              decodeAs[RunCreated],
	PhaseStartedEvent:            decodeAs[PhaseStarted],
	PhaseCompletedEvent:          decodeAs[PhaseCompleted],
	PhaseFailedEvent:             decodeAs[PhaseFailed],
	PatchProducedEvent:           decodeAs[PatchProduced],
	ApprovalRequestedEvent:       decodeAs[ApprovalRequested],
	ApprovalGrantedEvent:         decodeAs[ApprovalGranted],
	ApprovalRejectedEvent:        decodeAs[ApprovalRejected],
	PatchAppliedEvent:            decodeAs[PatchApplied],
	PatchApplyFailedEvent:        decodeAs[PatchApplyFailed],
	EvaluationPassedEvent:        decodeAs[EvaluationPassed],
	EvaluationFailedFixableEvent: decodeAs[EvaluationFailedFixable],
	EvaluationFailedBlockedEvent: decodeAs[EvaluationFailedBlocked],
	QuestionRaisedEvent:          decodeAs[QuestionRaised],
	QuestionAnsweredEvent:        decodeAs[QuestionAnswered],
	RunCompletedEvent:            decodeAs[RunCompleted],
	RunFailedEvent:               decodeAs[RunFailed],
	RunCanceledEvent:             decodeAs[RunCanceled],
}

func decodeAs[P Payload](b []byte) (Payload, error) {
	var p P
	if len(b) == 0 {
		return nil, fmt.Errorf("missing")
	}
	err := json.Unmarshal(b, &p)
	return p, err
}

// Problem is an error in the form that the record keeps: a stable code and one text.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Retry counts the errors of one code after which a later attempt at the same
// call succeeded.
type Retry struct {
	Code  string `json:"code"`
	Count int    `json:"count"`
}

// AddRetries returns the sum of both lists by code.
func AddRetries(a, b []Retry) []Retry {
	sum := slices.Clone(a)
	for _, r := range b {
		i := slices.IndexFunc(sum, func(s Retry) bool { return s.Code == r.Code })
		if i < 0 {
			sum = append(sum, r)
		} else {
			sum[i].Count += r.Count
		}
	}
	return sum
}

// Usage counts tokens. It counts money too where the cost is known.
type Usage struct {
	InputTokens  int64  `json:"inputTokens,omitempty"`
	OutputTokens int64  `json:"outputTokens,omitempty"`
	TotalTokens  int64  `json:"totalTokens,omitempty"`
	Cost         Micros `json:"costMicros,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens,
		TotalTokens: u.TotalTokens + v.TotalTokens, Cost: u.Cost + v.Cost,
	}
}

// Sub returns u minus v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		InputTokens: u.InputTokens - v.InputTokens, OutputTokens: u.OutputTokens - v.OutputTokens,
		TotalTokens: u.TotalTokens - v.TotalTokens, Cost: u.Cost - v.Cost,
	}
}

// Most returns the larger of both, number by number: two counts of the same calls, the later of which is the larger one.
func (u Usage) Most(v Usage) Usage {
	return Usage{
		InputTokens: max(u.InputTokens, v.InputTokens), OutputTokens: max(u.OutputTokens, v.OutputTokens),
		TotalTokens: max(u.TotalTokens, v.TotalTokens), Cost: max(u.Cost, v.Cost),
	}
}

// Stat sums up a diff.
type Stat struct {
	Files   int `json:"files"`
	Added   int `json:"added"`
	Deleted int `json:"deleted"`
}

func (s Stat) String() string {
	return fmt.Sprintf("%s, +%d -%d", display.Count(s.Files, "file", "files"), s.Added, s.Deleted)
}

// Question is a question to a person.
type Question struct {
	Question    string   `json:"question"`
	Reason      string   `json:"reason,omitempty"`
	NeededInput []string `json:"neededInput,omitempty"`
}

// Proposal is a patch that has been produced and not yet applied. An approval
// binds the digest of Patch and Base.
type Proposal struct {
	Patch   Ref    `json:"patch"` // the canonical diff, as it will be applied
	Base    Commit `json:"base"`
	Raw     Ref    `json:"raw"` // the answer that holds the patch
	Summary string `json:"summary"`
	Stat    Stat   `json:"stat"`
	// Files names the first of the touched files; Stat counts all.
	Files []string `json:"files,omitempty"`
	// Risks are the gatekeeper's reasons to ask a person.
	Risks []string `json:"risks,omitempty"`
	// Repairs lists the repairs made to the model's diff.
	Repairs []string `json:"repairs,omitempty"`
	// Excerpt is the head of the diff, made safe for display.
	Excerpt string `json:"excerpt,omitempty"`
	// PartOf is the digest of the patch that this one is a part or an edit of: a person accepted some of it, or changed it.
	// It is empty for a patch that a provider proposed.
	PartOf Digest `json:"partOf,omitempty"`
	// EditedBy is who edited the patch; empty: no one.
	EditedBy string `json:"editedBy,omitempty"`
}

// The payloads. Each event type has one.
type (
	// RunCreated carries the whole input: the events alone rebuild a run. It names the
	// format of all events of the run: see Format.
	RunCreated struct {
		Input
		Branch string `json:"branch"`
		Format int    `json:"rules"`
	}
	// PhaseStarted opens a phase. Notes holds the notes that the prompt of this
	// phase carries first. Uncounted marks a fix that a person asked for:
	// maxFixIterations does not bound it. Baseline is set if the checks have run on
	// the base commit right before: see Snapshot.NeedsBaseline.
	PhaseStarted struct {
		Role      Role      `json:"role,omitempty"`
		Provider  string    `json:"provider,omitempty"`
		Notes     []Note    `json:"notes,omitempty"`
		Uncounted bool      `json:"uncounted,omitempty"`
		Baseline  *Baseline `json:"baseline,omitempty"`
	}
	// PhaseCompleted closes a phase that ended normally.
	PhaseCompleted struct {
		Result   Result    `json:"result"`
		Summary  string    `json:"summary,omitempty"`
		Artifact *Ref      `json:"artifact,omitempty"` // plan: the plan; else the raw answer
		Question *Question `json:"question,omitempty"` // result ask
		Usage    *Usage    `json:"usage,omitempty"`
		Retries  []Retry   `json:"retries,omitempty"`
	}
	// PhaseFailed closes a phase that gave nothing usable. Question is the question
	// that a person is then asked. Without a question a fix follows.
	PhaseFailed struct {
		Error    Problem   `json:"error"`
		Artifact *Ref      `json:"artifact,omitempty"`
		Question *Question `json:"question,omitempty"`
		Usage    *Usage    `json:"usage,omitempty"`
		Retries  []Retry   `json:"retries,omitempty"`
	}
	// PatchProduced carries a patch that has not been applied. With several attempts it
	// carries the best one, with its number in Candidate, and the others in Rivals.
	PatchProduced struct {
		Proposal
		Usage     *Usage      `json:"usage,omitempty"`
		Retries   []Retry     `json:"retries,omitempty"`
		Candidate int         `json:"attempt,omitempty"`
		Rivals    []Candidate `json:"rivals,omitempty"`
	}
	// ApprovalRequested opens the wait for a decision. The decision is on a tool
	// call of the working agent if Permission is set, and on a patch otherwise.
	// Digest identifies what is decided on: see PermissionDigest and ApprovalDigest.
	ApprovalRequested struct {
		ApprovalID string      `json:"approvalId"`
		Digest     Digest      `json:"digest"`
		Gate       int         `json:"gate"`
		Patch      Digest      `json:"patch,omitempty"`
		Base       Commit      `json:"base"`
		Reasons    []string    `json:"reasons,omitempty"`
		Permission *Permission `json:"permission,omitempty"`
		// Choices holds the other patches that may be approved instead.
		Choices []Choice `json:"choices,omitempty"`
	}
	// ApprovalGranted is a yes. Session extends a permission to similar tool calls
	// in the agent's session: see Permit.
	ApprovalGranted struct {
		ApprovalID string `json:"approvalId"`
		By         string `json:"by,omitempty"`
		Reason     string `json:"reason,omitempty"`
		Session    bool   `json:"session,omitempty"`
	}
	// ApprovalRejected is a no; Final ends the run. Files names the files, and Hunks the hunks of other files, that the
	// approver accepts although the patch as a whole is refused. Edit refers to the patch that the approver has made of
	// it. The run then proposes these; see Snapshot.Part.
	ApprovalRejected struct {
		ApprovalID string   `json:"approvalId"`
		By         string   `json:"by,omitempty"`
		Reason     string   `json:"reason,omitempty"`
		Final      bool     `json:"final,omitempty"`
		Files      []string `json:"files,omitempty"`

		Hunks []HunkChoice `json:"hunks,omitempty"`
		Edit  *Ref         `json:"edit,omitempty"`
	}
	// PatchApplied records that the branch holds the patch. Before and After sum up
	// the branch against the run's base.
	PatchApplied struct {
		Patch  Digest `json:"patch"`
		Base   Commit `json:"base"`
		Commit Commit `json:"commit"`
		Before Stat   `json:"before"`
		After  Stat   `json:"after"`
	}
	// PatchApplyFailed records why the patch was refused. The tree is unchanged.
	PatchApplyFailed struct {
		Patch Digest  `json:"patch,omitempty"`
		Error Problem `json:"error"`
	}
	// EvaluationPassed is a pass.
	EvaluationPassed struct{ Evaluation }
	// EvaluationFailedFixable is a failure that leads to a fix.
	EvaluationFailedFixable struct{ Evaluation }
	// EvaluationFailedBlocked is a failure that needs a person. Again is set if nothing
	// was judged, for example because a check could not run. With Again, the result
	// is evaluated once more after the answer. Without it, a fix follows.
	EvaluationFailedBlocked struct {
		Evaluation
		Question Question `json:"question"`
		Again    bool     `json:"again,omitempty"`
	}
	// QuestionRaised opens the wait for an answer.
	QuestionRaised struct {
		QuestionID string `json:"questionId"`
		Question
		Asker Phase `json:"asker"`
	}
	// QuestionAnswered closes the wait for an answer.
	QuestionAnswered struct {
		QuestionID string         `json:"questionId"`
		Text       string         `json:"text"`
		Values     map[string]any `json:"values,omitempty"`
		By         string         `json:"by,omitempty"`
		// MaxTokens and MaxCost are the budgets that the answer sets; zero leaves
		// a budget unchanged. Stop ends the run instead.
		MaxTokens int64  `json:"maxTokens,omitempty"`
		MaxCost   Micros `json:"maxCostMicros,omitempty"`
		Stop      bool   `json:"stop,omitempty"`
		// Fix asks for a fix in place of another evaluation.
		Fix bool `json:"fix,omitempty"`
		// Without lets the run continue without a baseline.
		Without bool `json:"withoutBaseline,omitempty"`
		// Retry repeats the step that failed. No prompt carries the answer.
		Retry bool `json:"retry,omitempty"`
	}
	// RunCompleted ends the run with success. Moved says where the branch stands if something
	// other than the run has moved it since the last checks.
	RunCompleted struct {
		Branch  string `json:"branch"`
		Head    Commit `json:"head"`
		Commits int    `json:"commits"`
		Moved   string `json:"moved,omitempty"`
	}
	// RunFailed ends the run without success. Usage counts the calls that no earlier
	// event counts: they waited for a person, or were canceled.
	RunFailed struct {
		Error Problem `json:"error"`
		Usage *Usage  `json:"usage,omitempty"`
	}
	// RunCanceled ends the run by a decision or a policy. Usage is as in RunFailed.
	RunCanceled struct {
		Reason string `json:"reason"`
		By     string `json:"by,omitempty"`
		Usage  *Usage `json:"usage,omitempty"`
	}
)

// Evaluation is the outcome of the checks and, if the run has one, of the evaluator.
type Evaluation struct {
	Report  Ref      `json:"report"`
	Reasons []string `json:"reasons,omitempty"`
	Failed  []string `json:"failed,omitempty"` // the checks that did not pass
	// Before holds the members of Failed that failed in the same way on the base commit.
	Before  []string `json:"failedBefore,omitempty"`
	Usage   *Usage   `json:"usage,omitempty"`
	Retries []Retry  `json:"retries,omitempty"`
	// Network says in one line what the checks of a run with CheckNetwork reached and
	// were refused.
	Network string `json:"network,omitempty"`
}

// Type implements Payload.
func (RunCreated) Type() EventType              { return RunCreatedEvent }
func (PhaseStarted) Type() EventType            { return PhaseStartedEvent }
func (PhaseCompleted) Type() EventType          { return PhaseCompletedEvent }
func (PhaseFailed) Type() EventType             { return PhaseFailedEvent }
func (PatchProduced) Type() EventType           { return PatchProducedEvent }
func (ApprovalRequested) Type() EventType       { return ApprovalRequestedEvent }
func (ApprovalGranted) Type() EventType         { return ApprovalGrantedEvent }
func (ApprovalRejected) Type() EventType        { return ApprovalRejectedEvent }
func (PatchApplied) Type() EventType            { return PatchAppliedEvent }
func (PatchApplyFailed) Type() EventType        { return PatchApplyFailedEvent }
func (EvaluationPassed) Type() EventType        { return EvaluationPassedEvent }
func (EvaluationFailedFixable) Type() EventType { return EvaluationFailedFixableEvent }
func (EvaluationFailedBlocked) Type() EventType { return EvaluationFailedBlockedEvent }
func (QuestionRaised) Type() EventType          { return QuestionRaisedEvent }
func (QuestionAnswered) Type() EventType        { return QuestionAnsweredEvent }
func (RunCompleted) Type() EventType            { return RunCompletedEvent }
func (RunFailed) Type() EventType               { return RunFailedEvent }
func (RunCanceled) Type() EventType             { return RunCanceledEvent }
