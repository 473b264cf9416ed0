package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB of sys/proc.h: the process has ended, and its parent has not waited for it.
const zombieState = 5

// startKey holds the time of the start as the kernel has it. Neither a time zone nor a locale changes it.
func startKey(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("darwin:%d.%06d", p.Proc.P_starttime.Sec, p.Proc.P_starttime.Usec)
}

func parent(pid int) int {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return int(p.Eproc.Ppid)
}

func zombie(pid int) bool {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && p.Proc.P_stat == zombieState
}
