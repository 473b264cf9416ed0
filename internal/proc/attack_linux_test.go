package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

var somePath = []string{"PATH=/usr/bin:/bin"}

// Finding B4. The line is that of a report, without the nonce that nobody else knows; the exit code says what became of it.
func TestProgramCannotWriteItsReport(t *testing.T) {
	if !nobody.Runs(t) {
		return
	}
	const forge = `printf 'errno=0 status=0 left=0 told=false nonce=\n' > /proc/$PPID/fd/4; exit 1`
	var out bytes.Buffer
	got, err := proc.Run(t.Context(), proc.Command{Argv: sh(forge), Env: somePath, Stdout: &out, Stderr: &out})
	if want := (proc.Result{ExitCode: 1, End: proc.Exited}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if !strings.Contains(out.String(), "ermission denied") {
		t.Errorf("it could open its supervisor's report: %s", out.String())
	}

	// The control: from a parent that is open to others the same script gets its line through.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	parent := exec.Command("/bin/sh", "-c", `sh -c "$SCRIPT"; :`)
	parent.Env = append([]string{"SCRIPT=" + forge}, somePath...)
	parent.ExtraFiles = []*os.File{write, write} // 3 and 4
	if err := parent.Run(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if line, _ := io.ReadAll(read); !strings.HasPrefix(string(line), "errno=0 status=0") {
		t.Errorf("the script does not do what it should: %q", line)
	}
}

// peek reads what a process has of its own; each word that it prints is a success.
const peek = `for f in environ mem maps; do (: </proc/$P/$f) 2>/dev/null && echo $f; done
ls /proc/$P/fd >/dev/null 2>&1 && echo fd; readlink /proc/$P/cwd >/dev/null && echo cwd; :`

// Finding B11.
func TestProgramSeesNothingOfItsSupervisorAndOfUs(t *testing.T) {
	if !nobody.Runs(t) {
		return
	}
	look := func(who string) string {
		var out bytes.Buffer
		if _, err := proc.Run(t.Context(), proc.Command{Argv: sh("P=" + who + "; " + peek), Env: somePath, Stdout: &out}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := look("$PPID"); got != "" {
		t.Errorf("of its supervisor it sees %s", got)
	}
	us := fmt.Sprint(os.Getpid())
	if got := look(us); got != "environ mem maps fd cwd" { // the control
		t.Errorf("of a process that is open to others it sees %q", got)
	}
	if err := dumpable.Off(); err != nil {
		t.Fatal(err)
	}
	if got := look(us); got != "" {
		t.Errorf("of us it sees %s", got)
	}
}

// What follows from /proc must still work in a process that is closed to others and that is not root.
func TestProgramsRunFromAClosedProcess(t *testing.T) {
	if !nobody.Runs(t) {
		return
	}
	if err := dumpable.Off(); err != nil {
		t.Fatal(err)
	}
	mark := newMark(t)
	got, err := proc.Run(t.Context(), proc.Command{Argv: self("play-family", mark, "exits"), Stdout: io.Discard})
	if want := (proc.Result{End: proc.Exited}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	wantNone(t, mark)
	for _, link := range []string{"/proc/self/exe", "/proc/self/ns/pid", "/proc/self/cwd"} {
		if _, err := os.Readlink(link); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Executable(); err != nil {
		t.Error(err)
	}
}

// What a program does to its supervisor is no end of its own.
func TestProgramThatEndsItsSupervisorIsLost(t *testing.T) {
	for _, name := range []string{"KILL", "TERM", "INT", "HUP", "QUIT", "ABRT", "SEGV"} {
		if signal.Ignored(unix.SignalNum("SIG" + name)) {
			t.Logf("SIG%s is ignored here, as below nohup, and so by every supervisor", name)
			continue
		}
		mark := newMark(t)
		script := fmt.Sprintf("sleep 300 & kill -%s $PPID; sleep 300; : %s", name, mark)
		got, err := proc.Run(t.Context(), proc.Command{Argv: sh(script), Env: somePath})
		if !errors.Is(err, proc.ErrLost) {
			t.Errorf("SIG%s: got %+v, %v", name, got, err)
		}
		wantNone(t, mark)
	}
}

// Finding B3: a daemon that outlives its supervisor decides in a person's place. This one leaves the session, and its
// environment, before it kills.
func TestDaemonDoesNotOutliveItsSupervisor(t *testing.T) {
	mark := newMark(t)
	daemon := fmt.Sprintf("setsid sh -c 'setsid env -i /bin/sh -c \"sleep 300; : %s\" &' && kill -KILL $PPID; sleep 300", mark)
	_, err := proc.Run(t.Context(), proc.Command{Argv: sh(daemon), Env: somePath, Stdout: io.Discard})
	if !errors.Is(err, proc.ErrLost) {
		t.Errorf("got %v", err)
	}
	wantNone(t, mark)
}

// Others of ours go on when an orphan is looked for.
func TestALostSupervisorTakesNoOtherAlong(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	up, ended := make(chan struct{}), make(chan proc.Result)
	go func() {
		got, err := proc.Run(ctx, proc.Command{Argv: self("play-polite"), Stdout: after("polite", func() { close(up) }), Grace: time.Minute})
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	<-up
	if _, err := proc.Run(t.Context(), proc.Command{Argv: sh("kill -KILL $PPID; sleep 300"), Env: somePath}); !errors.Is(err, proc.ErrLost) {
		t.Errorf("got %v", err)
	}
	cancel()
	if got, want := <-ended, (proc.Result{ExitCode: 7, End: proc.Canceled}); got != want {
		t.Errorf("the other: %+v; want %+v", got, want)
	}
}

func TestProgramThatStopsItsSupervisorEndsAtTheDeadline(t *testing.T) {
	mark := newMark(t)
	ctx := &manualDeadline{Context: t.Context(), done: make(chan struct{})}
	script := fmt.Sprintf("setsid sh -c 'sleep 300; : %s' & kill -STOP $PPID; echo stopped; sleep 300", mark)
	got, err := proc.Run(ctx, proc.Command{Argv: sh(script), Env: somePath, Stdout: after("stopped", ctx.pass), Grace: 10 * time.Millisecond})
	if err != nil || got.End != proc.Deadline {
		t.Errorf("got %+v, %v", got, err)
	}
	wantNone(t, mark)
}

// What whoever started us had open is not the program's either.
func TestProgramGetsNoDescriptorThatWeInherited(t *testing.T) {
	inherited, err := syscall.Open("/proc/self/stat", syscall.O_RDONLY, 0) // not closed at exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	const list = `for f in /proc/self/fd/*; do [ -e $f ] && printf '%s ' ${f##*/}; done`
	var out bytes.Buffer
	if _, err := proc.Run(t.Context(), proc.Command{Argv: sh(list), Env: somePath, Stdout: &out, Stderr: &out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "0 1 2 " {
		t.Errorf("descriptors %s", out.String())
	}
	control := exec.Command("/bin/sh", "-c", list)
	if b, err := control.Output(); err != nil || !strings.Contains(string(b), fmt.Sprintf(" %d ", inherited)) {
		t.Errorf("a plain child does not have %d: %s, %v", inherited, b, err)
	}
}

func TestDescentFromASupervisor(t *testing.T) {
	for name, argv := range map[string][]string{
		"a child":                self("play-descent"),
		"a grandchild":           sh(self("play-descent")[0] + " play-descent; :"),
		"one in its own session": sh("setsid -w env -i " + self("play-descent")[0] + " play-descent; :"),
	} {
		var out bytes.Buffer
		if _, err := proc.Run(t.Context(), proc.Command{Argv: argv, Env: somePath, Stdout: &out}); err != nil || out.String() != "true false" {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}
