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

// Host makes sessions of ours citizens while they live. They are of the
// backend pi: it is the one whose sessions are reached by a control socket.
type Host struct {
	Dirs Dirs
	// Timeout is how long a close may wait for the registry, behind the end of
	// the session's socket; zero means 5 s. What it leaves is for Forget.
	Timeout time.Duration
}

const leaveTimeout = 5 * time.Second

// Open registers the session and serves its socket until close. What says which
// agent it is: it stands in the record's member model, the one that is free text.
// Where nobody keeps a registry there is nobody to tell: the id is empty then.
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

// Forget takes a session of ours out of the registry, and its socket if that is
// dead: also one whose process died before it could. A second call does nothing.
func (h Host) Forget(ctx context.Context, id dispatch.GardenID) error {
	if err := id.Validate(); err != nil {
		return err
	}
	// The socket goes first: without a record nobody would come back for it.
	err := controlsocket.RemoveDead(ctx, h.Dirs.Socket(id))
	return errors.Join(err, (&Store{Dir: h.Dirs.Sessions}).Remove(ctx, id))
}
