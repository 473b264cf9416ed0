package engine

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrNotOwned reports an address at which the process of this user does not listen any more.
var ErrNotOwned = errors.New("the engine of this user does not listen there")

// CheckOwner returns nil while the process, which has to be one that this user may signal, runs, and,
// where the kernel tells it, a process of this user listens at the loopback address. The temporal command
// has no secret to prove itself by: while its process lives, no other has its port.
func CheckOwner(address string, pid int) error {
	if pid <= 0 {
		return fmt.Errorf("%w: no process is known", ErrNotOwned)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		return fmt.Errorf("%w: process %d: %w", ErrNotOwned, pid, err)
	}
	return checkListener(address)
}
