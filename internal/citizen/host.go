package citizen

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Host makes sessions of ours citizens while they live. Their backend is pi, the only backend whose
// sessions are reached by a control socket.
type Host struct {
	Dirs Dirs
	// Timeout is how long a close may wait for the registry after the session's socket has ended;
	// zero means 5 s. Forget removes anything that a close leaves behind.
	Timeout time.Duration
}

const leaveTimeout = 5 * time.Second

// Open registers the session and serves its socket until close. The text in what names the agent;
// it is stored in the record's member model, the only free text there. Where there is no registry,
// Open registers nothing and returns an empty id.
func (h Host) Open(ctx context.Context, id dispatch.GardenID, dir, what string, s controlsocket.Session) (dispatch.GardenID, func(), error) {
	if _, err := os.Stat(h.Dirs.Sessions); errors.Is(err, fs.ErrNotExist) {
		return "", func() {}, nil
	}
	store := &Store{Dir: h.Dirs.Sessions}
	record, err := store.Register(ctx, Birth{GardenID: id, Backend: dispatch.Pi, CWD: dir, Model: what, IsEntwurf: true})
	if err != nil {
		return "", nil, err
	}
	server, err := controlsocket.Listen(ctx, h.Dirs.Socket(record.GardenID), s)
	if err != nil {
		return "", nil, errors.Join(err, store.Remove(ctx, record.GardenID))
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
	// The socket is removed first: without a record no later call would find it.
	err := controlsocket.RemoveDead(ctx, h.Dirs.Socket(id))
	return errors.Join(err, (&Store{Dir: h.Dirs.Sessions}).Remove(ctx, id))
}
