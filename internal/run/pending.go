package run

import (
	"cmp"
	"fmt"
	"time"
)

// Pending describes the wait of a run: for an approval, for an answer, or for nothing.
type Pending struct {
	RunID    ID               `json:"runId"`
	Name     Name             `json:"name,omitempty"`
	Status   Status           `json:"status"`
	Approval *PendingApproval `json:"approval,omitempty"`
	Question *PendingQuestion `json:"question,omitempty"`
	// Limited is the usage limit that the run waits out by itself.
	Limited *Limited `json:"limited,omitempty"`
	// RefusedSignals are the latest signals that the run has not taken.
	RefusedSignals []RefusedSignal `json:"refusedSignals,omitempty"`
	// Deadline is the time at which the wait ends by itself; nil: never.
	Deadline *time.Time `json:"deadline,omitempty"`
}

// Halt says why a call of a provider gave no answer although it has not failed. The same call is made again when the event
// that it waits for has come. Exactly one of the first three members is set.
type Halt struct {
	Permission *Permission `json:"permission,omitempty"` // a person must decide
	Exhausted  bool        `json:"exhausted,omitempty"`  // a budget must be raised
	Limited    *Limited    `json:"limited,omitempty"`    // time must pass
	// Cut refers to the text that came before the call was cut off; nil: none.
	Cut *Ref `json:"cut,omitempty"`
}

// Limited is a usage limit of a provider.
type Limited struct {
	Until    time.Time `json:"until"`
	Provider string    `json:"provider"`
	Reason   string    `json:"reason"`
}

// PendingApproval is the pending approval, with the ways to resolve it.
type PendingApproval struct {
	ApprovalID string `json:"approvalId"`
	Digest     Digest `json:"digest"`
	Summary    string `json:"summary"`
	// Permission is the tool call that waits. It is nil when a patch waits; the
	// members from Patch to Excerpt then describe the patch.
	Permission *Permission `json:"permission,omitempty"`
	Patch      Ref         `json:"patch,omitzero"`
	Base       Commit      `json:"base"`
	Stat       Stat        `json:"stat"`
	Files      []string    `json:"files,omitempty"`
	Reasons    []string    `json:"reasons,omitempty"`
	Repairs    []string    `json:"repairs,omitempty"`
	Excerpt    string      `json:"excerpt,omitempty"`
	Commands   []string    `json:"commands"`
	// EditedBy is who edited the patch; empty: it is no edit.
	EditedBy string `json:"editedBy,omitempty"`
	// Refused refers to the patch that was refused before this one; nil: none was.
	Refused *Ref `json:"refused,omitempty"`
	// Report refers to the results of the last evaluation of the run; nil: there was none yet.
	Report *Ref `json:"report,omitempty"`
	// Baseline is the outcome of the checks on the base commit in one line; empty: none, or a tool
	// waits. Before holds the checks of the last evaluation that had failed there in the same way.
	Baseline string   `json:"baseline,omitempty"`
	Before   []string `json:"failedBefore,omitempty"`
	// Unboxed is set if the box does not hold the programs of the run.
	Unboxed bool `json:"unboxed,omitempty"`
	// Candidate is the number of the candidate that made the patch. Choices holds
	// the other patches that may be approved instead, each by its own id.
	Candidate int      `json:"attempt,omitempty"`
	Choices   []Choice `json:"choices,omitempty"`
	// Signal is the payload to send as the signal `approval`.
	Signal Decision `json:"signal"`
	// Next describes the consequences of a yes and of a no.
	Next Outlook `json:"next"`
}

// PendingQuestion is the pending question, with the ways to answer it.
type PendingQuestion struct {
	QuestionID string       `json:"questionId"`
	Kind       QuestionKind `json:"kind"`
	Question
	Commands []string `json:"commands"`
	// Signal is the payload to send as the signal `answer`.
	Signal Reply `json:"signal"`
	// Next describes the consequences of an answer.
	Next Outlook `json:"next"`
}

// NeedsApproval reports whether the current proposal must wait for a person.
func (s *Snapshot) NeedsApproval() bool {
	if _, chosen := s.ChosenBy(); chosen { // the choice is its approval, which is recorded
		return true
	}
	switch s.Input.Policy {
	case Never:
		return false
	case Risky:
		return len(s.Proposal.Risks) > 0
	}
	return true
}

// NewApproval returns the request for the approval that the current proposal needs.
// Its id is derived from the content and fits no other patch.
func (s *Snapshot) NewApproval() ApprovalRequested {
	gate := s.Gates + 1
	d := ApprovalDigest(s.Input.RunID, s.Proposal.Patch.Digest, s.Proposal.Base, gate)
	return ApprovalRequested{
		ApprovalID: approvalID(s.State.Iteration, d), Digest: d, Gate: gate,
		Patch: s.Proposal.Patch.Digest, Base: s.Proposal.Base, Reasons: s.Proposal.Risks, Choices: s.otherChoices(gate),
	}
}

// NewQuestion returns the event payload of the question about to be asked.
func (s *Snapshot) NewQuestion() QuestionRaised {
	asker := cmp.Or(s.After.Phase, Evaluate)
	return QuestionRaised{QuestionID: fmt.Sprintf(QuestionForm, s.State.Iteration, s.Asked+1), Question: *s.Question, Asker: asker}
}

// WaitLimit returns the longest time that the current wait may last, counted from
// the last event, which opened the wait. Zero means no limit or no wait.
func (s *Snapshot) WaitLimit() time.Duration {
	switch s.Next.Do {
	case Decide:
		return s.Input.Timeouts.Approval
	case Await:
		return s.Input.Timeouts.Answer
	}
	return 0
}

// Pending returns the description of the run's current wait.
func (s *Snapshot) Pending() Pending {
	p := Pending{RunID: s.Input.RunID, Name: s.Input.Name, Status: s.State.Status}
	if limit := s.WaitLimit(); limit > 0 {
		end := s.State.UpdatedAt.Add(limit)
		p.Deadline = &end
	}
	id := s.Input.RunID
	switch a := s.Approval; {
	case a == nil:
	case a.Permission != nil:
		p.Approval = a.toolApproval(id)
	case s.Proposal != nil:
		p.Approval = &PendingApproval{
			ApprovalID: a.ApprovalID, Digest: a.Digest, Summary: s.Proposal.Summary,
			Patch: s.Proposal.Patch, Base: s.Proposal.Base, Stat: s.Proposal.Stat, Files: s.Proposal.Files,
			Reasons: a.Reasons, Repairs: s.Proposal.Repairs, Excerpt: s.Proposal.Excerpt,
			Commands: []string{
				fmt.Sprintf("starter approve %s --approval %s", id, a.ApprovalID),
				fmt.Sprintf("starter reject %s --approval %s --reason TEXT", id, a.ApprovalID),
			},
			Candidate: s.Chosen, Choices: a.Choices, Before: s.Before,
			EditedBy: s.Proposal.EditedBy, Refused: s.Refused, Report: s.Report,
			Signal: Decision{ApprovalID: a.ApprovalID, Decision: Approve},
		}
		if s.Baseline != nil {
			p.Approval.Baseline = s.Baseline.Summary()
		}
		for _, c := range a.Choices {
			p.Approval.Commands = append(p.Approval.Commands, fmt.Sprintf("starter approve %s --approval %s", id, c.ApprovalID))
		}
	}
	if p.Approval != nil {
		p.Approval.Next = s.approvalOutlook()
		p.Approval.Unboxed = s.Input.Sandbox.Off()
	}
	if q := s.State.PendingQuestionID; q != "" && s.Question != nil {
		p.Question = &PendingQuestion{
			QuestionID: q, Kind: s.questionKind(), Question: *s.Question,
			Commands: []string{fmt.Sprintf("starter answer %s TEXT --question %s", id, q)},
			Signal:   Reply{QuestionID: q, Text: "your answer"},
			Next:     s.questionOutlook(),
		}
	}
	return p
}

// toolApproval returns the pending approval of a tool call.
func (a *ApprovalRequested) toolApproval(id ID) *PendingApproval {
	return &PendingApproval{
		ApprovalID: a.ApprovalID, Digest: a.Digest, Base: a.Base, Reasons: a.Reasons,
		Summary: a.Permission.Summary(), Permission: a.Permission, Excerpt: a.Permission.Excerpt,
		Commands: []string{
			fmt.Sprintf("starter approve %s --approval %s", id, a.ApprovalID),
			fmt.Sprintf("starter approve %s --approval %s --session", id, a.ApprovalID),
			fmt.Sprintf("starter reject %s --approval %s --reason TEXT", id, a.ApprovalID),
		},
		Signal: Decision{ApprovalID: a.ApprovalID, Decision: Approve},
	}
}
