// Package peers lists the citizens with a record, the sockets without one, and the problems found
// while looking (docs/contracts/dispatch.md, 4.1). It states facts. A dispatch decides later, from
// facts of its own moment, how it can reach a peer.
package peers

import (
	"cmp"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Listing holds everything that a scan found, sorted by garden id in plain byte order.
type Listing struct {
	ControlDir string `json:"controlDir"`
	// Count is the number of Sessions. Sessions are the listening addresses; older readers know
	// nothing else.
	Count       int          `json:"count"`
	Sessions    []Session    `json:"sessions"`
	Peers       []Peer       `json:"peers"`
	SocketOnly  []Socket     `json:"socketOnly"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Session is an address at which a session listens.
type Session struct {
	SessionID  dispatch.GardenID `json:"sessionId"`
	SocketPath string            `json:"socketPath"`
}

// Peer is a citizen: its record, without the path of its transcript, and its liveness.
type Peer struct {
	GardenID        dispatch.GardenID  `json:"gardenId"`
	Backend         dispatch.Backend   `json:"backend"`
	NativeSessionID string             `json:"nativeSessionId"`
	CWD             string             `json:"cwd"`
	Model           *string            `json:"model"`
	ParentGardenID  *dispatch.GardenID `json:"parentGardenId"`
	IsEntwurf       bool               `json:"isEntwurf"`
	CreatedAt       string             `json:"createdAt"`
	UpdatedAt       string             `json:"recordUpdatedAt"`
	Liveness        dispatch.Liveness  `json:"liveness"`
	// Ours says which session of a run, or which standing session, it is; nil: it is another program's.
	Ours *dispatch.About `json:"ours,omitempty"`
}

// Socket is a control socket without a record. A listing asks it nothing, and the other members
// that readers look for are null.
type Socket struct {
	Kind      string            `json:"kind"` // socket-only
	GardenID  dispatch.GardenID `json:"gardenId"`
	Liveness  dispatch.Liveness `json:"liveness"`
	CWD       *string           `json:"cwd"`
	Model     *string           `json:"model"`
	Idle      *bool             `json:"idle"`
	InfoError *string           `json:"infoError"`
}

// Kind is the kind of problem that a diagnostic reports.
type Kind string

// The kinds, in the order of the listing.
const (
	RecordReadError    Kind = "meta-record-read-error"
	SocketConflict     Kind = "garden-id-socket-conflict"
	SymlinkRejected    Kind = "socket-symlink-rejected"
	MalformedSocket    Kind = "malformed-socket-name"
	SocketDirReadError Kind = "socket-dir-read-error"
)

var kinds = []Kind{RecordReadError, SocketConflict, SymlinkRejected, MalformedSocket, SocketDirReadError}

// Diagnostic is a problem. Of the four names it sets only the name that its kind is about. A
// conflict also has the backend, where the record names it.
type Diagnostic struct {
	Kind     Kind              `json:"kind"`
	Filename string            `json:"filename,omitempty"`
	GardenID dispatch.GardenID `json:"gardenId,omitempty"`
	Backend  dispatch.Backend  `json:"backend,omitempty"`
	Name     string            `json:"name,omitempty"`
	Message  string            `json:"message"`
}

func (d Diagnostic) subjectOf() string { return cmp.Or(d.Filename, string(d.GardenID), d.Name) }

func compareDiagnostics(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		cmp.Compare(a.subjectOf(), b.subjectOf()),
	)
}

// join combines the records, which are sorted, with the liveness found at each address. A probed address without a record
// is a socket.
func join(records []citizen.Record, probed map[dispatch.GardenID]dispatch.Liveness) ([]Peer, []Socket) {
	peers, sockets := []Peer{}, []Socket{}
	for _, r := range records {
		peers = append(peers, newPeer(r, dispatch.LivenessOf(r.Backend, probed[r.GardenID])))
		delete(probed, r.GardenID)
	}
	for id, l := range probed {
		sockets = append(sockets, Socket{Kind: "socket-only", GardenID: id, Liveness: l})
	}
	slices.SortFunc(sockets, func(a, b Socket) int { return cmp.Compare(a.GardenID, b.GardenID) })
	return peers, sockets
}

func newPeer(r citizen.Record, l dispatch.Liveness) Peer {
	return Peer{
		GardenID: r.GardenID, Backend: r.Backend, NativeSessionID: r.NativeSessionID, CWD: r.CWD,
		Model: document.Nullable(r.Model), ParentGardenID: document.Nullable(r.ParentGardenID), IsEntwurf: r.IsEntwurf,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Liveness: l,
	}
}
