// Package answer holds the possible answers of a developer or a fixer: exactly one of PATCH, ASK and NOOP.
// Parse reads a raw answer as models write it. It refuses every answer whose type is not certain, with
// words that can be returned to the model. It finds a diff and keeps its bytes; package patch reads them.
package answer

import (
	"bytes"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Kind is the type of an answer.
type Kind string

// The three types of an answer; there is no other.
const (
	Patch Kind = "PATCH" // a unified diff that works towards the goal
	Ask   Kind = "ASK"   // information is missing, or a person has to decide about a risk
	Noop  Kind = "NOOP"  // the goal is already reached
)

// UnmarshalText accepts the three words only.
func (k *Kind) UnmarshalText(b []byte) error {
	return exact.Word(k, b, "kind of answer", Patch, Ask, Noop)
}

// Answer is one understood answer. Which fields are set depends on Kind.
type Answer struct {
	Kind    Kind   `json:"kind"`
	Summary string `json:"summary,omitempty"` // one line; the prose around the answer when no summary was declared

	// Prose is all the rest of the answer but the model's thoughts: the text around its blocks, and fields and lines of the
	// result block that its type has no place for.
	Prose string `json:"prose,omitempty"`

	// Diff is the text of the patch with the bytes the model wrote, markers and
	// fences taken off. Set for PATCH only.
	Diff []byte `json:"diff,omitempty"`

	Question    string   `json:"question,omitempty"`    // ASK only, never empty there
	Reason      string   `json:"reason,omitempty"`      // ASK and NOOP
	NeededInput []string `json:"neededInput,omitempty"` // ASK only: the values asked for
}

// Code names the defect of an answer.
type Code string

// The defects of an answer. The set is closed.
const (
	Truncated     Code = "truncated"      // the provider did not finish, or a block or a fence has no end
	TooLarge      Code = "too_large"      // longer than MaxBytes
	Empty         Code = "empty"          // no text at all
	NoType        Code = "no_type"        // nothing in it is an answer
	UnknownType   Code = "unknown_type"   // the declared type is not PATCH, ASK or NOOP
	BadResult     Code = "bad_result"     // the result block cannot be read
	ManyResults   Code = "many_results"   // more than one result block
	ManyPatches   Code = "many_patches"   // more than one patch, and they are not one
	NoPatch       Code = "no_patch"       // PATCH declared, no diff found
	NoQuestion    Code = "no_question"    // ASK without a question
	Contradiction Code = "contradiction"  // parts contradict the declared type
	UnknownFinish Code = "unknown_finish" // the finish reason is not a word of the provider contract
)

// UnmarshalText accepts the words of the set only.
func (c *Code) UnmarshalText(b []byte) error {
	return exact.Word(c, b, "code", Truncated, TooLarge, Empty, NoType, UnknownType, BadResult, ManyResults, ManyPatches, NoPatch, NoQuestion, Contradiction, UnknownFinish)
}

// Error says why an answer cannot be used. Message is a sentence for the model.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return "answer: " + e.Message }

// HasResultBlock reports whether the text has a result block, or the beginning of one. Such a text is
// meant as an answer in the contract's form and is not mere prose.
func HasResultBlock(text []byte) bool { return bytes.Contains(text, []byte(resultStart)) }

// MaxBytes is the longest answer that Parse reads.
const MaxBytes = 16 << 20
