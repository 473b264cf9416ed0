package proc

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

// family is the supervisors of this process.
var family = supervisors{running: map[*exec.Cmd]bool{}}

// supervisors distinguishes running supervisors from the orphans of lost ones. This process adopts these
// orphans, because it is the next subreaper above. Among its children, only the orphans are in
// sessions of their own without being started by it.
type supervisors struct {
	adopt sync.Once

	mu      sync.Mutex
	running map[*exec.Cmd]bool
}

// start starts a supervisor. The lock keeps endOrphans from taking it for an orphan.
func (f *supervisors) start(cmd *exec.Cmd) error {
	f.adopt.Do(func() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
	f.mu.Lock()
	defer f.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		f.running[cmd] = true
	}
	return err
}

// forgetReaped forgets a supervisor that has been waited for.
func (f *supervisors) forgetReaped(cmd *exec.Cmd) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, cmd)
}

// endLost ends the processes that a lost supervisor has left: its session, and the processes that left
// the session. Deeper descendants come up one layer a round, as their parents die.
func (f *supervisors) endLost(lost int) {
	killSession(lost)
	if os.Getpid() == 1 {
		return // every orphan of the container is ours then
	}
	for over := time.Now().Add(supervisor.KillLimit); f.endOrphans() && time.Now().Before(over); {
		time.Sleep(5 * time.Millisecond)
	}
}

// endOrphans kills the orphans. It reports whether there was any that can be ended.
func (f *supervisors) endOrphans() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := map[int]bool{}
	for cmd := range f.running {
		known[cmd.Process.Pid] = true
	}
	own, found := sessionOf(0), false
	for _, pid := range children() {
		if session := sessionOf(pid); known[pid] || session == own || session < 0 {
			continue
		}
		if unix.Kill(pid, unix.SIGKILL) == nil {
			found = true
		}
		unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
	return found
}

// children returns the processes whose parent is this one, including the dead that were not waited
// for.
func children() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && process.Parent(pid) == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killSession kills the processes in the session of a supervisor. The program itself dies with its
// supervisor.
func killSession(session int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && sessionOf(pid) == session {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// sessionOf returns the session of a process, or -1 for a process that is gone.
func sessionOf(pid int) int {
	session, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return session
}
