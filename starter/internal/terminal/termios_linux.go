package terminal

import "golang.org/x/sys/unix"

// The requests of the kernel for the mode of a terminal.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)
