package engine

import "syscall"

// attributes makes the kernel kill the engine when this process dies, even where the engine is
// stuck. The database survives that.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keptBy is the shell of a program that does not know our pipe.
const keptBy = keeper
