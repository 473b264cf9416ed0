package dumpable

import (
	"fmt"
	"syscall"
)

// Off closes this process and what it forks, until that executes a program: the kernel opens the new one again. A second
// call changes nothing.
func Off() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep other processes out of this one: %w", errno)
	}
	return nil
}
