package dumpable

import (
	"fmt"
	"syscall"
)

// Off closes this process and the processes that it forks, until they execute a program: the kernel
// opens the new program again. A second call changes nothing.
func Off() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep other processes out of this one: %w", errno)
	}
	return nil
}
