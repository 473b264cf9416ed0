package mailbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Render returns the text of a dispatch as it lies in a mailbox: a head that says who sent it and
// whether an answer would arrive, then the message verbatim. Without a sender there is no head.
// Home is shown as ~.
func Render(s *dispatch.Sender, message string, wantsReply bool, home string) string {
	if s == nil {
		return message
	}
	wants := "no"
	if wantsReply {
		wants = "yes"
	}
	var b strings.Builder
	b.WriteString("[entwurf received ⟵]\n")
	fmt.Fprintf(&b, "  from:        %s @ %s\n", oneLine(s.AgentID), oneLine(abbreviateHome(s.CWD, home)))
	fmt.Fprintf(&b, "  session:     %s (%s)\n", oneLine(s.SessionID), describeReach(*s))
	fmt.Fprintf(&b, "  at:          %s\n", oneLine(clockTime(s.Timestamp)))
	fmt.Fprintf(&b, "  wants reply: %s\n", wants)
	b.WriteString(strings.Repeat("─", 40) + "\n")
	b.WriteString(message + "\n")
	return b.String()
}

// describeReach returns the kind of session that the sender is, and whether it can be answered there. A pi
// session that cannot be answered is still a pi session, and no external program
// (docs/contracts/dispatch.md, 5).
func describeReach(s dispatch.Sender) string {
	label := "external"
	if s.Origin == dispatch.PiSession || s.Origin == dispatch.MetaSession {
		label = string(s.Origin)
	}
	if s.Replyable == nil || !*s.Replyable {
		return label + ", non-replyable"
	}
	return label + ", replyable: its id is the target for an answer"
}

func abbreviateHome(dir, home string) string {
	rest, ok := strings.CutPrefix(dir, home)
	if home == "" || !ok || rest != "" && rest[0] != '/' {
		return dir
	}
	return "~" + rest
}

// clockTime returns a stamp in UTC. A text that is not a stamp is returned unchanged.
func clockTime(stamp string) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return stamp
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// oneLine keeps a value of the sender's on its line, which prevents it from adding to the head.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
