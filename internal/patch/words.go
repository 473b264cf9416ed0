package patch

import (
	"fmt"
	"slices"
)

var (
	kinds        = []Kind{Added, Modified, Deleted, Renamed, Copied, ModeOnly}
	results      = []Result{Applied, Refused, Asked, Nothing}
	refusalKinds = []RefusalKind{Truncated, Envelope, NotADiff, BadPath, Policy, NoSuchFile, Exists, ContextNotFound, Ambiguous, AlreadyApplied, DeletedLineDiffers, Overlap, TooBig}
	repairKinds  = []RepairKind{RepairLineEnds, RepairNames, RepairHeader, RepairMerged, RepairCounts, RepairLines, RepairBlanks, RepairIndentation, RepairPunctuation, RepairContextSpace,
		RepairTail, RepairWrapped, RepairAddedBlank, RepairFinalNewline, RepairAltered}
)

// UnmarshalText accepts the words of the set only.
func (k *Kind) UnmarshalText(b []byte) error { return parseWord(k, b, kinds) }

// UnmarshalText accepts the words of the set only.
func (r *Result) UnmarshalText(b []byte) error { return parseWord(r, b, results) }

// UnmarshalText accepts the words of the set only.
func (k *RefusalKind) UnmarshalText(b []byte) error { return parseWord(k, b, refusalKinds) }

// UnmarshalText accepts the words of the set only.
func (k *RepairKind) UnmarshalText(b []byte) error { return parseWord(k, b, repairKinds) }

// parseWord sets into to the word b if set contains it.
func parseWord[T ~string](into *T, b []byte, set []T) error {
	if !slices.Contains(set, T(b)) {
		return fmt.Errorf("unknown word %q", b)
	}
	*into = T(b)
	return nil
}
