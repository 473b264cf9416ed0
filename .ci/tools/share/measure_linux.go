package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// logVariable names the file to which a wrapped test program's CPU time is added.
const logVariable = "RATCHET_SHARE_LOG"

// measure runs a test program, adds its CPU time and directory to the log, and returns its exit code. Processes that lose
// their parent become children of this one, so that they are counted too; they are reaped at once, as init would.
func measure(log string, argv []string) int {
	_ = os.Unsetenv(logVariable)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		return 1
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		return 1
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGQUIT) // go test sends SIGQUIT to a test that runs for too long
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	var status unix.WaitStatus
	for {
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err == nil && pid == cmd.Process.Pid || err != nil && err != unix.EINTR {
			break
		}
	}
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &used)
	note(log, time.Duration(used.Utime.Nano()+used.Stime.Nano()))
	if status.Exited() {
		return status.ExitStatus()
	}
	fmt.Fprintln(os.Stderr, "share: the test program ended by signal", status.Signal())
	return 1
}

func note(log string, cpu time.Duration) {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		return
	}
	fmt.Fprintln(f, cpu, dir)
	_ = f.Close()
}
