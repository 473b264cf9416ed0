// Package notify holds what a person reads when a run or a session needs one, or a run has ended: a line and a link. It
// never holds a patch, the words of a model or a secret. It is pure.
package notify

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Kind is what a notice is about. The words are the `type` of a webhook.
type Kind string

// The kinds.
const (
	Approval   Kind = "run.approval_requested"
	Permission Kind = "run.permission_requested"
	Question   Kind = "run.question_raised"
	Completed  Kind = "run.completed"
	Failed     Kind = "run.failed"
	Canceled   Kind = "run.canceled"
	// NotStarted is about a schedule that could not start a run.
	NotStarted Kind = "schedule.not_started"
	// SessionAsks is about a standing session.
	SessionAsks Kind = "session.asks"
	// The others are about tickets.
	TicketQuestion Kind = "ticket.question_raised"
	TicketEnded    Kind = "ticket.ended"
)

// Notice is the message to a person.
type Notice struct {
	ID         string    `json:"id"` // names the notice: what arrives twice has the same
	Kind       Kind      `json:"kind"`
	At         time.Time `json:"at"`
	RunID      run.ID    `json:"runId"`
	Name       run.Name  `json:"name,omitempty"`
	Session    string    `json:"sessionId,omitempty"` // that asks; there is no run then
	Tool       bool      `json:"tool,omitempty"`      // the session asks for a tool
	Repository string    `json:"repository"`          // the last part of its path
	About      string    `json:"about,omitempty"`     // id of the approval or question
	Goal       string    `json:"goal"`                // first line; ClipGoal shortens it once no secret is in it
}

// Answer is an address that makes a decision, once, by a POST request.
type Answer struct {
	Label    string `json:"label"`
	Decision string `json:"decision"`
	URL      string `json:"url"`
}

// NtfyActions returns the answers as the header Actions of ntfy has them.
func NtfyActions(answers []Answer) string {
	var list []string
	for _, a := range answers {
		list = append(list, "http, "+a.Label+", "+a.URL+", method=POST, clear=true")
	}
	return strings.Join(list, "; ")
}

// Bounds of the goal of a notice, in characters.
const (
	maxGoal    = 100  // of what a notice shows; a lock screen shows fewer
	maxCarried = 4096 // of the text that goes to the worker; a cut secret would not be recognized
)

// Of returns the notice of an event of a run; ok is false for an event that calls no person.
func Of(in run.Input, e run.Event) (n Notice, ok bool) {
	about := ""
	switch p := e.Payload.(type) {
	case run.ApprovalRequested:
		n.Kind, about = Approval, p.ApprovalID
		if p.Permission != nil {
			n.Kind = Permission
		}
	case run.QuestionRaised:
		n.Kind, about = Question, p.QuestionID
	case run.RunCompleted:
		n.Kind = Completed
	case run.RunFailed:
		n.Kind = Failed
	case run.RunCanceled:
		n.Kind = Canceled
	default:
		return n, false
	}
	n.ID = strings.TrimSuffix(fmt.Sprintf("notice-%s-%s-%s", in.RunID, e.ID, about), "-")
	n.At, n.RunID, n.Name, n.About = e.TS, in.RunID, in.Name, about
	n.Repository = display.Line(path.Base(in.Repository.Path)) //workflowcheck:ignore // pure
	n.Goal = goalLine(in.Goal)
	return n, true
}

// OfSchedule returns the notice of a fire that could not start a run.
func OfSchedule(in run.Input, schedule, fire string, at time.Time) Notice {
	return Notice{
		ID: "notice-" + fire, Kind: NotStarted, At: at, Name: run.Name(schedule),
		Repository: display.Line(path.Base(in.Repository.Path)), Goal: goalLine(in.Goal), //workflowcheck:ignore // pure
	}
}

// OfSession returns the notice of a session that asks. About is the id of the approval or question, tool that it is of a
// tool call, and title what people call the session.
func OfSession(id, title string, in run.Repository, about string, tool bool, at time.Time) Notice {
	return Notice{
		ID: "notice-session-" + id + "-" + about, Kind: SessionAsks, At: at, Name: run.Name(id), Session: id, About: about, Tool: tool,
		Repository: display.Line(path.Base(in.Path)), Goal: goalLine(title), //workflowcheck:ignore // pure
	}
}

// OfTicket returns the notice of a ticket that asks or has ended. id names the question or the end, text says what it is, and
// last is the ticket's last run.
func OfTicket(in run.Input, kind Kind, ticket, id, text string, last run.ID, at time.Time) Notice {
	return Notice{
		ID: "notice-" + id, Kind: kind, At: at, Name: run.Name(ticket), RunID: last,
		Repository: display.Line(path.Base(in.Repository.Path)), Goal: goalLine(text), //workflowcheck:ignore // pure
	}
}

func goalLine(goal string) string {
	return display.Clip(display.Line(display.FirstLine(goal)), maxCarried) //workflowcheck:ignore // pure
}

// ClipGoal returns the notice with as much of its goal as a notice shows.
func (n Notice) ClipGoal() Notice {
	n.Goal = display.OneLine(n.Goal, maxGoal)
	return n
}

// Title says in one line which run it is and what it wants.
func (n Notice) Title() string {
	name := cmp.Or(string(n.Name), n.Repository)
	switch n.Kind {
	case Approval:
		return name + " waits for your approval"
	case Permission:
		return name + " asks to use a tool"
	case Question:
		return name + " asks a question"
	case Completed:
		return name + " is completed"
	case Failed:
		return name + " has failed"
	case Canceled:
		return name + " is canceled"
	case NotStarted:
		return "schedule " + name + " could not start a run"
	case SessionAsks:
		if n.Tool {
			return "session " + name + " asks to use a tool"
		}
		return "session " + name + " asks a question"
	case TicketQuestion:
		return "ticket " + name + " asks a question"
	case TicketEnded:
		return "ticket " + name + " has ended"
	}
	return name
}
