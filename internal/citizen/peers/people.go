package peers

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// nobodyHere explains an empty listing.
const nobodyHere = `No agent session here can be reached yet. To make one reachable:

  your own Claude Code sessions    starter register claude
                                   sessions that you start afterwards are listed
  an agent of a run                starter run ...
                                   its agents are listed while they work
  pi                               install its extension with a control socket

Sessions of Codex in a terminal cannot be reached. More: docs/dispatch.md.
`

// People returns the listing for a person: who can be reached now, in plain words. ReadsMail reports whether a
// session without a control socket takes mail. All adds the sessions that do not run.
func (l Listing) People(readsMail func(Peer) bool, all bool) string {
	var b strings.Builder
	var here, away []Peer
	for _, p := range l.Peers {
		if p.Liveness == dispatch.Alive || p.Liveness == dispatch.Unsupported && readsMail(p) {
			here = append(here, p)
		} else {
			away = append(away, p)
		}
	}
	var listening []Socket
	for _, s := range l.SocketOnly {
		if s.Liveness == dispatch.Alive {
			listening = append(listening, s)
		}
	}
	if len(here)+len(listening) == 0 {
		b.WriteString(nobodyHere)
	} else {
		b.WriteString("Agent sessions that can be reached:\n")
	}
	for _, p := range here {
		b.WriteString(p.forPeople())
	}
	for _, s := range listening {
		fmt.Fprintf(&b, "\n%s  it listens, but does not identify itself\n", s.GardenID)
	}
	l.writeRest(&b, away, all)
	if len(here)+len(listening) > 0 {
		b.WriteString("\nSend one a message: starter dispatch ID --intent fire-and-forget --message TEXT\n")
	}
	return b.String()
}

// writeRest adds the sessions that do not run, or their number, and the problems.
func (l Listing) writeRest(b *strings.Builder, away []Peer, all bool) {
	switch {
	case len(away) > 0 && all:
		b.WriteString("\nSessions that do not run, or whose state is unknown:\n")
		for _, p := range away {
			b.WriteString(p.forPeople())
		}
	case len(away) > 0:
		fmt.Fprintf(b, "\n%d more do not run, or their state is unknown: starter peers --all\n", len(away))
	}
	if len(l.Diagnostics) > 0 {
		b.WriteString("\nProblems:\n")
		for _, d := range l.Diagnostics {
			fmt.Fprintf(b, "  %s\n", d.asLine())
		}
	}
}

// forPeople returns the lines of one session.
func (p Peer) forPeople() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s  %s\n", p.GardenID, quotePlain(p.whoForPeople()))
	if p.Ours != nil && p.Ours.Goal != "" {
		fmt.Fprintf(&b, "  for  %s\n", quotePlain(p.Ours.Goal))
	}
	fmt.Fprintf(&b, "  in   %s\n", quotePlain(p.CWD))
	return b.String()
}

// whoForPeople names the agent, and the run or session of ours that it works for.
func (p Peer) whoForPeople() string {
	if p.Ours != nil {
		return p.Ours.Who()
	}
	if p.Model == nil {
		return string(p.Backend)
	}
	return string(p.Backend) + ", " + *p.Model
}
