package run

import (
	"fmt"
	"slices"
	"strings"
)

// Outlook describes in words the consequence of each way to resolve a wait. An
// empty member means that the way is not open.
type Outlook struct {
	Approve string `json:"approve,omitempty"`
	Reject  string `json:"reject,omitempty"`
	Final   string `json:"final,omitempty"` // a final rejection
	Part    string `json:"part,omitempty"`  // an approval that names files or hunks
	Edit    string `json:"edit,omitempty"`
	// RejectEnds is set if a rejection ends the run, although it is not a final one.
	RejectEnds bool   `json:"rejectEnds,omitempty"`
	Retry      string `json:"retry,omitempty"` // a reply that repeats the step that failed
	Answer     string `json:"answer,omitempty"`
	Fix        string `json:"fix,omitempty"`     // an answer that begins with FixWord
	Again      string `json:"again,omitempty"`   // the answer that runs the checks on the base commit again
	Without    string `json:"without,omitempty"` // the answer that lets the run continue without a baseline
	Stop       string `json:"stop,omitempty"`    // the answer that raises no budget, or ends the run before its start
}

// Way is one way to resolve a wait, and its consequence.
type Way struct{ Do, Leads string }

// Ways returns the open ways.
func (o Outlook) Ways() []Way {
	all := []Way{
		{"approve", o.Approve}, {"approve some of it", o.Part}, {"edit", o.Edit}, {"reject", o.Reject}, {"reject --final", o.Final},
		{"retry", o.Retry}, {"answer", o.Answer}, {"answer " + FixWord + " ...", o.Fix},
		{"answer " + againWord, o.Again}, {"answer " + withoutWord, o.Without}, {"answer " + stopWord, o.Stop},
	}
	return slices.DeleteFunc(all, func(w Way) bool { return w.Leads == "" })
}

// approvalOutlook returns the outlook of the pending approval. It takes the
// consequences from the fold itself and thus agrees with the run's later course.
func (s *Snapshot) approvalOutlook() Outlook {
	rejected := s.snapshotAfter(ApprovalRejected{})
	o := Outlook{
		Approve: s.snapshotAfter(ApprovalGranted{ApprovalID: s.State.PendingApprovalID}).describeNext(""),
		Reject:  rejected.describeNext(" with your reason"),
		Final:   s.snapshotAfter(ApprovalRejected{Final: true}).describeNext(""),
	}
	if s.Proposal != nil {
		o.Part = "the chosen files or hunks are applied as a patch of their own; with a reason, the rest goes back to the agent"
		o.Edit = "your patch takes its place, and is asked about like any other"
	}
	o.RejectEnds = rejected.Next.Do == Finish
	if s.Approval.Permission != nil {
		o.Approve, o.Reject = "the agent uses the tool and continues", "the agent reads your reason and continues without the tool"
		o.Part, o.Edit = "", ""
	}
	return o
}

// questionOutlook returns the outlook of the pending question.
func (s *Snapshot) questionOutlook() (o Outlook) {
	const with = " with the answer"
	if e := s.State.LastError; e != nil && e.Code == CodeAhead {
		o.Answer = "the run continues from the state of its workflow; the later events are set aside"
		return o
	}
	if s.overrunCode() != "" {
		o.Answer = "the budget is raised, and " + s.snapshotAfter(QuestionAnswered{}).describeNext("")
		o.Stop = s.snapshotAfter(QuestionAnswered{Stop: true}).describeNext("")
		return o
	}
	if s.asksBaseline() {
		o.Again = s.snapshotAfter(QuestionAnswered{}).describeNext("")
		o.Without = s.snapshotAfter(QuestionAnswered{Without: true}).describeNext("")
		o.Stop = s.snapshotAfter(QuestionAnswered{Stop: true}).describeNext("")
		return o
	}
	o.Answer = s.snapshotAfter(QuestionAnswered{}).describeNext(with)
	if s.questionKind().Repeats() {
		o.Retry = s.snapshotAfter(QuestionAnswered{Retry: true}).describeNext("")
	}
	if s.Recheck {
		o.Fix = s.snapshotAfter(QuestionAnswered{Fix: true}).describeNext(with)
	}
	return o
}

// snapshotAfter returns the snapshot of the run after the payload, which settles
// the current wait, is recorded and the phase is closed.
func (s *Snapshot) snapshotAfter(p Payload) *Snapshot {
	next := *s
	next.Guidance, next.Permits = slices.Clip(s.Guidance), slices.Clip(s.Permits)
	next.foldEvent(next.Event(s.State.UpdatedAt, p))
	if next.Next.Do == Close {
		next.foldEvent(next.Event(s.State.UpdatedAt, PhaseCompleted{Result: next.Outcome}))
	}
	return &next
}

// describeNext describes the next step of a run after a wait. The text in with
// says that the role called next receives the person's words.
func (s *Snapshot) describeNext(with string) string {
	used := fmt.Sprintf("%d of %d fixes used", s.Fixes, s.Input.Fixes())
	switch step := s.Next; {
	case s.NeedsBaseline():
		return "the checks run again on the base commit; no model is called before"
	case step.Do == Finish && s.End == Failed:
		return "the run ends as failed, " + used
	case step.Do == Finish:
		return fmt.Sprintf("the run ends as %s", s.End)
	case step.Do == Apply:
		if after, _ := s.afterApplied(); after.Phase == Fix {
			return "the patch is applied, and the agent works on the rest"
		}
		return "the patch is applied, and " + s.describeJudges("")
	case step.Phase == Evaluate:
		return s.describeJudges(" again")
	case s.Lost != nil:
		return "the same patch is proposed again if its file is back; otherwise the agent tries again" + with
	case step.Phase == Fix && !step.Again && step.Uncounted:
		return fmt.Sprintf("the agent tries again%s; this uses up no fix (%s)", with, used)
	case step.Phase == Fix && !step.Again:
		return fmt.Sprintf("the agent tries again%s, fix %d of %d", with, s.Fixes+1, s.Input.Fixes())
	case step.Phase == Execute && len(s.Input.CandidateProviders()) > 1:
		return "the agents try again" + with
	case s.Calls[step.Phase] == 0: // the question came before its first call
		return fmt.Sprintf("the %s starts%s", agentName(step.Phase), with)
	default:
		return fmt.Sprintf("the %s tries again%s", agentName(step.Phase), with)
	}
}

// describeJudges names the judges of the result: the checks and the evaluator.
func (s *Snapshot) describeJudges(again string) string {
	var who []string
	if len(s.Checks()) > 0 {
		who = append(who, "the checks run"+again)
	}
	if s.Input.Providers.Evaluator != "" {
		who = append(who, "the evaluator decides"+again)
	}
	return strings.Join(who, ", then ")
}

// agentName names the role of a phase for people, who know its agent and not its role.
func agentName(p Phase) string {
	if p == Execute || p == Fix {
		return "agent"
	}
	return string(p.Role())
}
