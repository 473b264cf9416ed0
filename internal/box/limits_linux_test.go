package box_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

func init() {
	plays["play-memory"] = playMemory
	plays["play-forks"] = playForks
	plays["play-storm"] = func() {
		for {
			playForks()
		}
	}
}

// playMemory takes memory until something ends it.
func playMemory() {
	var all [][]byte
	for {
		page := make([]byte, 1<<20)
		for i := range page {
			page[i] = byte(i) + 1
		}
		all = append(all, page)
		if len(all) > 4<<10 {
			fmt.Println("no limit")
			return
		}
	}
}

// playForks starts processes until none can be started.
func playForks() {
	for i := range 4 << 10 {
		if err := exec.Command("/bin/sleep", "300").Start(); err != nil {
			fmt.Println("stopped after", i)
			return
		}
	}
	fmt.Println("no limit")
}

// needGroups skips a test where there are no control groups to be had.
func needGroups(t testing.TB, b *box.Box) {
	t.Helper()
	if text := b.Limits(); strings.Contains(text, "no limits on memory") {
		t.Skip(text)
	}
}

// openSmallBox opens a box with small limits.
func openSmallBox(t testing.TB) *box.Box {
	return openBox(t).WithLimits(64<<20, 64, 4<<20)
}

func TestLimitIsToldByItsCause(t *testing.T) {
	b := openSmallBox(t)
	needGroups(t, b)
	bomb := func(name string) string { return "'" + self(t) + "' play-" + name }
	for name, test := range map[string]struct {
		script, cause string
		code          int
		signal        string
	}{
		"memory":                             {"exec " + bomb("memory"), "memory limit 64 MiB", -1, "SIGKILL"},
		"memory, and the shell exits with 0": {bomb("memory") + "; exit 0", "memory limit 64 MiB", 0, ""},
		"memory in /tmp":                     {"dd if=/dev/zero of=/tmp/a bs=64k count=64; dd if=/dev/zero of=/dev/shm/a bs=64k count=64; exec " + bomb("memory"), "memory limit 64 MiB", -1, "SIGKILL"},
		"processes":                          {bomb("forks"), "process limit 64", 0, ""},
		"none":                               {"exit 0", "", 0, ""},
		"none, and it fails":                 {"exit 9", "", 9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			began := time.Now()
			out, r := inBox(t, b, box.Spec{Tree: tree, Read: []string{self(t)}}, test.script)
			t.Logf("%s: %+v %s", time.Since(began), r, out)
			if r.Cause != test.cause || r.ExitCode != test.code || r.Signal != test.signal || strings.Contains(out, "no limit") {
				t.Errorf("got %+v\n%s", r, out)
			}
		})
	}
	wantNoGroups(t)
}

// wantNoGroups looks for control groups that this process left.
func wantNoGroups(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/*/", "/sys/fs/cgroup/*/*/", "/sys/fs/cgroup/*/*/*/", "/sys/fs/cgroup/"} {
		if left, _ := filepath.Glob(fmt.Sprintf("%sratchet-%d-*", pattern, os.Getpid())); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// A bomb ends by the limit, or at the deadline: that depends on what it does when it can do no more.
func TestBombEnds(t *testing.T) {
	b := openSmallBox(t)
	needGroups(t, b)
	for script, cause := range map[string]string{
		"exec '" + self(t) + "' play-storm":                 "process limit 64",
		"while :; do '" + self(t) + "' play-memory; done":   "memory limit 64 MiB",
		"while :; do sleep 300 & done; while :; do :; done": "process limit 64",
	} {
		var r proc.Result
		var err error
		for limit := 2 * time.Second; r.Cause == "" && err == nil && limit < time.Minute; limit *= 2 { // it begins slowly on a busy machine
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			r, err = proc.Run(ctx, shell(b, box.Spec{Tree: t.TempDir(), Read: []string{self(t)}}, script, io.Discard))
			cancel()
			t.Logf("within %s: %+v, %v", limit, r, err)
		}
		if err != nil || r.Left != 0 || r.Cause != cause {
			t.Errorf("%s: got %+v, %v", script, r, err)
		}
	}
	wantNoGroups(t)
}

func TestFilesAreBounded(t *testing.T) {
	b := openSmallBox(t)
	tree := t.TempDir()
	out, _ := inBox(t, b, box.Spec{Tree: tree}, `
for f in /tmp/a /dev/shm/a; do dd if=/dev/zero of=$f bs=1M count=16 2>/dev/null; stat -c %s $f; rm $f; done
for f in /tmp/a /tmp/b /tmp/c; do dd if=/dev/zero of=$f bs=1M count=2 2>/dev/null; done; cat /tmp/a /tmp/b /tmp/c | wc -c
dd if=/dev/zero of=big bs=1M count=16 2>/dev/null; stat -c %s big
truncate -s 100G sparse 2>/dev/null; echo sparse $?`)
	if want := strings.Repeat("4194304\n", 4); !strings.HasPrefix(out, want) || !strings.Contains(out, "sparse ") || strings.Contains(out, "sparse 0") {
		t.Errorf("got %q", out)
	}
}

// Nothing runs without the group that it should be in. Package proc has the one that cannot be entered.
func TestGroupThatCannotBeHad(t *testing.T) {
	b := openSmallBox(t)
	needGroups(t, b)
	tree := t.TempDir()
	for name, other := range map[string]*box.Box{
		"that cannot be made": b.WithGroups("/no/such/group", "/no/such/group"),
		"that is no group":    b.WithGroups(t.TempDir(), t.TempDir()),
	} {
		_, err := proc.Run(t.Context(), shell(other, box.Spec{Tree: tree}, "touch ran", io.Discard))
		if _, ok := errors.AsType[*proc.BoxError](err); !ok || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(err)
		if _, err := os.Stat(filepath.Join(tree, "ran")); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}
