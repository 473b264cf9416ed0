package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ratchet-dev/ratchet/internal/answer"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// Result is the result of handling a raw answer.
type Result string

// The four results; the set is closed.
const (
	Applied Result = "applied" // by CheckAnswer: it would be applied
	Refused Result = "refused"
	Asked   Result = "ask"
	Nothing Result = "noop"
)

// Report says how a raw answer was applied, or would be.
type Report struct {
	Result      Result       `json:"result"`
	Summary     string       `json:"summary,omitempty"`
	Prose       string       `json:"prose,omitempty"`       // what the answer says besides, see answer.Answer
	Question    string       `json:"question,omitempty"`    // ask
	Reason      string       `json:"reason,omitempty"`      // ask, noop
	NeededInput []string     `json:"neededInput,omitempty"` // ask
	Files       []FileChange `json:"files"`
	Stat        Stat         `json:"stat"`
	Repairs     []Repair     `json:"repairs"`
	Sensitive   []Reason     `json:"sensitive"` // the reasons for which a run would ask a person
	Error       *ReportError `json:"error,omitempty"`
	Diff        string       `json:"diff,omitempty"` // the diff that is really applied, see Change.Diff
}

// ReportError says why the result is refused.
type ReportError struct {
	Code       string `json:"code"` // an answer.Code, a RefusalKind, or CodeIO
	Message    string `json:"message"`
	Path       string `json:"path,omitempty"`
	Hunk       int    `json:"hunk,omitempty"`
	Candidates []int  `json:"candidates,omitempty"`
}

// CodeIO is the code of an error that the answer did not cause: the tree could not be read or written.
// The message says so where some files may have changed.
const CodeIO = "io"

// CheckAnswer reports what applying a raw answer to t would do. It writes nothing. finish is the
// provider's finish reason, as answer.Parse takes it.
func CheckAnswer(t Tree, raw []byte, finish string, l Limits) Report {
	r, _ := planAnswer(t, raw, finish, l)
	return r
}

// ApplyAnswer applies a raw answer to the directory at root, as WriteChange does, and reports the result.
func ApplyAnswer(root *os.Root, raw []byte, finish string, l Limits) Report {
	r, c := planAnswer(DirTree(root), raw, finish, l)
	if c == nil {
		return r
	}
	if err := WriteChange(root, c); err != nil {
		return refusedReport(err)
	}
	return r
}

// planAnswer reads a raw answer and plans it. The change is nil if there is none.
func planAnswer(t Tree, raw []byte, finish string, l Limits) (Report, *Change) {
	a, err := answer.Parse(raw, finish)
	if err != nil {
		return refusedReport(err), nil
	}
	r := Report{Summary: a.Summary, Prose: a.Prose, Question: a.Question, Reason: a.Reason, NeededInput: a.NeededInput,
		Files: []FileChange{}, Repairs: []Repair{}, Sensitive: []Reason{}}
	switch a.Kind {
	case answer.Ask:
		r.Result = Asked
		return r, nil
	case answer.Noop:
		r.Result = Nothing
		return r, nil
	}
	c, err := Plan(t, a.Diff, l)
	if err != nil {
		r := refusedReport(err)
		r.Summary = a.Summary
		return r, nil
	}
	r.Result, r.Stat, r.Diff = Applied, c.Stat(), string(c.Diff())
	r.Files, r.Repairs, r.Sensitive = c.Files, append(r.Repairs, c.Repairs...), append(r.Sensitive, c.Sensitive...)
	return r, c
}

// refusedReport returns the report of an error of answer.Parse, Plan or WriteChange.
func refusedReport(err error) Report {
	e := &ReportError{Code: CodeIO, Message: err.Error()}
	if a, ok := errors.AsType[*answer.Error](err); ok {
		e.Code, e.Message = string(a.Code), a.Message
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		*e = ReportError{string(r.Kind), r.Message, r.Path, r.Hunk, r.Candidates}
	}
	return Report{Result: Refused, Files: []FileChange{}, Repairs: []Repair{}, Sensitive: []Reason{}, Error: e}
}

// MarshalJSON encodes the report in the form of display.JSON.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	raw, err := json.Marshal(plain(r))
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return display.JSON(raw), nil
}
