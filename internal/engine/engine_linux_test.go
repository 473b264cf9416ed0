package engine_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestEngineOutlivesTheThreadThatAskedForIt(t *testing.T) {
	script(t, `echo "{\"address\": \"127.0.0.1:1\", \"pid\": $$, \"start\": \"s\"}"; exec cat`)
	type started struct {
		e      *engine.Engine
		err    error
		thread int
	}
	var s started
	onEndingThread(func() {
		s.thread = syscall.Gettid()
		s.e, s.err = engine.Start(t.Context(), engine.Options{DB: newDB(t)})
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	eventually.Holds(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", s.thread))
		return err != nil
	})
	if !running(s.e.PID) {
		t.Error("the engine ended with the thread")
	}
	if err := s.e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// onEndingThread calls f on a thread that ends soon after. The main thread never ends, so it is held while another is used.
func onEndingThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a locked thread ends with its goroutine
		if syscall.Gettid() != syscall.Getpid() {
			f()
			return
		}
		onEndingThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

func TestEngineTalksOnLoopbackOnly(t *testing.T) {
	need.Root(t)
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	dial(t, e)
	mine := sockets(t, e.PID)
	listening := 0
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", e.PID, table))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			field := strings.Fields(lines.Text())
			if len(field) < 10 || !slices.Contains(mine, field[9]) {
				continue
			}
			listening++
			if !strings.HasPrefix(field[1], "0100007F:") {
				t.Errorf("%s socket at %s, peer %s", table, field[1], field[2])
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if listening == 0 {
		t.Error("no socket found")
	}
}

// listening are the addresses at which a process listens.
func listening(t *testing.T, pid int) (addresses []string) {
	t.Helper()
	mine := sockets(t, pid)
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	if err != nil {
		t.Fatal(err)
	}
	const listens = "0A"
	for line := range strings.Lines(string(table)) {
		field := strings.Fields(line)
		if len(field) < 10 || field[3] != listens || !slices.Contains(mine, field[9]) {
			continue
		}
		port, err := strconv.ParseUint(field[1][strings.Index(field[1], ":")+1:], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return addresses
}

// sockets are the inodes of the sockets of a process.
func sockets(t *testing.T, pid int) (inodes []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}
