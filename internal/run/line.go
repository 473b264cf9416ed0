package run

import (
	"errors"
	"strings"
)

// A signal may be one line of text instead of an object, for a person who types it into a form: the id follows the
// verdict in a decision, and stands before the text of a reply. By is not known then.

// errLine reports a line that is no message.
var errLine = errors.New(`want a line such as "approve apr-1-5f0c2a9b1d3e" or "qst-1-1 your answer"`)

// ParseDecision reads a decision of one line: approve ID, session ID, reject ID REASON or end ID REASON. session also
// allows what the agent takes for the same in its session, and end is a final rejection.
func ParseDecision(line string) (d Decision, err error) {
	word, rest := cutWord(line)
	d.ApprovalID, d.Reason = cutWord(rest)
	switch word {
	case "approve":
		d.Decision = Approve
	case "session":
		d.Decision, d.Session = Approve, true
	case "reject":
		d.Decision = Reject
	case "end":
		d.Decision, d.Final = Reject, true
	}
	if d.Decision == "" || d.ApprovalID == "" {
		return Decision{}, errLine
	}
	return d, nil
}

// ParseReply reads a reply of one line: ID TEXT.
func ParseReply(line string) (r Reply, err error) {
	if r.QuestionID, r.Text = cutWord(line); !strings.HasPrefix(r.QuestionID, "qst-") || r.Text == "" {
		return Reply{}, errLine
	}
	return r, nil
}

// ParseNote reads a note: the whole line is its text.
func ParseNote(line string) (Note, error) { return Note{Text: line}, nil }

// ParseMove reads a move: the whole line is the task queue.
func ParseMove(line string) (Move, error) { return Move{Queue: line}, nil }

// cutWord returns the first word of a text, and the rest without blanks around it.
func cutWord(text string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return word, strings.TrimSpace(rest)
}
