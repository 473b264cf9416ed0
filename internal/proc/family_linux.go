package proc

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen/process"
	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

// family is the supervisors of this process.
var family = supervisors{running: map[*exec.Cmd]bool{}}

// supervisors tells the supervisors that run from the orphans of those that were lost. This process adopts these orphans: it
// is the next subreaper above. They are its only children in sessions of their own that it did not start.
type supervisors struct {
	adopt sync.Once

	mu      sync.Mutex
	running map[*exec.Cmd]bool
}

// start starts a supervisor. The lock keeps end from taking it for an orphan.
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

// reaped forgets a supervisor that has been waited for.
func (f *supervisors) reaped(cmd *exec.Cmd) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, cmd)
}

// end ends what a lost supervisor has left: its session, and whoever left that. Deeper descendants come up one layer a
// round, as their parents die.
func (f *supervisors) end(lost int) {
	killSession(lost)
	if os.Getpid() == 1 {
		return // every orphan of the container is ours then
	}
	for over := time.Now().Add(supervisor.KillLimit); f.endOrphans() && time.Now().Before(over); {
		time.Sleep(5 * time.Millisecond)
	}
}

// endOrphans reports whether there was any that can be ended.
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

// children are the processes whose parent is this one, the dead that nobody has waited for included.
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

// killSession ends who is in the session of a supervisor. The program itself dies with its supervisor.
func killSession(session int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && sessionOf(pid) == session {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// sessionOf is -1 for a process that is gone.
func sessionOf(pid int) int {
	session, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return session
}
