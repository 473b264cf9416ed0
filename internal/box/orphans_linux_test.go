package box_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func init() { plays["play-worker"] = playWorker }

// daemons are scripts that leave a process with a mark among its arguments. They are a child, one in
// its own session, and one that has also lost its parents.
var daemons = []string{"%s & sleep 0.01", "setsid %s &", "(setsid sh -c '%s & exit' &) ; true"}

// sleeper is a command that sleeps under a mark and is deaf to SIGTERM.
func sleeper(mark string) string {
	return `sh -c "trap : TERM HUP INT; : ` + mark + `; while :; do sleep 300; done"`
}

// marked returns the processes of the host that have the mark among their arguments.
func marked(mark string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), mark) {
			found = append(found, file)
		}
	}
	return found
}

// A third of the checks ends by itself, a third at its deadline, and a third is canceled.
func TestNothingIsLeftOfAHundredDaemons(t *testing.T) {
	b := openBox(t)
	checks := 18
	if need.Has(need.Nightly) {
		checks = 102
	}
	mark := "mark-" + uuid.NewString()
	todo := make(chan int)
	var at sync.WaitGroup
	for range 4 {
		at.Go(func() {
			for i := range todo {
				leave(t, b, mark, i)
			}
		})
	}
	for i := range checks {
		todo <- i
	}
	close(todo)
	at.Wait()
	eventuallyNone(t, mark)
}

// leave runs one check that leaves a daemon.
func leave(t *testing.T, b *box.Box, mark string, i int) {
	script, ctx, cancel := fmt.Sprintf(daemons[i%len(daemons)], sleeper(mark)), t.Context(), func() {}
	var out io.Writer = io.Discard
	switch i / 3 % 3 {
	case 1:
		ctx, cancel = context.WithCancel(ctx)
		script, out = script+"\necho up; sleep 300", writerFunc(cancel)
	case 2:
		ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
		script += "\nsleep 300"
	}
	defer func() { cancel() }()
	if _, err := proc.Run(ctx, shell(b, box.Spec{Tree: mkdir(t, t.TempDir(), "tree")}, script, out)); err != nil {
		t.Errorf("%s: %v", script, err)
	}
}

// writerFunc is called for each write.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func eventuallyNone(t *testing.T, mark string) {
	t.Helper()
	eventually.Holds(t, "nothing is left", func() bool { return len(marked(mark)) == 0 })
}

// playWorker runs a check with daemons, and is there to be killed.
func playWorker() {
	b, err := box.Open(context.Background(), box.Config{})
	if err != nil {
		panic(err)
	}
	tree, mark := os.Args[2], os.Args[3]
	var script string
	for _, daemon := range daemons {
		script += fmt.Sprintf(daemon, sleeper(mark)) + "\n"
	}
	proc.Run(context.Background(), shell(b, box.Spec{Tree: tree}, script+"echo up; sleep 300", os.Stdout))
}

func TestNothingIsLeftWhenTheWorkerIsKilled(t *testing.T) {
	openBox(t)
	for range 3 {
		mark := "mark-" + uuid.NewString()
		worker := exec.Command(self(t), "play-worker", t.TempDir(), mark)
		out, err := worker.StdoutPipe()
		if err == nil {
			err = worker.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if n := len(marked(mark)); n < 3 { // the control, and the worker itself has the mark
			t.Errorf("%d processes run", n)
		}
		worker.Process.Kill()
		worker.Wait()
		eventuallyNone(t, mark)
	}
}
