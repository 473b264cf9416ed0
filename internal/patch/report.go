package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/ratchet-dev/ratchet/internal/answer"
)

// Result is how it ended with a raw answer.
type Result string

// The four results; the set is closed.
const (
	Applied Result = "applied" // by Check: it would be applied
	Refused Result = "refused"
	Asked   Result = "ask"
	Nothing Result = "noop"
)

// Report is what was done, or would be done, with a raw answer.
type Report struct {
	Result      Result       `json:"result"`
	Summary     string       `json:"summary,omitempty"`
	Question    string       `json:"question,omitempty"`    // ask
	Reason      string       `json:"reason,omitempty"`      // ask, noop
	NeededInput []string     `json:"neededInput,omitempty"` // ask
	Files       []FileChange `json:"files"`
	Stat        Stat         `json:"stat"`
	Repairs     []Repair     `json:"repairs"`
	Sensitive   []Reason     `json:"sensitive"` // what a run would ask a person about
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

// CodeIO is the code of an error that is not the answer's fault: the tree could not
// be read or written. Nothing has changed then either.
const CodeIO = "io"

// Check reports what applying a raw answer to t would do. Nothing is written. finish is
// the provider's finish reason, as answer.Parse takes it.
func Check(t Tree, raw []byte, finish string, l Limits) Report {
	r, _ := judge(t, raw, finish, l)
	return r
}

// Apply puts a raw answer into the directory at root and reports it. It first puts
// right what an interrupted Apply has left.
func Apply(root *os.Root, raw []byte, finish string, l Limits) Report {
	if err := Recover(root); err != nil {
		return refused(err)
	}
	r, c := judge(Dir(root), raw, finish, l)
	if c == nil {
		return r
	}
	if err := Write(root, c); err != nil {
		return refused(err)
	}
	return r
}

// judge reads a raw answer and plans it. The change is nil when there is none.
func judge(t Tree, raw []byte, finish string, l Limits) (Report, *Change) {
	a, err := answer.Parse(raw, finish)
	if err != nil {
		return refused(err), nil
	}
	r := Report{Summary: a.Summary, Question: a.Question, Reason: a.Reason, NeededInput: a.NeededInput,
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
		r := refused(err)
		r.Summary = a.Summary
		return r, nil
	}
	r.Result, r.Stat, r.Diff = Applied, c.Stat(), string(c.Diff())
	r.Files, r.Repairs, r.Sensitive = c.Files, append(r.Repairs, c.Repairs...), append(r.Sensitive, c.Sensitive...)
	return r, c
}

// refused is the report of an error of answer.Parse, Plan or Write.
func refused(err error) Report {
	e := &ReportError{Code: CodeIO, Message: err.Error()}
	if a, ok := errors.AsType[*answer.Error](err); ok {
		e.Code, e.Message = string(a.Code), a.Message
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		*e = ReportError{string(r.Kind), r.Message, r.Path, r.Hunk, r.Candidates}
	}
	return Report{Result: Refused, Files: []FileChange{}, Repairs: []Repair{}, Sensitive: []Reason{}, Error: e}
}

// MarshalJSON writes the report as DisplayJSON does.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	raw, err := json.Marshal(plain(r))
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return DisplayJSON(raw), nil
}
