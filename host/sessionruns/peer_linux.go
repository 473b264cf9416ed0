package sessionruns

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// peerOf returns the process that has connected, by the kernel's word. It has the process's number on the host,
// also if the process is in a box.
func peerOf(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	var cred *unix.Ucred
	if failed := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); failed != nil {
		return p, failed
	}
	if err != nil {
		return p, err
	}
	return peer{pid: int(cred.Pid), uid: int(cred.Uid), key: process.StartKey(int(cred.Pid))}, nil
}
