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

// reply is what a person writes to a patch, or makes of it. It outlives the gate: the same patch may be asked about again.
type reply struct {
	Draft
	about   string // the id of the approval
	written bool   // it holds a word of the person's
	sent    bool   // it is the reason of the decision that Approve has returned last
}

// takeUp returns the text with which the gate of an approval begins: the one that was written to it before, if any.
func (r *reply) takeUp(about string) *reply {
	if r == nil || r.about != about {
		return nil
	}
	r.sent = false
	return r
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

// leave leaves the file of a text that is not sent, and names it.
func (p *Person) leave(r *reply) *reply {
	if !r.written {
		r.Remove()
		return nil
	}
	p.printSentence("  "+p.Screen.Wait("! "), "your text was not sent; it is saved in "+display.Line(r.Path()))
	return r
}

// Sent says what became of the decision that Approve has returned last: err is nil if the run has taken it. A text
// that the run has not taken is left in its file.
func (p *Person) Sent(err error) {
	p.reply, p.edit = p.discardSent(p.reply, err), p.discardSent(p.edit, err)
}

func (p *Person) discardSent(r *reply, err error) *reply {
	switch {
	case r == nil || !r.sent:
		return r
	case err != nil:
		return p.leave(r)
	}
	r.Remove()
	return nil
}
