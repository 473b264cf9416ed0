package run

// Rules is the version of the rules that a run follows. The run's first event
// keeps it: every worker leads a run to its end by the rules of its beginning.
// Zero stands for the rules of versions up to v0.2.
type Rules int

// The versions. The comment of each version lists its changes. A decision that
// differs between two versions asks Snapshot.Since.
const (
	// RulesAsked applies maxFixIterations only to the fixes that no person asked for.
	// It repeats an evaluation whose checks could not run. It examines the branch
	// before it records that a run is completed.
	RulesAsked Rules = 1

	// RulesBaseline runs the checks on the base commit before the first call of a
	// provider. It asks a person about a check that ran out of time without a byte of
	// output, instead of a fixer. It keeps the reason of a run that a person ends.
	RulesBaseline Rules = 2

	// LatestRules is the version for a run that begins now.
	LatestRules = RulesBaseline
)

// Since reports whether the run follows the given version of the rules or a later one.
func (s *Snapshot) Since(r Rules) bool { return s.Rules >= r }
