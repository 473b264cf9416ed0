//go:build !linux

package engine

import "syscall"

// attributes leave it to the end of standard input to tell the engine that this process died.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
