package patch

import "github.com/ratchet-dev/ratchet/internal/exact"

var (
	kinds        = []Kind{Added, Modified, Deleted, Renamed, Copied, ModeOnly}
	results      = []Result{Applied, Refused, Asked, Nothing}
	refusalKinds = []RefusalKind{Truncated, Envelope, NotADiff, BadPath, Policy, NoSuchFile, Exists, ContextNotFound, Ambiguous, AlreadyApplied, DeletedLineDiffers, Overlap, TooBig}
	repairKinds  = []RepairKind{RepairLineEnds, RepairNames, RepairHeader, RepairMerged, RepairCounts, RepairLines, RepairBlanks, RepairIndentation, RepairPunctuation, RepairContextSpace,
		RepairTail, RepairWrapped, RepairAddedBlank, RepairFinalNewline, RepairAltered}
)

// UnmarshalText accepts the words of the set only.
func (k *Kind) UnmarshalText(b []byte) error { return exact.Word(k, b, "word", kinds...) }

// UnmarshalText accepts the words of the set only.
func (r *Result) UnmarshalText(b []byte) error { return exact.Word(r, b, "word", results...) }

// UnmarshalText accepts the words of the set only.
func (k *RefusalKind) UnmarshalText(b []byte) error { return exact.Word(k, b, "word", refusalKinds...) }

// UnmarshalText accepts the words of the set only.
func (k *RepairKind) UnmarshalText(b []byte) error { return exact.Word(k, b, "word", repairKinds...) }
