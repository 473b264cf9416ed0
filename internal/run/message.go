package run

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what an approver says.
type Verdict string

// The verdicts. The zero Verdict settles nothing.
const (
	Approve Verdict = "approve"
	Reject  Verdict = "reject"
)

// UnmarshalText refuses an unknown verdict, so that a signal with one is
// dropped whole.
func (v *Verdict) UnmarshalText(b []byte) error {
	return decode(v, b, "decision", []Verdict{Approve, Reject})
}

// Decision settles one approval: the one that it names.
type Decision struct {
	ApprovalID string  `json:"approvalId"`
	Decision   Verdict `json:"decision"`
	By         string  `json:"by,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Final      bool    `json:"final,omitempty"` // a rejection that ends the run
}

// Reply answers one question: the one that it names.
type Reply struct {
	QuestionID string         `json:"questionId"`
	Text       string         `json:"text"`
	Values     map[string]any `json:"values,omitempty"`
	By         string         `json:"by,omitempty"`
}

// Note is guidance that the next prompt carries.
type Note struct {
	Text string `json:"text"`
	By   string `json:"by,omitempty"`
}

// Why a message is refused. Nothing changes then.
var (
	ErrNotPending = errors.New("nothing is pending under that id")
	ErrTooLong    = fmt.Errorf("text is longer than %d bytes", MaxTextBytes)
	ErrEmpty      = errors.New("text is empty")
	ErrOver       = errors.New("the run has ended")
	ErrTooMany    = errors.New("the notes that wait for the next prompt are enough: it carries no more")
)

// Settles says whether the decision fits what is pending; a nil error is yes.
func (s *Snapshot) Settles(d Decision) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case d.ApprovalID == "" || d.ApprovalID != s.State.PendingApprovalID:
		return fmt.Errorf("approval %q: %w", d.ApprovalID, ErrNotPending)
	case d.Decision == "":
		return errors.New("decision is missing: approve or reject")
	case d.Decision == Approve && d.Final:
		return errors.New("an approval cannot be final: only a rejection ends the run")
	case len(d.Reason) > MaxTextBytes || len(d.By) > maxNameBytes:
		return ErrTooLong
	}
	return nil
}

// Answers says whether the reply fits what is pending; a nil error is yes.
func (s *Snapshot) Answers(r Reply) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case r.QuestionID == "" || r.QuestionID != s.State.PendingQuestionID:
		return fmt.Errorf("question %q: %w", r.QuestionID, ErrNotPending)
	case strings.TrimSpace(r.Text) == "" && len(r.Values) == 0:
		return ErrEmpty
	case len(r.Render()) > MaxTextBytes || len(r.By) > maxNameBytes:
		return ErrTooLong
	}
	_, err := s.Budget(r)
	return err
}

// CodeBudget is the code of the problem that is a used-up token budget.
const CodeBudget = "BUDGET"

// Budget is the token budget that a reply sets: none, zero, unless the
// question was about the budget. That question is answered by a number, the
// new total.
func (s *Snapshot) Budget(r Reply) (int64, error) {
	if s.State.LastError == nil || s.State.LastError.Code != CodeBudget {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(r.Text), 10, 64)
	if err != nil || n <= s.Usage.TotalTokens {
		return 0, fmt.Errorf("answer with the new total budget, a number over the %d tokens used so far, or cancel the run", s.Usage.TotalTokens)
	}
	return n, nil
}

// Takes says whether the note can be kept; a nil error is yes.
func (s *Snapshot) Takes(n Note) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case strings.TrimSpace(n.Text) == "":
		return ErrEmpty
	case len(n.Text) > MaxTextBytes || len(n.By) > maxNameBytes:
		return ErrTooLong
	}
	total := len(n.Text)
	for _, waiting := range s.Notes {
		total += len(waiting.Text)
	}
	if total > maxNotesBytes || len(s.Notes) == maxNotes {
		return ErrTooMany
	}
	return nil
}

// Render is the reply as a prompt carries it: the text, then the values by
// name.
func (r Reply) Render() string {
	lines := make([]string, 0, len(r.Values)+1)
	if r.Text != "" {
		lines = append(lines, r.Text)
	}
	names := make([]string, 0, len(r.Values))
	//workflowcheck:ignore // the names are sorted below
	for name := range r.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("%s: %v", name, r.Values[name]))
	}
	return strings.Join(lines, "\n")
}
