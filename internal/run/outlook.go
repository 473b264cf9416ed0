package run

import (
	"fmt"
	"slices"
	"strings"
)

// Outlook says in words what each way to settle a wait leads to. An empty
// member is a way that is not open.
type Outlook struct {
	Approve string `json:"approve,omitempty"`
	Reject  string `json:"reject,omitempty"`
	Final   string `json:"final,omitempty"` // a final rejection
	Answer  string `json:"answer,omitempty"`
	Fix     string `json:"fix,omitempty"`  // an answer that begins with FixWord
	Stop    string `json:"stop,omitempty"` // the answer that raises no budget
}

// Way is one way to settle a wait, and what it leads to.
type Way struct{ Do, Leads string }

// Ways are those that are open.
func (o Outlook) Ways() []Way {
	all := []Way{
		{"approve", o.Approve}, {"reject", o.Reject}, {"reject, final", o.Final},
		{"answer", o.Answer}, {"answer " + FixWord + " ...", o.Fix}, {"answer " + stopWord, o.Stop},
	}
	return slices.DeleteFunc(all, func(w Way) bool { return w.Leads == "" })
}

// decisions is the outlook of the pending approval. It is read off the fold
// itself, so it says what will happen.
func (s *Snapshot) decisions() Outlook {
	o := Outlook{
		Approve: s.after(ApprovalGranted{ApprovalID: s.State.PendingApprovalID}).leads(""),
		Reject:  s.after(ApprovalRejected{}).leads(" with your reason"),
		Final:   s.after(ApprovalRejected{Final: true}).leads(""),
	}
	if s.Approval.Permission != nil {
		o.Approve, o.Reject = "the agent uses the tool and works on", "the agent is told your reason and works on without the tool"
	}
	return o
}

// replies is the outlook of the open question.
func (s *Snapshot) replies() (o Outlook) {
	const with = " with the answer"
	if e := s.State.LastError; e != nil && e.Code == CodeAhead {
		o.Answer = "the run goes on from where its workflow stands, and the later events are set aside"
		return o
	}
	if s.overrun() != "" {
		o.Answer = "the budget is raised, and " + s.after(QuestionAnswered{}).leads("")
		o.Stop = s.after(QuestionAnswered{Stop: true}).leads("")
		return o
	}
	o.Answer = s.after(QuestionAnswered{}).leads(with)
	if s.Recheck {
		o.Fix = s.after(QuestionAnswered{Fix: true}).leads(with)
	}
	return o
}

// after is where the run will stand once the payload, which settles the wait
// at hand, is recorded and the phase closed.
func (s *Snapshot) after(p Payload) *Snapshot {
	next := *s
	next.Guidance, next.Permits = slices.Clip(s.Guidance), slices.Clip(s.Permits)
	next.fold(next.Event(s.State.UpdatedAt, p))
	if next.Next.Do == Close {
		next.fold(next.Event(s.State.UpdatedAt, PhaseCompleted{Result: next.Outcome}))
	}
	return &next
}

// leads says what the run does where it stands after a wait; what the person
// said goes to whoever is called.
func (s *Snapshot) leads(with string) string {
	used := fmt.Sprintf("%d of %d fixes used", s.Fixes, s.Input.Fixes())
	switch step := s.Next; {
	case step.Do == Finish && s.End == Failed:
		return "the run ends as failed, " + used
	case step.Do == Finish:
		return fmt.Sprintf("the run ends as %s", s.End)
	case step.Do == Apply:
		return "the patch is applied, and " + s.judges("")
	case step.Phase == Evaluate:
		return s.judges(" again")
	case s.Lost != nil:
		return fmt.Sprintf("the same patch is proposed again if it is back, or else the %s is called again%s", step.Phase.Role(), with)
	case step.Phase == Fix && !step.Again && step.Uncounted:
		return fmt.Sprintf("the fixer is called%s; that does not count (%s)", with, used)
	case step.Phase == Fix && !step.Again:
		return fmt.Sprintf("the fixer is called%s, fix %d of %d", with, s.Fixes+1, s.Input.Fixes())
	case step.Phase == Execute && len(s.Input.CandidateProviders()) > 1:
		return "the developers are called again" + with
	default:
		return fmt.Sprintf("the %s is called again%s", step.Phase.Role(), with)
	}
}

// judges names who judges the result.
func (s *Snapshot) judges(again string) string {
	var who []string
	if len(s.Input.Checks) > 0 {
		who = append(who, "the checks run"+again)
	}
	if s.Input.Providers.Evaluator != "" {
		who = append(who, "the evaluator is asked"+again)
	}
	return strings.Join(who, ", then ")
}
