package citizen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// Caller is the process that asks for its identity.
type Caller struct {
	Lookup func(string) (string, bool) // its environment
	CWD    string
	Parent int // the number of its parent
	Now    time.Time
}

// The errors of a caller without one clear identity.
var (
	// ErrAnonymous reports a caller without a proved identity, where a proved identity is required.
	ErrAnonymous = errors.New("not a registered session: no PI_SESSION_ID with PI_AGENT_ID, and no marker of a session that runs this process")
	// ErrAmbiguous reports a process with the markers of several citizens.
	ErrAmbiguous = errors.New("this process has the markers of more than one session")
)

// SocketState is a session's view of its own control socket.
type SocketState string

// The states of a socket.
const (
	SocketAlive    SocketState = "alive"    // its file is there
	SocketExpected SocketState = "expected" // its path is known, and nothing is there
	SocketNone     SocketState = "none"     // there is not even a path
)

// Self is a caller's own identity, with the reason why an answer would reach it or not.
type Self struct {
	dispatch.Sender
	Socket SocketState `json:"socketState"`
	Reason string      `json:"reason"`
}

// Self returns the caller's proved identity. It comes from the environment, else from the marker of
// the caller's parent, else from the marker of its grandparent. Self returns ErrAnonymous when
// there is none.
func (d Dirs) Self(c Caller) (Self, error) {
	if self, ok := d.piSelf(c); ok {
		return self, nil
	}
	m, err := d.trustedMarker(c)
	if err != nil {
		return Self{}, err
	}
	active, reason := marker.PresenceOf(d.Receivers, d.Senders, m.Citizen).Active()
	self := newSender(c, string(m.GardenID), "meta-session/"+string(m.Backend), dispatch.MetaSession, active)
	self.CWD = m.CWD
	return Self{Sender: self, Socket: SocketNone, Reason: reason}, nil
}

// Sender returns the caller's identity as the sender of a message. A caller without an identity
// sends as an external sender, to whom no session can answer, unless the environment forbids it.
func (d Dirs) Sender(c Caller) (dispatch.Sender, error) {
	self, err := d.Self(c)
	if !errors.Is(err, ErrAnonymous) {
		return self.Sender, err
	}
	if c.environValue("PI_TOOLS_BRIDGE_REQUIRE_META_SENDER") == "1" {
		return dispatch.Sender{}, fmt.Errorf("PI_TOOLS_BRIDGE_REQUIRE_META_SENDER is set: %w", err)
	}
	agent := cmp.Or(c.environValue("ENTWURF_BRIDGE_EXTERNAL_AGENT_ID"), c.environValue("PI_TOOLS_BRIDGE_EXTERNAL_AGENT_ID"), "external-mcp/unknown-host")
	return newSender(c, "external-mcp", agent, dispatch.ExternalMCP, false), nil
}

func (d Dirs) piSelf(c Caller) (Self, bool) {
	session, agent := c.environValue("PI_SESSION_ID"), c.environValue("PI_AGENT_ID")
	if session == "" || agent == "" {
		return Self{}, false
	}
	state, reason := d.ownSocket(session)
	sender := newSender(c, session, agent, dispatch.PiSession, state == SocketAlive)
	return Self{Sender: sender, Socket: state, Reason: reason}, true
}

// ownSocket inspects the socket's file and never connects, because a session knows that it runs.
func (d Dirs) ownSocket(session string) (SocketState, string) {
	id, err := dispatch.ParseGardenID(session)
	if err != nil {
		return SocketNone, "its session id is not a garden id, so it has no control socket"
	}
	info, err := os.Lstat(d.Socket(id))
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return SocketExpected, "it has no control socket at " + d.Socket(id)
	}
	return SocketAlive, "its control socket is at " + d.Socket(id)
}

// trustedMarker returns the marker that says which citizen the caller works for, if the citizen's record
// confirms it.
func (d Dirs) trustedMarker(c Caller) (marker.Sender, error) {
	if path := cmp.Or(c.environValue("ENTWURF_META_SENDER_MARKER"), c.environValue("PI_META_SENDER_MARKER")); path != "" {
		return d.onlyMarker([]string{expandHome(path, d.Home)})
	}
	for _, pid := range []int{c.Parent, process.Parent(c.Parent)} {
		if !process.Plausible(pid) {
			continue
		}
		var paths []string
		for _, b := range dispatch.Backends {
			if !b.Probed() {
				paths = append(paths, marker.SenderPath(d.Senders, b, pid))
			}
		}
		if m, err := d.onlyMarker(paths); !errors.Is(err, ErrAnonymous) {
			return m, err
		}
	}
	return marker.Sender{}, ErrAnonymous
}

// onlyMarker returns the marker of the one citizen that the markers at paths name. It ignores a marker
// that contradicts the record. A record that cannot be read is an error, because the caller does
// have an identity.
func (d Dirs) onlyMarker(paths []string) (marker.Sender, error) {
	var found []marker.Sender
	store := &Store{Dir: d.Sessions}
	for _, path := range paths {
		m, err := marker.ReadSender(path)
		if err != nil {
			continue
		}
		r, err := store.Find(m.GardenID)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return marker.Sender{}, fmt.Errorf("sender marker %s: %w", path, err)
		}
		if err == nil && r.Citizen() == m.Citizen {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return marker.Sender{}, ErrAnonymous
	case 1:
		return found[0], nil
	}
	return marker.Sender{}, fmt.Errorf("%w: %s and %s", ErrAmbiguous, found[0].GardenID, found[1].GardenID)
}

// Citizen returns the values of the record that its markers have to match.
func (r Record) Citizen() marker.Citizen {
	return marker.Citizen{GardenID: r.GardenID, Backend: r.Backend, NativeSessionID: r.NativeSessionID}
}

func newSender(c Caller, session, agent string, origin dispatch.Origin, replyable bool) dispatch.Sender {
	return dispatch.Sender{
		SessionID: session, AgentID: agent, CWD: c.CWD, Timestamp: document.Stamp(c.Now), Origin: origin, Replyable: &replyable,
	}
}

func (c Caller) environValue(name string) string {
	value, ok := c.Lookup(name)
	if !ok {
		return ""
	}
	return strings.TrimSpace(value)
}
