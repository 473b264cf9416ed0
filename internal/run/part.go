package run

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Part is the part of a refused patch that a person accepted. The run proposes it as a patch of its own,
// which is shown and approved like any other.
type Part struct {
	Of    Proposal `json:"of"`
	Files []string `json:"files"` // paths in the repository
	// Reason says why the other files go back to the fixer. If it is empty they are dropped.
	Reason string `json:"reason,omitempty"`
}

// maxPartFiles bounds the files that a decision names. More of a patch is more than a person tells apart
// by name.
const maxPartFiles = 1000

// maxPartNames bounds the accepted files that a prompt names.
const maxPartNames = 20

// checkFiles returns nil if the decision may accept some files of the pending patch.
func (s *Snapshot) checkFiles(d Decision) error {
	size := 0
	for _, f := range d.Files {
		if size += len(f); f == "" {
			return errors.New("the name of an accepted file is empty")
		}
	}
	switch {
	case d.Decision != Approve:
		return errors.New("only an approval can name files")
	case s.Approval == nil || s.Approval.Permission != nil || s.Proposal == nil:
		return errors.New("only files of a patch can be accepted")
	case len(d.Files) > maxPartFiles || size > MaxTextBytes:
		return fmt.Errorf("too many files to name: %d. Accept the whole patch, or send it back", len(d.Files))
	}
	return nil
}

// acceptPart refuses the pending patch, and makes the proposal of the accepted part the next step.
func (s *Snapshot) acceptPart(p ApprovalRejected) {
	s.adoptChoice(p.ApprovalID)
	s.clearApproval()
	part := &Part{Of: *s.Proposal, Files: p.Files, Reason: p.Reason}
	if s.Part != nil && part.Reason == "" { // a part of a part: the rest of the first goes back all the same
		part.Reason = s.Part.Reason
	}
	s.refuseProposal()
	s.Part = part
	s.addGuidance(FromRejection, part.guidance())
	s.Next = Step{Do: Work, Phase: s.Phase()}
}

// guidance returns the words for the prompts about the acceptance.
func (p Part) guidance() string {
	var names []string
	for _, f := range p.Files[:min(len(p.Files), maxPartNames)] {
		names = append(names, strconv.Quote(f))
	}
	text := "These files of the last patch are accepted and must stay as they are there: " + strings.Join(names, ", ")
	if more := len(p.Files) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text += "."
	if p.Reason == "" {
		return text + " The changes of its other files are dropped."
	}
	return text + " Its other files are sent back: " + p.Reason
}

// partDue returns the digest of the patch whose accepted part is to be proposed next; empty: none is.
// A part that was proposed and lost is not made again: it is found, or the provider is called.
func (s *Snapshot) partDue() Digest {
	if s.Part == nil || s.Lost != nil || s.Next.Do != Work {
		return ""
	}
	return s.Part.Of.Patch.Digest
}

// PartDue returns the accepted part that the run has to propose next; nil: none.
func (s *Snapshot) PartDue() *Part {
	if s.partDue() == "" {
		return nil
	}
	return s.Part
}

// afterApplied returns the step that follows the application of the proposal, and the refused patch that
// the next prompt shows.
func (s *Snapshot) afterApplied() (Step, *Ref) {
	if s.Part == nil || s.Part.Reason == "" {
		return Step{Do: Start, Phase: Evaluate}, nil
	}
	return fixAsked, s.Refused
}
