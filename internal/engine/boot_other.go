//go:build !linux

package engine

import "golang.org/x/sys/unix"

// bootID returns the random id that macOS gives each start. It is empty where it cannot be read.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
