package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
// before have set.
func (s *Snapshot) fitsStep(p Payload) bool {
	switch p := p.(type) {
	case ApprovalRequested:
		return (p.Permission != nil) == (s.Next.Do == Work)
	case PhaseCompleted:
		switch {
		case s.Next.Do == Close:
			return p.Result != noOutcome && p.Result == s.Outcome
		case s.Next.Phase == Plan:
			return p.Result == Planned
		}
		return p.Result == Noop || p.Result == Asked && p.Question != nil
	case PhaseFailed:
		return s.Next.Do != Close || s.Outcome == noOutcome
	}
	return true
}

// Apply folds one event into the snapshot. For an event that is out of turn it
// returns ErrTransition and leaves the snapshot unchanged.
func (s *Snapshot) Apply(e Event) error {
	if want := EventID(s.Seq + 1); e.ID != want {
		return fmt.Errorf("event %s where %s is due: %w", e.ID, want, ErrTransition)
	}
	if e.Payload == nil || e.Payload.Type() != e.Type || !s.admitsEvent(e.Type) || !s.fitsStep(e.Payload) {
		return fmt.Errorf("%s %s while the next step is to %s %s: %w", e.ID, e.Type, s.Next.Do, s.Next.Phase, ErrTransition)
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
		s.Doubt, s.Recheck = &p.Question, p.Again && s.Since(RulesAsked)
		s.recordEvaluation(p.Evaluation, Blocked, Step{Do: Start, Phase: Ask})
	case QuestionRaised:
		s.Asked++
		s.State.PendingQuestionID = p.QuestionID
		s.State.Status = AwaitingInput
		s.Next = Step{Do: Await, Phase: Ask}
	case QuestionAnswered:
		s.answerQuestion(p)
	case RunCompleted:
		s.recordRestored(p.Restored)
		s.endRun(Completed)
	case RunFailed:
		s.State.LastError = &p.Error
		s.endRun(Failed)
	case RunCanceled:
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
// phase that made the proposal starts again after a question.
func (s *Snapshot) loseProposal(p Problem) bool {
	if p.Code != CodeArtifact && p.Code != CodeRepository || !s.Since(RulesAsked) {
		return false
	}
	s.Lost, s.Proposal, s.Rivals = s.Proposal, nil, nil
	s.Problem, s.State.LastError = p, &p
	s.closePhase(noOutcome, Step{})
	return true
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
		Question: fmt.Sprintf("%s. Nothing was applied. How shall the run go on?", s.Problem.Message),
		Reason:   s.Problem.Code,
		NeededInput: []string{
			fmt.Sprintf("put %s or %s back into the run's artifacts directory, and answer anything: the same patch is proposed again, and nothing is paid", s.Lost.Patch.Name, s.Lost.Raw.Name),
			"or answer without: the " + string(s.Phase().Role()) + " is asked for a patch again, with the answer in its prompt",
		},
	}
}

func (s *Snapshot) createRun(e Event, p RunCreated) {
	s.Input, s.Rules = p.Input, p.Rules
	s.Head = p.Repository.Base
	s.State = State{
		RunID: p.RunID, Status: Created, MaxFixIterations: p.Fixes(),
		CreatedAt: e.TS,
	}
	s.Next = Step{Do: Start, Phase: Plan}
}

func (s *Snapshot) startPhase(e Event, p PhaseStarted) {
	if e.Iteration != s.State.Iteration {
		s.Calls, s.Asked = nil, 0
	}
	if e.Phase == Fix && !s.Next.Again && !s.Next.Uncounted {
		s.Fixes++
	}
	if e.Phase != Ask {
		s.Uncounted = s.Next.Uncounted
	}
	s.State.Iteration = e.Iteration
	s.State.CurrentPhase = &e.Phase
	s.State.Status = Running
	s.dropUsedPermits(e.Phase)
	for _, n := range p.Notes {
		s.addGuidance(FromNote, n.Text)
	}
	s.Notes = s.Notes[min(len(p.Notes), len(s.Notes)):]
	if e.Phase != Ask {
		if s.Calls == nil {
			s.Calls = Calls{}
		}
		s.Calls[e.Phase]++
	}
	s.Next = Step{Do: Work, Phase: e.Phase}
}

func (s *Snapshot) completePhase(p PhaseCompleted) {
	phase := s.Phase()
	s.addUsage(p.Usage)
	s.Problem = Problem{}
	if s.Next.Do == Work {
		s.Lost = nil
	}
	if phase != Ask {
		s.State.LastError = nil
	}
	if s.Next.Do == Close {
		s.Next, s.outcome = s.After, outcome{End: s.End}
		s.limitFixes()
		return
	}
	switch p.Result {
	case Planned:
		s.Plan = p.Artifact
		s.Next = Step{Do: Start, Phase: Execute}
	case Asked:
		s.Doubt = p.Question
		s.After = Step{Do: Start, Phase: phase, Again: true}
		if phase == Fix {
			s.After = s.fixAsked()
		}
		s.Next = Step{Do: Start, Phase: Ask}
	default: // NOOP: the checks decide whether nothing is left to do
		s.Next = Step{Do: Start, Phase: Evaluate}
	}
}

func (s *Snapshot) failPhase(p PhaseFailed) {
	s.addUsage(p.Usage)
	s.State.LastError = &p.Error
	s.Problem = Problem{}
	if s.Next.Do == Work {
		s.Lost = nil
	}
	phase := s.Phase()
	switch {
	case p.Question != nil:
		s.Doubt = p.Question
		s.After = Step{Do: Start, Phase: phase, Again: true, Uncounted: s.Uncounted}
		s.Next = Step{Do: Start, Phase: Ask}
		return
	case s.Next.Do == Close:
		s.Next, s.outcome = s.After, outcome{}
	default:
		s.addGuidance(FromRefusal, p.Error.Message)
		s.Refused = p.Artifact
		s.Next = Step{Do: Start, Phase: Fix}
	}
	s.limitFixes()
}

func (s *Snapshot) clearApproval() {
	s.Approval = nil
	s.State.PendingApprovalID = ""
	s.State.Status = Running
}

func (s *Snapshot) grantApproval(phase Phase, p ApprovalGranted) {
	asked := s.Approval.Permission
	s.adoptChoice(p.ApprovalID)
	s.clearApproval()
	if asked != nil {
		s.addPermit(*asked, Permit{Allow: true, Session: p.Session, Reason: p.Reason})
		s.Next = Step{Do: Work, Phase: phase}
		return
	}
	s.Next = Step{Do: Apply, Phase: phase}
}

func (s *Snapshot) rejectApproval(p ApprovalRejected) {
	asked := s.Approval.Permission
	s.clearApproval()
	reason := p.Reason
	if reason == "" {
		reason = "no reason was given"
	}
	if asked != nil && !p.Final {
		s.addPermit(*asked, Permit{Reason: reason})
		s.Next = Step{Do: Work, Phase: s.Phase()}
		return
	}
	s.refuseProposal()
	if asked == nil {
		s.addGuidance(FromRejection, reason)
	}
	s.closePhase(Rejected, s.fixAsked())
	if p.Final {
		s.End = Canceled
		s.After = Step{Do: Finish}
		s.Problem = Problem{Code: "REJECTED", Message: reason}
	}
}

// refuseProposal drops the proposal and keeps a reference to its patch for the fixer.
func (s *Snapshot) refuseProposal() {
	if s.Proposal != nil {
		s.Refused = &s.Proposal.Patch
	}
	s.Proposal, s.Rivals = nil, nil
}

func (s *Snapshot) recordApplied(p PatchApplied) {
	s.Proposal, s.Rivals, s.Refused = nil, nil, nil
	s.Head, s.Stat = p.Commit, p.After
	s.Commits++
	s.recordRestored(p.Restored)
	s.closePhase(Patched, Step{Do: Start, Phase: Evaluate})
}

func (s *Snapshot) recordEvaluation(ev Evaluation, r Result, after Step) {
	s.addUsage(ev.Usage)
	s.recordRestored(ev.Restored)
	s.Report, s.Network = &ev.Report, ev.Network
	s.addGuidance(FromVerdict, strings.Join(ev.Reasons, "\n"))
	s.closePhase(r, after)
}

// closePhase makes closing the phase with the result the next step. An empty
// result means that the phase failed with the current problem.
func (s *Snapshot) closePhase(r Result, after Step) {
	s.Outcome, s.After = r, after
	s.Next = Step{Do: Close, Phase: s.Phase()}
}

func (s *Snapshot) answerQuestion(p QuestionAnswered) {
	q, recheck := s.Doubt, s.Recheck
	s.Doubt, s.Recheck = nil, false
	s.State.PendingQuestionID = ""
	s.State.Status = Running
	if p.MaxTokens > 0 {
		s.Input.MaxTokens = p.MaxTokens
	}
	if p.MaxCost > 0 {
		s.Input.MaxCost = p.MaxCost
	}
	text := Reply{Text: p.Text, Values: p.Values}.Render()
	if q != nil {
		text = "Question: " + q.Question + "\nAnswer: " + text
	}
	s.addGuidance(FromAnswer, text)
	after := s.After
	switch {
	case after.Do != "":
	case recheck && !p.Fix:
		after = Step{Do: Start, Phase: Evaluate, Again: true}
	default:
		after = s.fixAsked()
	}
	s.closePhase(Answered, after)
	if p.Stop {
		s.End = Canceled
		s.After = Step{Do: Finish}
		s.Problem = Problem{Code: CodeBudget, Message: "the budget was not raised"}
	}
}

// fixAsked returns the step that starts a fix after a person's answer or
// rejection. Such a fix does not count against maxFixIterations, because each one
// takes a person.
func (s *Snapshot) fixAsked() Step {
	return Step{Do: Start, Phase: Fix, Uncounted: s.Since(RulesAsked)}
}

// limitFixes ends the run as failed if the next step is a fix beyond the limit.
func (s *Snapshot) limitFixes() {
	if s.Next != (Step{Do: Start, Phase: Fix}) || s.Fixes < s.Input.Fixes() {
		return
	}
	s.End = Failed
	s.Problem = Problem{Code: "FIX_LIMIT", Message: fmt.Sprintf("a fix is needed after %d of %d", s.Fixes, s.Input.Fixes())}
	s.Next = Step{Do: Finish}
}

func (s *Snapshot) endRun(status Status) {
	s.State.Status = status
	s.State.CurrentPhase = nil
	s.State.PendingApprovalID, s.State.PendingQuestionID = "", ""
	s.Proposal, s.Rivals, s.Lost, s.Approval, s.Doubt, s.Recheck = nil, nil, nil, nil, nil, false
	s.Next = Step{Do: Rest}
}

func (s *Snapshot) recordRestored(r *Restored) {
	if r != nil {
		s.Restored = r
	}
}

func (s *Snapshot) addUsage(u *Usage) {
	if u != nil {
		s.Usage = s.Usage.Add(*u)
	}
}

func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "\n[cut]"
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}
