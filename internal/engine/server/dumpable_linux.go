package main

import (
	"fmt"
	"syscall"
)

// closeToOthers protects the environment, memory and descriptors of this process from other
// processes of the same user, as package dumpable does for the rest of Ratchet.
func closeToOthers() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return fmt.Errorf("keep other processes out of this one: %w", errno)
	}
	return nil
}
