package run

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fold returns the snapshot that results from the events. They must be a run's
// events from the first on, without a gap.
func Fold(events []Event) (*Snapshot, error) {
	s := new(Snapshot)
	s.Next = Step{Do: Begin}
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Event returns the next event for the payload. The event has its number, its
// time, and the phase and iteration that it belongs to. Event does not apply it.
func (s *Snapshot) Event(now time.Time, p Payload) Event {
	e := Event{
		ID: EventID(s.Seq + 1), RunID: s.Input.RunID, TS: now.UTC(), Type: p.Type(),
		Phase: s.Phase(), Iteration: s.State.Iteration, Payload: p,
	}
	switch p.(type) {
	case PhaseStarted:
		e.Phase = s.Next.Phase
		e.Iteration = s.nextIteration()
	case RunCreated, RunCompleted, RunFailed, RunCanceled:
		e.Phase, e.Iteration = "", 0
	}
	return e
}

// nextIteration returns the iteration of the phase about to start. A fix opens a
// new iteration.
func (s *Snapshot) nextIteration() int {
	if s.Next.Phase == Fix && !s.Next.Again {
		return s.State.Iteration + 1
	}
	return max(s.State.Iteration, 1)
}

// ErrTransition is the error for an event that the run's current step does not admit.
var ErrTransition = errors.New("not a transition of the contract")

// eventsOfAction holds, for each action, the events that it may end in. Every
// action except Begin and Rest may also end in RUN_CANCELED.
var eventsOfAction = map[Action][]EventType{
	Begin:  {RunCreatedEvent},
	Start:  {PhaseStartedEvent},
	Work:   {PhaseCompletedEvent, PhaseFailedEvent, PatchProducedEvent, ApprovalRequestedEvent, EvaluationPassedEvent, EvaluationFailedFixableEvent, EvaluationFailedBlockedEvent, QuestionRaisedEvent},
	Gate:   {ApprovalRequestedEvent, PatchAppliedEvent, PatchApplyFailedEvent},
	Decide: {ApprovalGrantedEvent, ApprovalRejectedEvent},
	Apply:  {PatchAppliedEvent, PatchApplyFailedEvent},
	Close:  {PhaseCompletedEvent, PhaseFailedEvent},
	Await:  {QuestionAnsweredEvent},
	Finish: {RunCompletedEvent, RunFailedEvent, RunCanceledEvent},
}

// eventsOfPhase holds, for each phase, the events that its work may end in.
var eventsOfPhase = map[Phase][]EventType{
	Plan:     {PhaseCompletedEvent, PhaseFailedEvent},
	Execute:  {PhaseCompletedEvent, PhaseFailedEvent, PatchProducedEvent, ApprovalRequestedEvent},
	Fix:      {PhaseCompletedEvent, PhaseFailedEvent, PatchProducedEvent, ApprovalRequestedEvent},
	Evaluate: {EvaluationPassedEvent, EvaluationFailedFixableEvent, EvaluationFailedBlockedEvent, PhaseFailedEvent},
	Ask:      {QuestionRaisedEvent},
}

func (s *Snapshot) admitsEvent(t EventType) bool {
	if t == RunCanceledEvent && s.Next.Do != Rest && s.Next.Do != Begin {
		return true
	}
	if !slices.Contains(eventsOfAction[s.Next.Do], t) {
		return false
	}
	return s.Next.Do != Work || slices.Contains(eventsOfPhase[s.Next.Phase], t)
}

// fitsStep reports whether the payload fits the run's current step. An approval
// asks for a tool while an agent works, and for a patch at the gate. A phase ends
// with a result that its work can have, or with the outcome that the events
// before have set. The work of a phase that owes a part of a patch ends in that
// part. The work of a phase that lost its proposal may end in that proposal again,
// also where it is a part. The planner's phase starts with the baseline where one is due.
func (s *Snapshot) fitsStep(p Payload) bool {
	switch p := p.(type) {
	case PhaseStarted:
		return (p.Baseline != nil) == s.NeedsBaseline()
	case PatchProduced:
		return p.PartOf == s.partDue() || s.isLost(p.Proposal)
	case ApprovalRequested:
		return (p.Permission != nil) == (s.Next.Do == Work) && s.partDue() == ""
	case PhaseCompleted:
		switch {
		case s.partDue() != "":
			return false
		case s.Next.Do == Close:
			return p.Result != noOutcome && p.Result == s.Outcome
		case s.Next.Phase == Plan: // no planner is called on an unsettled baseline
			return p.Result == Planned && s.unsettledBaseline() == nil
		}
		return p.Result == Noop || p.Result == Asked && p.Question != nil
	case PhaseFailed:
		return s.Next.Do != Close || s.Outcome == noOutcome
	}
	return true
}

// Format is the number of the format in which this build records runs. It grows
// with every change after which the events of a run fold to another state. No
// other format is folded.
const Format = 3

// Apply folds one event into the snapshot. For an event that is out of turn it
// returns ErrTransition and leaves the snapshot unchanged, as for a run that was
// recorded in another format.
func (s *Snapshot) Apply(e Event) error {
	if want := EventID(s.Seq + 1); e.ID != want {
		return fmt.Errorf("event %s instead of %s: %w", e.ID, want, ErrTransition)
	}
	if e.Payload == nil || e.Payload.Type() != e.Type || !s.admitsEvent(e.Type) || !s.fitsStep(e.Payload) {
		return fmt.Errorf("%s %s while the next step is to %s %s: %w", e.ID, e.Type, s.Next.Do, s.Next.Phase, ErrTransition)
	}
	if p, ok := e.Payload.(RunCreated); ok && p.Format != Format {
		return fmt.Errorf("the run was recorded in format %d, but this build reads format %d: finish it with the build that recorded it", p.Format, Format)
	}
	s.Seq++
	s.foldEvent(e)
	s.linkEvent(e)
	s.State.LastEventID = &e.ID
	s.State.UpdatedAt = e.TS
	return nil
}

func (s *Snapshot) foldEvent(e Event) {
	switch p := e.Payload.(type) {
	case RunCreated:
		s.createRun(e, p)
	case PhaseStarted:
		s.startPhase(e, p)
	case PhaseCompleted:
		s.completePhase(p)
	case PhaseFailed:
		s.failPhase(p)
	case PatchProduced:
		if p.PartOf == "" {
			s.Part = nil
		}
		s.Proposal, s.Rivals, s.Lost = &p.Proposal, p.Rivals, nil
		if p.Candidate > 0 { // the patch of a fix has no candidate
			s.Chosen = p.Candidate
		}
		s.addUsage(p.Usage)
		s.Next = Step{Do: Gate, Phase: e.Phase}
	case ApprovalRequested:
		s.Gates = p.Gate
		s.Approval = &p
		s.State.PendingApprovalID = p.ApprovalID
		s.State.Status = AwaitingApproval
		s.Next = Step{Do: Decide, Phase: e.Phase}
	case ApprovalGranted:
		s.grantApproval(e.Phase, p)
	case ApprovalRejected:
		s.rejectApproval(p)
	case PatchApplied:
		s.recordApplied(p)
	case PatchApplyFailed:
		if s.loseProposal(p.Error) {
			return
		}
		s.refuseProposal()
		s.Problem = p.Error
		s.State.LastError = &p.Error
		s.addGuidance(FromRefusal, p.Error.Message)
		s.closePhase(noOutcome, Step{Do: Start, Phase: Fix})
	case EvaluationPassed:
		s.recordEvaluation(p.Evaluation, Pass, Step{Do: Finish})
		s.End = Completed
	case EvaluationFailedFixable:
		s.recordEvaluation(p.Evaluation, Fixable, Step{Do: Start, Phase: Fix})
	case EvaluationFailedBlocked:
		s.Question, s.Recheck = &p.Question, p.Again
		s.recordEvaluation(p.Evaluation, Blocked, Step{Do: Start, Phase: Ask})
	case QuestionRaised:
		s.Asked++
		s.State.PendingQuestionID = p.QuestionID
		s.State.Status = AwaitingInput
		s.Next = Step{Do: Await, Phase: Ask}
	case QuestionAnswered:
		s.answerQuestion(p)
	case RunCompleted:
		s.Moved = p.Moved
		s.endRun(Completed)
	case RunFailed:
		s.addUsage(p.Usage)
		s.State.LastError = &p.Error
		s.endRun(Failed)
	case RunCanceled:
		s.addUsage(p.Usage)
		s.endRun(Canceled)
	}
}

// CodeArtifact is the code of a problem with an artifact in the run's directory:
// the artifact is gone or was altered. No answer of a provider is at fault.
const CodeArtifact = "Artifact"

// CodeAhead is the code of a problem with a record that holds events which its
// workflow does not know.
const CodeAhead = "RECORD_AHEAD"

// loseProposal drops the proposal if the problem is a missing or altered artifact
// or a defect of the repository. It reports whether it dropped the proposal. The
// phase that made the proposal starts again after a question. The part stays, for it
// says what follows the proposal if that is found again.
func (s *Snapshot) loseProposal(p Problem) bool {
	if p.Code != CodeArtifact && p.Code != CodeRepository {
		return false
	}
	s.Lost, s.Proposal, s.Rivals = s.Proposal, nil, nil
	s.Problem, s.State.LastError = p, &p
	s.closePhase(noOutcome, Step{})
	return true
}

// isLost reports whether the proposal is the one that was lost.
func (s *Snapshot) isLost(p Proposal) bool {
	return s.Lost != nil && p.PartOf == s.Lost.PartOf && p.Patch.Digest == s.Lost.Patch.Digest
}

// LostQuestion returns the question about a lost proposal; nil if none was lost.
func (s *Snapshot) LostQuestion() *Question {
	if s.Lost == nil {
		return nil
	}
	if s.Problem.Code == CodeRepository {
		q := RepositoryQuestion(s.Problem)
		return &q
	}
	return &Question{
		Question: fmt.Sprintf("%s. Nothing was applied. How should the run continue?", s.Problem.Message),
		Reason:   s.Problem.Code,
		NeededInput: []string{
			fmt.Sprintf("put %s or %s back into the run's artifacts directory, then answer with any text: the same patch is proposed again at no cost", s.Lost.Patch.Name, s.Lost.Raw.Name),
			"or answer without doing so: the agent makes a new patch, with your text in its prompt",
		},
	}
}
