package rundir

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncBytes puts the bytes of a file on disk, without its times, which nothing reads.
func syncBytes(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
