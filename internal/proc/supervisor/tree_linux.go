package supervisor

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tree is the program and all that descends from it. We are its subreaper: whoever loses a parent becomes our child. So the
// tree is over exactly when wait4 says that we have no child, whatever /proc shows.
//
// Only children are signalled, and only the one goroutine that signals also reaps: between the look into /proc and the
// signal no id can pass to a stranger. Deeper descendants come up one layer a round, as their parents die.
type tree struct {
	program int // its pid, and the id of its process group
	status  syscall.WaitStatus
	ended   bool           // the program has been reaped
	died    chan os.Signal // SIGCHLD
}

// reap collects the dead; it reports whether any child is left.
func (t *tree) reap() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == t.program:
			t.status, t.ended = status, true
		}
	}
}

// await returns when the program has ended by itself (false) or when it must be ended (true).
func (t *tree) await(stop <-chan struct{}) bool {
	for t.reap(); !t.ended; t.reap() {
		select {
		case <-t.died:
		case <-stop:
			t.reap()
			return !t.ended
		}
	}
	return false
}

// terminate asks all to end and returns when they have or when the grace is over.
func (t *tree) terminate(grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT) // one that is stopped cannot hear
	for t.reap() {
		select {
		case <-t.died:
		case <-over.C:
			return
		}
	}
}

// kill ends whoever is left. It gives up after limit, with the number of those that we may not end, or that the kernel does
// not let go.
func (t *tree) kill(limit time.Duration) int {
	over := time.NewTimer(limit)
	defer over.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for t.reap() {
		t.signal(syscall.SIGKILL)
		select {
		case <-t.died:
		case <-again.C:
		case <-over.C:
			return len(children())
		}
	}
	return 0
}

func (t *tree) signal(sig syscall.Signal) {
	if !t.ended {
		syscall.Kill(-t.program, sig) // even where /proc cannot be read
	}
	own := syscall.Getpgrp()
	for _, c := range children() {
		syscall.Kill(c.pid, sig)
		if c.group > 1 && c.group != own {
			syscall.Kill(-c.group, sig)
		}
	}
}

type child struct{ pid, group int }

// children are those processes whose parent we are, the dead that are not reaped yet included.
func children() []child {
	names, _ := list("/proc")
	self := os.Getpid()
	var found []child
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if parent, group, ok := parseStat(string(stat)); ok && parent == self {
			found = append(found, child{pid: pid, group: group})
		}
	}
	return found
}

// parseStat reads the parent and the process group out of /proc/PID/stat. The name before them is in brackets and may itself
// hold brackets and spaces.
func parseStat(stat string) (parent, group int, ok bool) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 3 {
		return 0, 0, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	group, err2 := strconv.Atoi(fields[2])
	return parent, group, err1 == nil && err2 == nil
}
