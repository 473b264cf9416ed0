package supervisor

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tree is the program and everything that descends from it. We are its subreaper: a process that
// loses its parent becomes our child. The tree is therefore over exactly when wait4 says that we
// have no child, whatever /proc shows.
//
// Only children are signalled, and the one goroutine that signals also reaps. No id can pass to a
// stranger between the look into /proc and the signal. Deeper descendants come up one layer a
// round, as their parents die. Those in a box are asked to end by descriptors: see boxedProcesses.
type tree struct {
	program int // its pid, and the id of its process group
	status  syscall.WaitStatus
	ended   bool           // the program has been reaped
	died    chan os.Signal // SIGCHLD
}

// reap collects the dead children. It reports whether any child is left.
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

// await returns false when the program has ended by itself, and true when it must be ended.
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

// terminate asks all processes to end. It returns when they have ended or when the grace is over.
func (t *tree) terminate(grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	t.sendTerm()
	for t.reap() {
		select {
		case <-t.died:
		case <-over.C:
			return
		}
	}
}

// sendTerm sends SIGTERM, and SIGCONT after it: a stopped process does not handle SIGTERM.
func (t *tree) sendTerm() {
	asked := false
	for _, p := range t.boxedProcesses() {
		asked = p.send(syscall.SIGTERM, syscall.SIGCONT) || asked
	}
	if asked {
		return
	}
	found := children()
	t.signal(syscall.SIGTERM, found)
	t.signal(syscall.SIGCONT, found)
}

// kill kills the processes that are left. It gives up after limit, and returns the number of
// processes that we may not end or that the kernel does not release.
func (t *tree) kill(limit time.Duration) int {
	over := time.NewTimer(limit)
	defer over.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for t.reap() {
		found := listedChildren()
		if len(found) == 0 {
			found = children()
		}
		t.signal(syscall.SIGKILL, found)
		select {
		case <-t.died:
		case <-again.C:
		case <-over.C:
			return len(children())
		}
	}
	return 0
}

// signal signals the program and the children found, with their groups.
func (t *tree) signal(sig syscall.Signal, found []child) {
	if !t.ended {
		syscall.Kill(-t.program, sig) // even where /proc cannot be read
	}
	own := syscall.Getpgrp()
	for _, c := range found {
		syscall.Kill(c.pid, sig)
		if c.group > 1 && c.group != own {
			syscall.Kill(-c.group, sig)
		}
	}
}

type child struct{ pid, group int }

// children returns the processes whose parent we are, including the dead that are not reaped yet. It looks at
// every process of the machine.
func children() (found []child) {
	names, _ := list("/proc")
	for _, name := range names {
		if c, ok := readChild(name); ok {
			found = append(found, c)
		}
	}
	return found
}

// listedChildren returns children by the list that the kernel keeps of our first thread, which has them all: it
// starts the program, and adopts. The list can lack a child while another one ends, and some kernels have none: a
// second look, or children, finds what it lacks. The lists of other threads are left alone, because a
// lookup of a thread delays its end.
func listedChildren() (found []child) {
	pids, _ := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	for _, pid := range strings.Fields(string(pids)) {
		if c, ok := readChild(pid); ok {
			found = append(found, c)
		}
	}
	return found
}

// readChild reads a process that /proc names. It returns false for one that is not our child.
func readChild(name string) (c child, ok bool) {
	pid, err := strconv.Atoi(name)
	if err != nil {
		return c, false
	}
	stat, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return c, false
	}
	parent, group, ok := parseStat(string(stat))
	return child{pid: pid, group: group}, ok && parent == os.Getpid()
}

// parseStat reads the parent and the process group out of /proc/PID/stat. The name before them is
// in brackets and may itself contain brackets and spaces.
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
