package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Verdict is what an approver decides.
type Verdict string

// The verdicts. The zero Verdict settles nothing.
const (
	Approve Verdict = "approve"
	Reject  Verdict = "reject"
	Edit    Verdict = "edit" // another patch takes the place of the pending one
)

// UnmarshalText refuses an unknown verdict. A signal with an unknown verdict is
// dropped whole.
func (v *Verdict) UnmarshalText(b []byte) error {
	if exact.Word(v, b, "decision", Approve, Reject, Edit) != nil {
		return fmt.Errorf("invalid decision %q: want approve, reject or edit", clipText(string(b), maxNameBytes))
	}
	return nil
}

// Decision settles the approval that it names.
type Decision struct {
	ApprovalID string  `json:"approvalId"`
	Decision   Verdict `json:"decision"`
	By         string  `json:"by,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Final      bool    `json:"final,omitempty"` // a rejection that ends the run
	// Session extends the approval of a tool call to similar calls in the agent's
	// session: see Permit.
	Session bool `json:"session,omitempty"`
	// Files makes the approval one of some files of the patch, by their paths in the repository, and Hunks of some hunks of
	// further files. The run proposes and applies this part as a patch of its own, whose approval the decision is.
	// Reason is then the reason why the rest is sent back to the fixer once that patch is
	// applied; without a reason it is dropped, and the checks judge the part.
	Files []string     `json:"files,omitempty"`
	Hunks []HunkChoice `json:"hunks,omitempty"`
	// Patch is the unified diff, on the same base commit, that an edit proposes in the place of the pending patch. It is
	// judged like any other, and asked about again where the policy asks.
	Patch string `json:"patch,omitempty"`
}

// Reply answers the question that it names.
type Reply struct {
	QuestionID string         `json:"questionId"`
	Text       string         `json:"text"`
	Values     map[string]any `json:"values,omitempty"`
	By         string         `json:"by,omitempty"`
	// Retry repeats the step that failed, in place of a text. No prompt carries it. Only questions of
	// the kinds ErrorQuestion and CheckQuestion take it.
	Retry bool `json:"retry,omitempty"`
}

// Note is guidance that the next prompt carries.
type Note struct {
	Text string `json:"text"`
	By   string `json:"by,omitempty"`
}

// Move sends the run to the workers of another task queue, after the step in progress.
type Move struct {
	Queue string `json:"taskQueue"`
}

// The errors of refused messages. A refused message changes nothing.
var (
	ErrNotPending = errors.New("nothing with that id is waiting")
	ErrTooLong    = fmt.Errorf("text is longer than %d bytes", MaxTextBytes)
	ErrEmpty      = errors.New("text is empty")
	ErrOver       = errors.New("the run has ended")
	ErrTooMany    = errors.New("too many notes wait for the next prompt")
)

// CheckDecision returns nil if the decision fits the pending approval, and
// otherwise an error that says why it does not.
func (s *Snapshot) CheckDecision(d Decision) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case !s.offersApproval(d):
		return fmt.Errorf("approval %q: %w", d.ApprovalID, ErrNotPending)
	case d.Decision == "":
		return errors.New("decision is missing: approve, reject or edit")
	case d.Decision != Reject && d.Final:
		return errors.New("an approval cannot be final: only a rejection ends the run")
	case (d.Decision == Edit) != (d.Patch != ""):
		return errors.New("a patch comes with the decision edit, and an edit with a patch")
	case d.Session && (d.Decision != Approve || s.Approval == nil || s.Approval.Permission == nil):
		return errors.New("only the approval of a tool call can hold for the session")
	case len(d.Reason) > MaxTextBytes || len(d.By) > maxNameBytes:
		return ErrTooLong
	case d.Decision == Edit:
		return s.checkEdit(d)
	case d.TakesPart():
		return s.checkPart(d)
	}
	return nil
}

// offersApproval reports whether the decision names the pending approval or, unless it
// is a no, one of its choices.
func (s *Snapshot) offersApproval(d Decision) bool {
	if d.ApprovalID == "" || s.State.PendingApprovalID == "" {
		return false
	}
	chosen := s.Approval != nil && d.Decision != Reject &&
		slices.ContainsFunc(s.Approval.Choices, func(c Choice) bool { return c.ApprovalID == d.ApprovalID })
	return chosen || d.ApprovalID == s.State.PendingApprovalID
}

// CheckReply returns nil if the reply fits the pending question, and otherwise an
// error that says why it does not.
func (s *Snapshot) CheckReply(r Reply) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case r.QuestionID == "" || r.QuestionID != s.State.PendingQuestionID:
		return fmt.Errorf("question %q: %w", r.QuestionID, ErrNotPending)
	case r.Retry && (r.Text != "" || len(r.Values) > 0):
		return errors.New("a retry has no text: retry, or answer with a text")
	case r.Retry && !s.questionKind().Repeats():
		return errors.New("no failed step can be repeated: answer the question")
	case len(r.Render()) > MaxTextBytes || len(r.By) > maxNameBytes:
		return ErrTooLong
	case r.Retry:
		return nil
	case strings.TrimSpace(r.Text) == "" && len(r.Values) == 0:
		return ErrEmpty
	}
	if s.WantsFix(r) && len(strings.TrimSpace(r.Text)) == len(FixWord) && len(r.Values) == 0 {
		return fmt.Errorf("write after %q what to change", FixWord)
	}
	_, err := s.ParseBudget(r)
	if err == nil {
		_, err = s.ParseBaseline(r)
	}
	return err
}

// FixWord begins a reply that asks for a fix in place of another evaluation.
const FixWord = "fix:"

// WantsFix reports whether the reply asks for a fix in place of another
// evaluation. It returns false for the reply to any other question.
func (s *Snapshot) WantsFix(r Reply) bool {
	text := strings.TrimSpace(r.Text)
	return s.Recheck && len(text) >= len(FixWord) && strings.EqualFold(text[:len(FixWord)], FixWord)
}

// CheckNote returns nil if the note can be kept, and otherwise an error that says
// why it cannot.
func (s *Snapshot) CheckNote(n Note) error {
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

// CheckMove returns nil if the run can move, and otherwise an error that says why it cannot.
func (s *Snapshot) CheckMove(m Move) error {
	switch {
	case s.State.Status.Terminal():
		return ErrOver
	case s.Input.Repository.URL == "":
		return errors.New("the run is bound to its directory")
	case m.Queue == "":
		return errors.New("no task queue is given")
	case len(m.Queue) > maxNameBytes:
		return ErrTooLong
	}
	return nil
}

// Render returns the reply in the form that a prompt carries: the text, then the
// values in the order of their names.
func (r Reply) Render() string {
	if r.Retry {
		return "retry"
	}
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
