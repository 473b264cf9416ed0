//go:build !linux

package engine

import "syscall"

// attributes returns no death signal: the engine notices the death of this process by the end of
// its standard input.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
