// Package controlsocket reaches agent sessions by their control sockets, and serves a control
// socket for a session of ours. The protocol is newline-delimited JSON over a Unix stream socket at
// <directory>/<garden id>.sock (docs/contracts/dispatch.md, 4 and 5).
//
// The package inspects an address before it connects, and connects only to a plain socket. The
// system call connect follows symlinks, and fails in the same way for a regular file as for a
// socket without a listener.
package controlsocket

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Suffix ends the name of a control socket.
const Suffix = ".sock"

// Path returns the address of a citizen in a directory of control sockets. The id must be valid.
func Path(dir string, id dispatch.GardenID) string {
	return filepath.Join(dir, string(id)+Suffix)
}

// State is the kind of file at an address.
type State string

// The states.
const (
	Absent          State = "absent"
	SocketFile      State = "socket-file"
	AddressConflict State = "address-conflict" // a file that no session of ours put there
	Unreadable      State = "indeterminate"
)

// Conflict is the kind of file that is in a socket's place.
type Conflict string

// The conflicts. A symlink is a conflict whatever it points at.
const (
	Symlink   Conflict = "symlink"
	NotSocket Conflict = "not-socket"
)

// Inspection is the result of Inspect.
type Inspection struct {
	State    State    `json:"state"`
	Conflict Conflict `json:"conflict,omitempty"` // of AddressConflict
	Code     string   `json:"code,omitempty"`     // the errno of Unreadable
}

// Inspect inspects an address with a single lstat. It follows nothing and connects to nothing.
func Inspect(path string) Inspection {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Inspection{State: Absent}
	case err != nil:
		return Inspection{State: Unreadable, Code: errorName(err)}
	case info.Mode()&fs.ModeSymlink != 0:
		return Inspection{State: AddressConflict, Conflict: Symlink}
	case info.Mode()&fs.ModeSocket == 0:
		return Inspection{State: AddressConflict, Conflict: NotSocket}
	}
	return Inspection{State: SocketFile}
}

// Sighting is the result of Look: a liveness, or a conflict.
type Sighting struct {
	Liveness dispatch.Liveness `json:"liveness,omitempty"` // empty on a conflict
	Conflict Conflict          `json:"conflict,omitempty"`
	// Code says why the address is not alive, for diagnostics: an errno, timeout, canceled.
	Code string `json:"code,omitempty"`
}

// ProbeTimeout is how long a peer has to accept a connection.
const ProbeTimeout = 300 * time.Millisecond

// Look inspects an address and probes it when it is a socket.
func Look(ctx context.Context, path string) Sighting {
	switch in := Inspect(path); in.State {
	case Absent:
		return Sighting{Liveness: dispatch.Dead, Code: "ENOENT"}
	case AddressConflict:
		return Sighting{Conflict: in.Conflict}
	case Unreadable:
		return Sighting{Liveness: dispatch.Indeterminate, Code: in.Code}
	}
	return Probe(ctx, path)
}

// Probe reports whether a session listens. It connects, sends nothing, and closes. A session that
// accepts and never answers is alive. Probe follows symlinks: call Look first.
func Probe(ctx context.Context, path string) Sighting {
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return Sighting{Liveness: livenessOfSilence(err), Code: errorName(err)}
	}
	conn.Close()
	return Sighting{Liveness: dispatch.Alive}
}

// livenessOfSilence returns the liveness that a failed connect proves. Only ECONNREFUSED and ENOENT prove
// that no session listens. A full backlog, a socket of another type and a path too long for the
// kernel (EAGAIN, EPROTOTYPE, EINVAL) do not.
func livenessOfSilence(err error) dispatch.Liveness {
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return dispatch.Dead
	}
	return dispatch.Indeterminate
}

// errorName returns the name of an error. The errno is checked first, because Go calls EAGAIN a timeout
// too.
func errorName(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return ""
}
