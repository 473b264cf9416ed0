package supervisor

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"
)

const (
	prSetChildSubreaper = 36 // prctl(2)

	sysCloseRange     = 436 // close_range(2), the same number on every architecture
	closeRangeCloexec = 4
	lastFD            = 1<<32 - 1
)

// KillLimit is the time that a supervisor keeps killing before it reports the processes that are
// left.
const KillLimit = 5 * time.Second

func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		syscall.Exit(supervise(os.Args[1:])) // os.Exit would wait a second under the race detector
	}
}

// supervise runs the program and its descendants until all have ended, and returns the exit code.
func supervise(args []string) int {
	if len(args) < 3 {
		return codeUnready
	}
	graceMS, err := strconv.Atoi(args[0])
	if err != nil {
		return codeUnready
	}
	// The program runs as our user and could write our report.
	if dumpable.Off() != nil || keepDescriptors() != nil {
		return codeUnready
	}
	control, report := os.NewFile(ControlFD, "control"), os.NewFile(ReportFD, "report")
	order, err := ReadOrder(control)
	if err != nil {
		return Unbegun
	}

	// The program is killed when the thread that started it ends, and this one ends last.
	runtime.LockOSThread()
	r := run(args[1], args[2:], order, time.Duration(graceMS)*time.Millisecond, control)
	io.WriteString(report, r.Line(order.Nonce)) // the reader may be gone
	return r.ExitCode()
}

// keepDescriptors hides all descriptors but the three standard ones from the program: our own, and
// those that our starter had open for its own programs.
func keepDescriptors() error {
	if _, _, errno := syscall.RawSyscall(sysCloseRange, ControlFD, lastFD, closeRangeCloexec); errno != 0 {
		return keepListed() // before Linux 5.11, and where a filter forbids it
	}
	return nil
}

// keepListed does the same as keepDescriptors for each descriptor that /proc lists as open.
func keepListed() error {
	names, err := list("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= ControlFD {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

func list(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func run(path string, argv []string, order Order, grace time.Duration, control io.Reader) Report {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return Report{Errno: int(errno)}
	}
	program, err := order.start(path, argv)
	if err != nil {
		return Report{Errno: errnoOf(err)}
	}
	// The program starts while the runtime makes its threads for signals. A program that has ended already is
	// found by await, which reaps before it waits.
	t := tree{program: program, died: make(chan os.Signal, 1)}
	signal.Notify(t.died, syscall.SIGCHLD)
	stopped := t.await(stopSignal(control))
	if stopped {
		t.terminate(grace)
	}
	left := t.kill(KillLimit)
	return Report{Status: int(t.status), Left: left, Stopped: stopped}
}

// stopSignal returns a channel that is closed when the control descriptor ends or on a signal. The
// descriptor ends when our starter closes it or dies.
func stopSignal(control io.Reader) <-chan struct{} {
	stop := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, control)
		close(ended)
	}()
	go func() {
		select {
		case <-ended:
		case <-signals:
		}
		close(stop)
	}()
	return stop
}

func errnoOf(err error) int {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return int(errno)
	}
	return int(syscall.EINVAL) // a NUL in an argument
}
