package run

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxCandidates is the largest number of candidates that one execute may have.
const MaxCandidates = 8

// Candidate is one rival of a contest: the work of one developer on the task that
// several developers solve side by side.
type Candidate struct {
	Number   int    `json:"attempt"` // from 1
	Provider string `json:"provider"`
	// Proposal is its patch. It is nil if there is none, and Problem then says why.
	Proposal *Proposal `json:"proposal,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"`
	// Passed says that its checks passed, Failed names the checks that did not, and
	// Report refers to the whole report.
	Passed bool     `json:"passed,omitempty"`
	Failed []string `json:"failed,omitempty"`
	Report *Ref     `json:"report,omitempty"`
	// Judged is the evaluator's verdict; empty if the evaluator was not asked.
	Judged Result `json:"judged,omitempty"`
}

// CandidateProviders returns the provider of each candidate of an execute. An
// execute has one candidate unless the input asks for more. Several developers
// take turns.
func (in Input) CandidateProviders() []string {
	developers := append([]string{in.Providers.Developer}, in.Providers.Rivals...)
	list := make([]string, max(in.Candidates, len(developers)))
	for i := range list {
		list[i] = developers[i%len(developers)]
	}
	return list
}

// RankCandidates returns the candidates in order, the best first: checks that
// pass, then a pass of the evaluator, then the smaller patch, then the smaller
// number. Candidates without a patch come last.
func RankCandidates(list []Candidate) []Candidate {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Candidate) int {
		return cmp.Or(
			trueFirst(a.Proposal != nil, b.Proposal != nil),
			trueFirst(a.Passed, b.Passed),
			trueFirst(a.Judged == Pass, b.Judged == Pass),
			cmp.Compare(a.patchLines(), b.patchLines()),
			cmp.Compare(a.Number, b.Number),
		)
	})
	return list
}

// trueFirst compares two booleans: true comes before false.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// The bounds of the record's entry for a candidate that is not the first.
const (
	shortListLen = 3   // files, risks
	shortText    = 160 // bytes
)

// Shortened returns the candidate in the short form that the record holds for a
// candidate beside the first. The whole patch is in the candidate's artifact.
func (e Candidate) Shortened() Candidate {
	if e.Proposal != nil {
		p := *e.Proposal
		p.Summary, p.Excerpt, p.Repairs = clipText(p.Summary, shortText), "", nil
		p.Files, p.Risks = shortList(p.Files), shortList(p.Risks)
		e.Proposal = &p
	}
	if e.Problem != nil {
		e.Problem = &Problem{Code: e.Problem.Code, Message: clipText(e.Problem.Message, 2*shortText)}
	}
	e.Failed = shortList(e.Failed)
	return e
}

func shortList(list []string) []string {
	list = slices.Clone(list[:min(len(list), shortListLen)])
	for i := range list {
		list[i] = clipText(list[i], shortText)
	}
	return list
}

// patchLines returns the number of lines that the candidate's patch adds and
// deletes.
func (e Candidate) patchLines() int {
	if e.Proposal == nil {
		return 0
	}
	return e.Proposal.Stat.Added + e.Proposal.Stat.Deleted
}

// Choice is a patch that a person may approve in place of the first.
// Its approval has an id of its own.
type Choice struct {
	ApprovalID string `json:"approvalId"`
	Digest     Digest `json:"digest"`
	Candidate  int    `json:"attempt"`
	Provider   string `json:"provider"`
	Patch      Ref    `json:"patch"`
	Stat       Stat   `json:"stat"`
	Summary    string `json:"summary"`
	Judged     Result `json:"judged,omitempty"`
	// Risks are the first of the gatekeeper's reasons to look at this patch.
	Risks []string `json:"risks,omitempty"`
}

// otherChoices returns the candidates other than the first that passed their
// checks too. Each patch appears once.
func (s *Snapshot) otherChoices(gate int) []Choice {
	var list []Choice
	seen := []Digest{s.Proposal.Patch.Digest}
	for _, e := range s.Rivals {
		if e.Proposal == nil || !e.Passed || slices.Contains(seen, e.Proposal.Patch.Digest) {
			continue
		}
		seen = append(seen, e.Proposal.Patch.Digest)
		d := ApprovalDigest(s.Input.RunID, e.Proposal.Patch.Digest, e.Proposal.Base, gate)
		list = append(list, Choice{
			ApprovalID: approvalID(s.State.Iteration, d), Digest: d, Candidate: e.Number, Provider: e.Provider,
			Patch: e.Proposal.Patch, Stat: e.Proposal.Stat, Summary: e.Proposal.Summary, Judged: e.Judged, Risks: e.Proposal.Risks,
		})
	}
	return list
}

// adoptChoice replaces the first candidate by the candidate whose patch was approved.
func (s *Snapshot) adoptChoice(id string) {
	i := slices.IndexFunc(s.Approval.Choices, func(c Choice) bool { return c.ApprovalID == id })
	if i < 0 {
		return
	}
	candidate := s.Approval.Choices[i].Candidate
	k := slices.IndexFunc(s.Rivals, func(c Candidate) bool { return c.Number == candidate })
	s.Proposal, s.Chosen = s.Rivals[k].Proposal, candidate
}

// ProposalOf returns the pending proposal that an approval is about.
func (s *Snapshot) ProposalOf(approvalID string) Proposal {
	chosen := *s
	chosen.adoptChoice(approvalID)
	return *chosen.Proposal
}

// Slot names the agent session that serves a phase. Each candidate has a session of
// its own. The fixer continues the session of the chosen candidate, if it has the
// same provider and the input does not ask for a fresh session.
func (s *Snapshot) Slot(phase Phase, candidate int) string {
	if phase == Fix && !s.Input.FreshFixer && s.Input.Providers.Fixer == s.chosenDeveloper() {
		phase, candidate = Execute, s.Chosen
	}
	if candidate > 1 || candidate > 0 && phase == Evaluate { // the branch has an evaluation of its own
		return fmt.Sprintf("%s-%d", phase.Role(), candidate)
	}
	return string(phase.Role())
}

// ProviderOf returns the provider of a candidate at the phase. For candidate zero it
// returns the provider of the phase.
func (s *Snapshot) ProviderOf(phase Phase, candidate int) string {
	if list := s.Input.CandidateProviders(); phase == Execute && candidate > 0 && candidate <= len(list) {
		return list[candidate-1]
	}
	return s.Input.Providers.For(phase.Role())
}

// chosenDeveloper returns the provider of the chosen candidate.
func (s *Snapshot) chosenDeveloper() string {
	list := s.Input.CandidateProviders()
	return list[min(max(s.Chosen-1, 0), len(list)-1)]
}
