package run

// Rules is the version of the rules that a run goes by. The run's first event
// keeps it, so that a run that has begun is led to its end by the rules of its
// beginning, in whatever worker. Zero is the rules of versions up to v0.2.
type Rules int

// The versions. Each names what it changed; a decision that differs between
// two of them asks with Snapshot.Since.
const (
	// RulesAsked bounds by maxFixIterations only the fixes that no person asked
	// for, checks again what could not be checked, and looks at the branch before
	// it says that a run is completed.
	RulesAsked Rules = 1

	// LatestRules are those of a run that begins now.
	LatestRules = RulesAsked
)

// Since reports whether the run goes by the rules given or by later ones.
func (s *Snapshot) Since(r Rules) bool { return s.Rules >= r }
