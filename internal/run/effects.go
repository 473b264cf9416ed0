package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The effects of the events on the snapshot. Apply in fold.go has admitted each event before.

func (s *Snapshot) createRun(e Event, p RunCreated) {
	s.Input = p.Input
	s.Head = p.Repository.Base
	s.State = State{
		RunID: p.RunID, Status: Created, MaxFixIterations: p.Fixes(),
		CreatedAt: e.TS,
	}
	s.Next = Step{Do: Start, Phase: Plan}
	if p.Before != nil {
		s.Guidance = slices.Clone(p.Before.Guidance)
	}
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
	if p.Baseline != nil {
		s.Baseline = p.Baseline
	}
	s.State.Iteration = e.Iteration
	s.State.CurrentPhase = &e.Phase
	s.State.Status = Running
	s.dropUsedPermits(e.Phase)
	for _, n := range p.Notes {
		s.addGuidance(FromNote, n.Text)
	}
	s.Notes = s.Notes[min(len(p.Notes), len(s.Notes)):]
	if e.Phase != Ask && s.unsettledBaseline() == nil { // else no provider is called
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
	if s.End != Canceled { // else it is the reason of the end
		s.Problem = Problem{}
	}
	if s.Next.Do == Work {
		s.Lost, s.Part = nil, nil
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
		s.Question = p.Question
		s.After = Step{Do: Start, Phase: phase, Again: true}
		if phase == Fix {
			s.After = fixAsked
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
	if s.Lost == nil {
		s.Part = nil
	}
	phase := s.Phase()
	switch {
	case p.Question != nil:
		s.Question = p.Question
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
	if asked == nil && (len(p.Files)+len(p.Hunks) > 0 || p.Edit != nil) {
		s.acceptPart(p)
		return
	}
	s.clearApproval()
	reason := cmp.Or(p.Reason, "no reason was given")
	if asked != nil && !p.Final {
		s.addPermit(*asked, Permit{Reason: reason})
		s.Next = Step{Do: Work, Phase: s.Phase()}
		return
	}
	s.refuseProposal()
	if asked == nil {
		s.addGuidance(FromRejection, reason)
	}
	s.closePhase(Rejected, fixAsked)
	if p.Final {
		s.End = Canceled
		s.After = Step{Do: Finish}
		s.Problem = Problem{Code: "REJECTED", Message: reason}
	}
}

// RefusedAgain reports whether the last two answers were refused for the same reason.
func (s *Snapshot) RefusedAgain() bool {
	n := len(s.Guidance)
	return n > 1 && s.Guidance[n-1].Kind == FromRefusal && s.Guidance[n-1].Kind == s.Guidance[n-2].Kind && s.Guidance[n-1].Text == s.Guidance[n-2].Text
}

// refuseProposal drops the proposal and keeps a reference to its patch for the fixer.
func (s *Snapshot) refuseProposal() {
	if s.Proposal != nil {
		s.Refused = &s.Proposal.Patch
	}
	s.Proposal, s.Rivals, s.Part = nil, nil, nil
}

func (s *Snapshot) recordApplied(p PatchApplied) {
	after, refused := s.afterApplied()
	s.Proposal, s.Rivals, s.Part, s.Refused = nil, nil, nil, refused
	s.Head, s.Stat = p.Commit, p.After
	s.Commits++
	s.closePhase(Patched, after)
}

func (s *Snapshot) recordEvaluation(ev Evaluation, r Result, after Step) {
	s.addUsage(ev.Usage)
	s.Report, s.Network, s.Before = &ev.Report, ev.Network, ev.Before
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
	q, recheck, steers := s.Question, s.Recheck, s.asksBaseline()
	s.Question, s.Recheck = nil, false
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
	if !steers && !p.Retry { // the answer about a baseline is for no model
		s.addGuidance(FromAnswer, text)
	}
	s.Unbased = s.Unbased || p.Without
	after := s.After
	switch {
	case after.Do != "":
	case recheck && !p.Fix:
		after = Step{Do: Start, Phase: Evaluate, Again: true}
	default:
		after = fixAsked
	}
	s.closePhase(Answered, after)
	if p.Stop {
		s.End = Canceled
		s.After = Step{Do: Finish}
		s.Problem = Problem{Code: CodeBudget, Message: "the budget was not raised"}
		if steers {
			s.Problem = Problem{Code: CodeBaseline, Message: "the checks could not run on the base commit"}
		}
	}
}

// fixAsked is the step that starts a fix after a person's answer or rejection.
// Such a fix does not count against maxFixIterations, because each one takes a
// person.
var fixAsked = Step{Do: Start, Phase: Fix, Uncounted: true}

// CodeFixLimit is the code of a run that failed because its automatic fixes are used.
const CodeFixLimit = "FIX_LIMIT"

// limitFixes ends the run as failed if the next step is a fix beyond the limit.
func (s *Snapshot) limitFixes() {
	if s.Next != (Step{Do: Start, Phase: Fix}) || s.Fixes < s.Input.Fixes() {
		return
	}
	s.End = Failed
	s.Problem = Problem{Code: CodeFixLimit, Message: fmt.Sprintf("a fix is needed after %d of %d", s.Fixes, s.Input.Fixes())}
	s.Next = Step{Do: Finish}
}

func (s *Snapshot) endRun(status Status) {
	s.State.Status = status
	s.State.CurrentPhase = nil
	s.State.PendingApprovalID, s.State.PendingQuestionID = "", ""
	s.Proposal, s.Rivals, s.Part, s.Lost, s.Approval, s.Question, s.Recheck = nil, nil, nil, nil, nil, nil, false
	s.Next = Step{Do: Rest}
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
