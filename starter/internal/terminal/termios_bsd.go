//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

// The requests of the kernel for the mode of a terminal.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)
