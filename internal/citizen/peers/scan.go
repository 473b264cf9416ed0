package peers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// Look inspects one control socket; controlsocket.Look implements it.
type Look func(ctx context.Context, path string) controlsocket.Sighting

// concurrent bounds how many addresses are inspected at a time.
const concurrent = 32

// Scan lists the peers. It looks at every pi citizen and every socket once. A broken entry becomes
// a diagnostic and hides no other entry. Scan returns an error if the store cannot be read, or if ctx
// has ended.
func Scan(ctx context.Context, d citizen.Dirs, look Look) (Listing, error) {
	store := citizen.Store{Dir: d.Sessions}
	records, bad, err := store.List()
	if err != nil {
		return Listing{}, err
	}
	s := scan{dirs: d, look: look, found: make(map[dispatch.GardenID]socketKind), diagnostics: []Diagnostic{}}
	s.readDir()
	for id, e := range s.found {
		if e == symlink {
			s.refuseID(id)
		}
	}
	s.quarantineBad(&store, bad)
	records = s.quarantineClashes(records)
	probed := s.probeAll(ctx, records)
	if err := ctx.Err(); err != nil {
		return Listing{}, context.Cause(ctx)
	}
	peers, sockets := join(records, probed)
	noteOurs(&store, records, peers)
	slices.SortFunc(s.diagnostics, compareDiagnostics)
	l := Listing{ControlDir: d.Sockets, Peers: peers, SocketOnly: sockets, Diagnostics: s.diagnostics}
	l.Sessions = listeningSessions(d, l)
	l.Count = len(l.Sessions)
	return l, nil
}

// noteOurs says of the sessions of ours what they are.
func noteOurs(store *citizen.Store, records []citizen.Record, peers []Peer) {
	known := make(map[dispatch.GardenID]citizen.Record)
	for _, r := range records {
		known[r.GardenID] = r
	}
	for i, p := range peers {
		if o, ok := store.FindOurs(p.GardenID); ok && store.IsOurs(known[p.GardenID]) {
			peers[i].Ours = &o.About
		}
	}
}

// socketKind is the kind of file that the directory of sockets has under a garden id.
type socketKind int

const (
	none socketKind = iota
	socket
	symlink
)

type scan struct {
	dirs citizen.Dirs
	look Look

	found       map[dispatch.GardenID]socketKind
	blind       bool // the directory could not be read
	diagnostics []Diagnostic
}

func (s *scan) addDiagnostic(d Diagnostic) { s.diagnostics = append(s.diagnostics, d) }

// readDir finds the sockets. A missing directory has none.
func (s *scan) readDir() {
	entries, err := os.ReadDir(s.dirs.Sockets)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.blind = true
		s.addDiagnostic(Diagnostic{Kind: SocketDirReadError, Message: "cannot look at the sockets: " + err.Error()})
		return
	}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), controlsocket.Suffix)
		if !ok {
			continue
		}
		id, err := dispatch.ParseGardenID(stem)
		switch {
		case err != nil:
			s.addDiagnostic(Diagnostic{Kind: MalformedSocket, Name: e.Name(), Message: "its name is not a garden id, so it belongs to no session"})
		case e.Type()&fs.ModeSymlink != 0:
			s.found[id] = symlink
		default:
			s.found[id] = socket
		}
	}
}

// quarantineBad removes the sockets under the ids of bad records from the listing. Their owner
// cannot be known, and a dispatch to such an id is refused.
func (s *scan) quarantineBad(store *citizen.Store, bad []*citizen.BadRecord) {
	names := make(map[string]bool)
	for _, b := range bad {
		names[b.Name] = true
		s.addDiagnostic(Diagnostic{Kind: RecordReadError, Filename: b.Name, Message: display.Clip(b.Err.Error(), 400)})
	}
	for id := range s.found {
		if names[filepath.Base(store.Path(id))] {
			delete(s.found, id)
			s.addDiagnostic(Diagnostic{
				Kind: SocketConflict, GardenID: id,
				Message: "the record cannot be used, and a socket has its garden id: neither is listed",
			})
		}
	}
}

// quarantineClashes removes each citizen of another backend that shares its id with a socket, together
// with that socket. The id does not say which of the two is meant.
func (s *scan) quarantineClashes(records []citizen.Record) []citizen.Record {
	return slices.DeleteFunc(records, func(r citizen.Record) bool {
		if r.Backend.Probed() || s.found[r.GardenID] == none {
			return false
		}
		delete(s.found, r.GardenID)
		s.addDiagnostic(Diagnostic{
			Kind: SocketConflict, GardenID: r.GardenID, Backend: r.Backend,
			Message: "the record is of a backend without sockets, but a socket has its garden id: neither is listed",
		})
		return true
	})
}

func (s *scan) refuseID(id dispatch.GardenID) {
	s.addDiagnostic(Diagnostic{
		Kind: SymlinkRejected, GardenID: id,
		Message: "a symlink instead of a socket could lead to another session, so it was not asked",
	})
}

// probeAll looks at every address once. It never looks at a symlink: a pi citizen whose address is a
// symlink is dead, and a symlink without a record is dropped.
func (s *scan) probeAll(ctx context.Context, records []citizen.Record) map[dispatch.GardenID]dispatch.Liveness {
	ids := make(map[dispatch.GardenID]bool) // the value reports whether the id has a record
	for id, e := range s.found {
		if e == socket {
			ids[id] = false
		}
	}
	for _, r := range records {
		if r.Backend.Probed() {
			ids[r.GardenID] = true
		}
	}
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		probed = make(map[dispatch.GardenID]dispatch.Liveness)
		slots  = make(chan struct{}, concurrent)
	)
	for id, recorded := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			liveness, swapped := s.livenessOf(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if swapped {
				s.refuseID(id)
			}
			if recorded || !swapped {
				probed[id] = liveness
			}
		})
	}
	wg.Wait()
	return probed
}

// livenessOf returns the liveness under one id. Swapped reports that a symlink was put there after
// the directory was read.
func (s *scan) livenessOf(ctx context.Context, id dispatch.GardenID) (l dispatch.Liveness, swapped bool) {
	switch {
	case s.blind:
		return dispatch.Indeterminate, false
	case s.found[id] == symlink:
		return dispatch.Dead, false
	}
	seen := s.look(ctx, s.dirs.Socket(id))
	switch seen.Conflict {
	case controlsocket.Symlink:
		return dispatch.Dead, true
	case controlsocket.NotSocket:
		return dispatch.Dead, false // no session can listen on it
	}
	return seen.Liveness, false
}

// listeningSessions returns the addresses at which a session listens.
func listeningSessions(d citizen.Dirs, l Listing) []Session {
	var ids []dispatch.GardenID
	for _, p := range l.Peers {
		if p.Liveness == dispatch.Alive {
			ids = append(ids, p.GardenID)
		}
	}
	for _, s := range l.SocketOnly {
		if s.Liveness == dispatch.Alive {
			ids = append(ids, s.GardenID)
		}
	}
	slices.Sort(ids)
	found := make([]Session, len(ids))
	for i, id := range ids {
		found[i] = Session{SessionID: id, SocketPath: d.Socket(id)}
	}
	return found
}
