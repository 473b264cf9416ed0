package agenttest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// canFindProcesses reports whether there is a /proc to find processes in.
func canFindProcesses() bool { return runtime.GOOS == "linux" }

// findMarked finds the processes that carry the mark of the case, if it can.
func (b *bench) findMarked() []marked {
	if !canFindProcesses() {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	var found []marked
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ") // it may have ended
		if strings.Contains(string(environ), b.mark) {
			argv, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
			found = append(found, marked{pid, strings.ReplaceAll(string(argv), "\x00", " ")})
		}
	}
	return found
}

type marked struct {
	pid  int
	argv string
}

func (m marked) String() string { return fmt.Sprintf("%d (%.100s)", m.pid, m.argv) }

// endMarked ends the processes that a case has left, one by one.
func (b *bench) endMarked() {
	for _, m := range b.findMarked() {
		b.Errorf("left at the end: %v", m)
		syscall.Kill(m.pid, syscall.SIGKILL)
	}
}
