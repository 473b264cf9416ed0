package citizen

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Host makes sessions of ours citizens while they live. Their records are of the backend pi: that is the word
// for a session that is reached by a control socket, and the other programs refuse a socket under the record of
// another backend (docs/contracts/dispatch.md, 6). Which agent it is, for what, is in the note; see Ours.
type Host struct {
	Dirs Dirs
	// Timeout is how long a close may wait for the registry after the session's socket has ended;
	// zero means 5 s. Forget removes anything that a close leaves behind.
	Timeout time.Duration
}

const leaveTimeout = 5 * time.Second

// Open registers the session and serves its socket until close. It makes the registry where there is none.
// About is kept in a note beside the record, and the record's member model, the only free text there, names the
// agent for the other programs. The note names this process: after its death nothing is dispatched to the
// session, and Sweep removes it.
func (h Host) Open(ctx context.Context, id dispatch.GardenID, dir string, about dispatch.About, s controlsocket.Session) (dispatch.GardenID, func(), error) {
	if err := h.Dirs.Make(ctx); err != nil {
		return "", nil, err
	}
	store := &Store{Dir: h.Dirs.Sessions}
	record, err := store.Register(ctx, Birth{GardenID: id, Backend: dispatch.Pi, CWD: dir, Model: about.Who(), IsEntwurf: true, about: &about})
	if err != nil {
		return "", nil, err
	}
	server, err := controlsocket.Listen(ctx, h.Dirs.Socket(record.GardenID), s)
	if err != nil {
		return "", nil, errors.Join(err, h.Forget(context.WithoutCancel(ctx), record.GardenID))
	}
	return record.GardenID, func() {
		_ = server.Close() // peers look elsewhere from then on
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(h.Timeout, leaveTimeout))
		defer cancel()
		_ = h.Forget(ctx, record.GardenID)
	}, nil
}

// Forget removes a session of ours from the registry, and its socket if that is dead. It also
// removes a session whose process died before it could do so itself. A second call does nothing.
func (h Host) Forget(ctx context.Context, id dispatch.GardenID) error {
	if err := id.Validate(); err != nil {
		return err
	}
	// The socket is removed first: without a record no later call would find it. The note goes last: without it
	// the record would pass for another program's.
	store := &Store{Dir: h.Dirs.Sessions}
	if err := errors.Join(controlsocket.RemoveDead(ctx, h.Dirs.Socket(id)), store.Remove(ctx, id)); err != nil {
		return err
	}
	return store.removeOurs(id)
}

// Sweep removes the sessions of ours whose workers have ended without doing so, and returns their ids. A second
// call finds nothing.
func (h Host) Sweep(ctx context.Context) ([]dispatch.GardenID, error) {
	store := &Store{Dir: h.Dirs.Sessions}
	ids, err := store.abandonedSessions()
	if err != nil {
		return nil, err
	}
	var swept []dispatch.GardenID
	var errs []error
	for _, id := range ids {
		removed := false
		err := controlsocket.RemoveDead(ctx, h.Dirs.Socket(id))
		if err == nil {
			removed, err = store.removeAbandoned(ctx, id)
		}
		if removed {
			swept = append(swept, id)
		}
		errs = append(errs, err)
	}
	return swept, errors.Join(errs...)
}
