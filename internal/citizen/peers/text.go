package peers

import (
	"fmt"
	"strconv"
	"strings"
)

// Text returns the listing for people. It has three sections with a line for each entry; an empty
// section is shown too.
func (l Listing) Text() string {
	var b strings.Builder
	writeSection(&b, "Citizens", l.Peers, Peer.asLine)
	b.WriteByte('\n')
	writeSection(&b, "Sockets without a record", l.SocketOnly, Socket.asLine)
	b.WriteByte('\n')
	writeSection(&b, "Diagnostics", l.Diagnostics, Diagnostic.asLine)
	return b.String()
}

func writeSection[T any](b *strings.Builder, title string, entries []T, line func(T) string) {
	fmt.Fprintf(b, "%s:\n", title)
	if len(entries) == 0 {
		b.WriteString("  (none)\n")
	}
	for _, e := range entries {
		fmt.Fprintf(b, "- %s\n", line(e))
	}
}

func (p Peer) asLine() string {
	model := "(unknown)"
	if p.Model != nil {
		model = quotePlain(*p.Model)
	}
	text := fmt.Sprintf("%s  backend=%s  liveness=%s  cwd=%s  model=%s", p.GardenID, p.Backend, p.Liveness, quotePlain(p.CWD), model)
	if p.IsEntwurf {
		text += "  entwurf"
	}
	if o := p.Ours; o != nil {
		text += "  agent=" + quotePlain(o.Agent)
		if o.Goal != "" {
			text += "  goal=" + strconv.Quote(o.Goal)
		}
	}
	return text
}

func (s Socket) asLine() string { return fmt.Sprintf("%s  liveness=%s", s.GardenID, s.Liveness) }

func (d Diagnostic) asLine() string {
	text := string(d.Kind)
	if subject := d.subjectOf(); subject != "" {
		text += " " + quotePlain(subject)
	}
	if d.Backend != "" {
		text += fmt.Sprintf(" (backend=%s)", d.Backend)
	}
	return text + ": " + quotePlain(d.Message)
}

// quotePlain quotes text that would break the line or control the terminal.
func quotePlain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
