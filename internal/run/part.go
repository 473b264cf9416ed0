package run

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Part is what a person makes of a refused patch: some of its files and hunks, or an edit of it. The run proposes it as a
// patch of its own.
type Part struct {
	Of    Proposal     `json:"of"`
	Files []string     `json:"files,omitempty"` // paths in the repository
	Hunks []HunkChoice `json:"hunks,omitempty"` // of other files
	// Edit refers to the whole patch as the person has edited it; nil: some of it was chosen.
	Edit *Ref   `json:"edit,omitempty"`
	By   string `json:"by,omitempty"`
	// Reason says why the rest goes back to the fixer. If it is empty it is dropped.
	Reason string `json:"reason,omitempty"`
}

// HunkChoice names hunks of a file of a patch.
type HunkChoice struct {
	File    string `json:"file"`
	Numbers []int  `json:"hunks"` // from 1, in the order of the patch
}

// MaxEditBytes bounds a patch that a message carries: it is in the run's history.
const MaxEditBytes = 256 << 10

// maxPartFiles bounds the files that a decision names. More of a patch is more than a person tells apart
// by name.
const maxPartFiles = 1000

// maxPartNames bounds the accepted files that a prompt names.
const maxPartNames = 20

// TakesPart reports whether the decision accepts some of a patch.
func (d Decision) TakesPart() bool { return len(d.Files)+len(d.Hunks) > 0 }

// checkPart returns nil if the decision may accept some of the pending patch.
func (s *Snapshot) checkPart(d Decision) error {
	size, count := 0, len(d.Files)
	names := slices.Clone(d.Files)
	for _, c := range d.Hunks {
		names = append(names, c.File)
		if count += len(c.Numbers); len(c.Numbers) == 0 {
			return errors.New("no hunk of the file is named")
		}
	}
	for _, f := range names {
		if size += len(f); f == "" {
			return errors.New("the name of an accepted file is empty")
		}
	}
	switch {
	case d.Decision != Approve:
		return errors.New("only an approval can name files or hunks")
	case !s.patchPending():
		return errors.New("only files of a patch can be accepted")
	case count > maxPartFiles || size > MaxTextBytes:
		return fmt.Errorf("too many files or hunks to name: %d. Accept the whole patch, or send it back", count)
	}
	return nil
}

// checkEdit returns nil if the decision may put another patch in the place of the pending one.
func (s *Snapshot) checkEdit(d Decision) error {
	switch {
	case !s.patchPending():
		return errors.New("only a patch can be edited")
	case d.TakesPart() || d.Session:
		return errors.New("an edit names no files or hunks, and holds for no session")
	case len(d.Patch) > MaxEditBytes:
		return fmt.Errorf("the patch has %d bytes, at most %d fit", len(d.Patch), MaxEditBytes)
	}
	return nil
}

func (s *Snapshot) patchPending() bool {
	return s.Approval != nil && s.Approval.Permission == nil && s.Proposal != nil
}

// acceptPart refuses the pending patch, and makes the proposal of the accepted part or of the edit the next step.
func (s *Snapshot) acceptPart(p ApprovalRejected) {
	s.adoptChoice(p.ApprovalID)
	s.clearApproval()
	part := &Part{Of: *s.Proposal, Files: p.Files, Hunks: p.Hunks, Edit: p.Edit, By: OneLine(p.By, "a signal without a name")}
	if p.Edit == nil {
		part.Reason = p.Reason
	}
	if s.Part != nil && part.Reason == "" { // a part of a part: the rest of the first goes back all the same
		part.Reason = s.Part.Reason
	}
	s.refuseProposal()
	s.Part = part
	s.addGuidance(FromRejection, part.guidance(p.Reason))
	s.Next = Step{Do: Work, Phase: s.Phase()}
}

// ChosenBy returns who accepted the current proposal when they chose it from the patch before: choosing is the approval,
// because the bytes were shown. ok is false for any other proposal.
func (s *Snapshot) ChosenBy() (by string, ok bool) {
	if s.Part == nil || s.Part.Edit != nil || s.Proposal == nil || s.Proposal.PartOf != s.Part.Of.Patch.Digest {
		return "", false
	}
	return s.Part.By, true
}

// guidance returns the words for the prompts about the acceptance or the edit, for which a reason may have been given.
func (p Part) guidance(reason string) string {
	if p.Edit != nil {
		text := "A person has edited the last patch. The edited patch takes its place: keep these edits."
		if reason != "" {
			text += " " + reason
		}
		return text
	}
	var names []string
	for _, f := range p.Files {
		names = append(names, strconv.Quote(f))
	}
	for _, c := range p.Hunks {
		names = append(names, fmt.Sprintf("%q (hunks %s)", c.File, strings.Trim(fmt.Sprint(c.Numbers), "[]")))
	}
	shown := names[:min(len(names), maxPartNames)]
	text := "These files of the last patch are accepted and must stay as they are there: " + strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text += "."
	rest := "its other files"
	if len(p.Hunks) > 0 {
		rest = "its other files and hunks"
	}
	if p.Reason == "" {
		return text + " The changes of " + rest + " are dropped."
	}
	return text + " I" + rest[1:] + " are sent back: " + p.Reason
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
