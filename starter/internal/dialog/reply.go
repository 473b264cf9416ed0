package dialog

import (
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
)

// Draft is a text in a file that a person edits. The file stays until Remove.
type Draft interface {
	// Edit opens the editor, and returns the text that is in the file afterwards, also if the editor fails.
	Edit() (string, error)
	Path() string
	Remove()
}

// reply is what a person writes to a patch. It outlives the gate: the same patch may be asked about again.
type reply struct {
	Draft
	about   string // the id of the approval
	written bool   // it holds a word of the person's
	sent    bool   // it is the reason of the decision that Approve has returned last
}

// takeUpReply lets the gate of an approval begin with the reply that was written to it before.
func (p *Person) takeUpReply(about string) {
	switch {
	case p.reply == nil:
	case p.reply.about != about:
		p.reply = nil
	default:
		p.reply.sent = false
	}
}

// editReply lets the person write the reply, or continue it, and returns its reason.
func (g *gate) editReply() (reason string, err error) {
	if g.reply == nil {
		d, err := g.NewReply(review.Draft(g.files))
		if err != nil {
			return "", err
		}
		g.reply = &reply{Draft: d, about: g.a.ApprovalID}
	}
	resume := g.Lines.Suspend()
	defer resume()
	text, err := g.reply.Edit()
	whole, remarks := review.ParseReply(text, g.files)
	reason = hunks.Reason(whole, g.files, remarks)
	g.reply.written = reason != ""
	return reason, err
}

// leaveReply leaves the file of a reply that is not sent, and names it.
func (p *Person) leaveReply() {
	if !p.reply.written {
		p.reply.Remove()
		p.reply = nil
		return
	}
	p.printSentence("  "+p.Screen.Wait("! "), "your text was not sent; it is saved in "+display.Line(p.reply.Path()))
}

// Sent says what became of the decision that Approve has returned last: err is nil if the run has taken it. A reply
// that the run has not taken is left in its file.
func (p *Person) Sent(err error) {
	switch {
	case p.reply == nil || !p.reply.sent:
	case err != nil:
		p.leaveReply()
	default:
		p.reply.Remove()
		p.reply = nil
	}
}
