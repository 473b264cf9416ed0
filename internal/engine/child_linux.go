package engine

import "syscall"

// attributes makes the kernel kill the engine when this process dies, even where the engine is
// stuck. The database survives that.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
