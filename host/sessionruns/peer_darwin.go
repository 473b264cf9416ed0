package sessionruns

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// peerOf returns the process that has connected, by the kernel's word.
func peerOf(conn *net.UnixConn) (p peer, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return p, err
	}
	var user *unix.Xucred
	failed := raw.Control(func(fd uintptr) {
		if p.pid, err = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil {
			user, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		}
	})
	if failed != nil {
		return p, failed
	}
	if err != nil {
		return p, err
	}
	p.uid, p.key = int(user.Uid), process.StartKey(p.pid)
	return p, nil
}
