package run

import (
	"errors"
	"fmt"
	"slices"
)

// Before is the run that another one continues: the other begins at its last commit, and its prompts carry what
// people and evaluations said in it.
type Before struct {
	RunID ID   `json:"runId"`
	Name  Name `json:"name,omitempty"`
	// Base is the commit that the first run of the chain began at. A merge brings all commits after it.
	Base     Commit     `json:"base"`
	Guidance []Guidance `json:"guidance,omitempty"`
}

// kindsOfGuidance are the kinds that a run carries from another.
var kindsOfGuidance = []string{FromAnswer, FromRejection, FromRefusal, FromVerdict, FromNote}

// check returns the errors of the run before; nil: none.
func (b *Before) check(id ID) error {
	if b == nil {
		return nil
	}
	errs := []error{b.RunID.Validate()}
	if b.RunID == id {
		errs = append(errs, errors.New("a run cannot continue itself"))
	}
	if b.Base == "" {
		errs = append(errs, errors.New("the base commit of the earlier run is missing"))
	}
	total := 0
	for _, g := range b.Guidance {
		total += len(g.Text)
		if !slices.Contains(kindsOfGuidance, g.Kind) {
			errs = append(errs, fmt.Errorf("unknown kind of guidance %q", g.Kind))
		}
	}
	if total > maxGuidanceBytes {
		errs = append(errs, fmt.Errorf("the guidance of the earlier run has %d bytes, at most %d fit", total, maxGuidanceBytes))
	}
	return errors.Join(errs...)
}

// GoOn returns the input of a run that continues this one at its last commit, with the same settings. It
// has no id and no branch yet. The notes are texts that its prompts carry besides; empty ones are left out.
func (s *Snapshot) GoOn(notes ...string) Input {
	in := s.Input
	base := in.Repository.Base
	if in.Before != nil {
		base = in.Before.Base
	}
	with := Snapshot{State: s.State, Guidance: slices.Clone(s.Guidance)}
	for _, note := range notes {
		with.addGuidance(FromNote, note)
	}
	in.Before = &Before{RunID: in.RunID, Name: in.Name, Base: base, Guidance: with.Guidance}
	in.RunID, in.Name, in.Naming.Branch = "", "", ""
	in.Session = "" // whoever starts this one says so
	if s.Head != "" {
		in.Repository.Base = s.Head
	}
	return in
}
