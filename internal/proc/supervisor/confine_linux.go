package supervisor

import "syscall"

// start starts the program with its descriptors, inside its control groups and under its limits. It
// starts nothing when one of them cannot be had. The calling thread must be locked: with version 1
// that thread alone enters the groups, and leaves them again, while the program stays.
func (o Order) start(path string, argv []string) (pid int, err error) {
	attr := &syscall.ProcAttr{
		Env:   o.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	next := ReportFD + 1
	for range o.Files {
		attr.Files = append(attr.Files, uintptr(next))
		next++
	}
	if o.Group {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, next
		next++
	}
	if o.FileSize > 0 {
		bound := syscall.Rlimit{Cur: uint64(o.FileSize), Max: uint64(o.FileSize)}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &bound); err != nil {
			return 0, err
		}
	}
	for i := range o.Tasks {
		if _, err := syscall.Write(next+2*i, ourThread); err != nil {
			return 0, err
		}
		defer syscall.Write(next+2*i+1, ourThread)
	}
	return syscall.ForkExec(path, argv, attr)
}

// ourThread stands for the writing thread in a file tasks.
var ourThread = []byte("0")
