// Package verdict reads the answer of an evaluator: exactly one decision, PASS, FIX or ASK, and its
// reasons. A text that is not certainly a decision is an error, worded so that it can be returned to the
// model. There is no pass by default.
package verdict

import "github.com/ratchet-dev/ratchet/internal/exact"

// Word is the one word of a verdict.
type Word string

// The three decisions. The zero Decision decides nothing.
const (
	Pass Word = "PASS" // the goal is reached
	Fix  Word = "FIX"  // another attempt can reach it
	Ask  Word = "ASK"  // a person has to decide first
)

var decisions = []Word{Pass, Fix, Ask}

// UnmarshalText accepts the three words only.
func (d *Word) UnmarshalText(b []byte) error { return exact.Word(d, b, "decision", decisions...) }

// Verdict is one parsed verdict.
type Verdict struct {
	Decision Word `json:"decision"`
	// Reasons are the list items and paragraphs after the decision, or the ones
	// before it if none follow: at most MaxReasons of MaxReasonBytes each.
	Reasons []string `json:"reasons,omitempty"`
	// Question is set for ASK only and never empty there.
	Question string `json:"question,omitempty"`
}

// Bounds of a verdict.
const (
	MaxBytes       = 1 << 20 // the longest text that Parse reads
	MaxReasons     = 12
	MaxReasonBytes = 400
	// MaxQuestionBytes is the longest question; a longer one is cut.
	MaxQuestionBytes = 1000
)

// Code names the defect of a verdict.
type Code string

// The defects of a verdict. The set is closed.
const (
	Empty           Code = "empty"            // no text at all
	TooLarge        Code = "too_large"        // longer than MaxBytes
	NoDecision      Code = "no_decision"      // no DECISION tag
	ManyDecisions   Code = "many_decisions"   // more than one
	UnknownDecision Code = "unknown_decision" // a tag without exactly one of the three words
	NoQuestion      Code = "no_question"      // ASK without any text to ask
)

// Error says why a verdict cannot be used. Message is a sentence for the model.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return "verdict: " + e.Message }
