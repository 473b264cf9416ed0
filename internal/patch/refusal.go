package patch

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// RefusalKind names the reason of a refusal.
type RefusalKind string

// The kinds of a refusal; the set is closed. Truncated and Envelope come from
// the check of the answer.
const (
	Truncated          RefusalKind = "truncated"
	Envelope           RefusalKind = "envelope"
	NotADiff           RefusalKind = "not_a_diff"
	BadPath            RefusalKind = "path"
	Policy             RefusalKind = "policy"
	NoSuchFile         RefusalKind = "no_such_file"
	Exists             RefusalKind = "exists"
	ContextNotFound    RefusalKind = "context_not_found"
	Ambiguous          RefusalKind = "ambiguous"
	AlreadyApplied     RefusalKind = "already_applied"
	DeletedLineDiffers RefusalKind = "deleted_line_differs"
	Overlap            RefusalKind = "overlap"
	TooBig             RefusalKind = "limits"
)

// Refusal says why a diff was not applied, in words for its author.
type Refusal struct {
	Kind       RefusalKind `json:"kind"`
	Path       string      `json:"path,omitempty"`
	Hunk       int         `json:"hunk,omitempty"`       // from 1 within the file, in the order of the diff; 0 when it concerns the file as a whole
	Message    string      `json:"message"`              // several lines; shows the first line that differs and the file's lines around it
	Candidates []int       `json:"candidates,omitempty"` // ambiguous: the line numbers where the hunk would fit
}

func (r *Refusal) Error() string {
	switch {
	case r.Path == "":
		return fmt.Sprintf("patch refused: %s: %s", r.Kind, r.Message)
	case r.Hunk == 0:
		return fmt.Sprintf("patch refused: %s: %s: %s", display.Line(r.Path), r.Kind, r.Message)
	}
	return fmt.Sprintf("patch refused: %s: hunk %d: %s: %s", display.Line(r.Path), r.Hunk, r.Kind, r.Message)
}
