package run

import (
	"cmp"
	"fmt"
	"slices"
)

// MaxAttempts is how many attempts one execute may have.
const MaxAttempts = 8

// Entrant is one of several attempts at the same work.
type Entrant struct {
	Attempt  int    `json:"attempt"` // from 1
	Provider string `json:"provider"`
	// Proposal is its patch; nil when there is none, for the reason of Problem.
	Proposal *Proposal `json:"proposal,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"`
	// Passed says that its checks passed, Failed names those that did not, and
	// Report is all of it.
	Passed bool     `json:"passed,omitempty"`
	Failed []string `json:"failed,omitempty"`
	Report *Ref     `json:"report,omitempty"`
	// Judged is what the evaluator said of it; empty when it was not asked.
	Judged Result `json:"judged,omitempty"`
}

// Attempts are the providers of the attempts that an execute has: one, unless
// the input asks for more. Several developers take turns.
func (in Input) Attempts() []string {
	developers := append([]string{in.Providers.Developer}, in.Providers.Rivals...)
	list := make([]string, max(in.Tries, len(developers)))
	for i := range list {
		list[i] = developers[i%len(developers)]
	}
	return list
}

// Rank puts the entrants in order, the best first: checks that pass, then what
// the evaluator lets pass, then the smaller patch, then the earlier attempt.
// Those without a patch come last.
func Rank(list []Entrant) []Entrant {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Entrant) int {
		return cmp.Or(
			first(a.Proposal != nil, b.Proposal != nil),
			first(a.Passed, b.Passed),
			first(a.Judged == Pass, b.Judged == Pass),
			cmp.Compare(a.size(), b.size()),
			cmp.Compare(a.Attempt, b.Attempt),
		)
	})
	return list
}

// first puts what is true before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Bounds of what the record says of an attempt that is not the first.
const (
	shortList = 3   // files, risks
	shortText = 160 // bytes
)

// Short is the entrant as it goes into the record beside the first: the patch
// is in its artifact.
func (e Entrant) Short() Entrant {
	if e.Proposal != nil {
		p := *e.Proposal
		p.Summary, p.Excerpt, p.Repairs = clip(p.Summary, shortText), "", nil
		p.Files, p.Risks = shorten(p.Files), shorten(p.Risks)
		e.Proposal = &p
	}
	if e.Problem != nil {
		e.Problem = &Problem{Code: e.Problem.Code, Message: clip(e.Problem.Message, 2*shortText)}
	}
	e.Failed = shorten(e.Failed)
	return e
}

func shorten(list []string) []string {
	list = slices.Clone(list[:min(len(list), shortList)])
	for i := range list {
		list[i] = clip(list[i], shortText)
	}
	return list
}

func (e Entrant) size() int {
	if e.Proposal == nil {
		return 0
	}
	return e.Proposal.Stat.Added + e.Proposal.Stat.Deleted
}

// Choice is a patch that may be chosen at the gate in place of the first: by
// an approval of its own id.
type Choice struct {
	ApprovalID string `json:"approvalId"`
	Digest     Digest `json:"digest"`
	Attempt    int    `json:"attempt"`
	Provider   string `json:"provider"`
	Patch      Ref    `json:"patch"`
	Stat       Stat   `json:"stat"`
	Summary    string `json:"summary"`
	Judged     Result `json:"judged,omitempty"`
	// Risks are the gatekeeper's reasons to look at this one, the first of them.
	Risks []string `json:"risks,omitempty"`
}

// choices are the entrants besides the first that passed their checks too, each
// patch once.
func (s *Snapshot) choices(gate int) []Choice {
	var list []Choice
	seen := []Digest{s.Proposal.Patch.Digest}
	for _, e := range s.Rivals {
		if e.Proposal == nil || !e.Passed || slices.Contains(seen, e.Proposal.Patch.Digest) {
			continue
		}
		seen = append(seen, e.Proposal.Patch.Digest)
		d := ApprovalDigest(s.Input.RunID, e.Proposal.Patch.Digest, e.Proposal.Base, gate)
		list = append(list, Choice{
			ApprovalID: approvalID(s.State.Iteration, d), Digest: d, Attempt: e.Attempt, Provider: e.Provider,
			Patch: e.Proposal.Patch, Stat: e.Proposal.Stat, Summary: e.Proposal.Summary, Judged: e.Judged, Risks: e.Proposal.Risks,
		})
	}
	return list
}

// choose puts the entrant whose patch was approved in the place of the first.
func (s *Snapshot) choose(id string) {
	i := slices.IndexFunc(s.Approval.Choices, func(c Choice) bool { return c.ApprovalID == id })
	if i < 0 {
		return
	}
	attempt := s.Approval.Choices[i].Attempt
	k := slices.IndexFunc(s.Rivals, func(e Entrant) bool { return e.Attempt == attempt })
	s.Proposal, s.Chosen = s.Rivals[k].Proposal, attempt
}

// Slot names the agent session that serves a phase: each attempt has its own,
// and the fixer goes on with that of the attempt that was chosen, when it is
// the same provider and the input does not ask for a fresh one.
func (s *Snapshot) Slot(phase Phase, attempt int) string {
	if phase == Fix && !s.Input.FreshFixer && s.Input.Providers.Fixer == s.developer() {
		phase, attempt = Execute, s.Chosen
	}
	if attempt > 1 || attempt > 0 && phase == Evaluate { // the branch has an evaluation of its own
		return fmt.Sprintf("%s-%d", phase.Role(), attempt)
	}
	return string(phase.Role())
}

// ProviderOf is the provider of one of several attempts at the phase; zero is
// that of the phase.
func (s *Snapshot) ProviderOf(phase Phase, attempt int) string {
	if list := s.Input.Attempts(); phase == Execute && attempt > 0 && attempt <= len(list) {
		return list[attempt-1]
	}
	return s.Input.Providers.For(phase.Role())
}

// developer is the provider of the attempt that was chosen.
func (s *Snapshot) developer() string {
	list := s.Input.Attempts()
	return list[min(max(s.Chosen-1, 0), len(list)-1)]
}
