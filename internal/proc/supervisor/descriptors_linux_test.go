package supervisor_test

import (
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

func TestListedDescriptorsAreKept(t *testing.T) {
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	flags := func() uintptr {
		got, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		return got
	}
	if flags() != 0 {
		t.Fatal("it is kept from programs already")
	}
	if err := supervisor.KeepListed(); err != nil || flags() != syscall.FD_CLOEXEC {
		t.Errorf("flags %d, %v", flags(), err)
	}
}
