package proc

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc/supervisor"
)

const (
	// ourselves is the path of our executable, even after the file has been replaced or removed.
	ourselves = "/proc/self/exe"
	// reportDelay is the time in which a report must end. The line is there before the supervisor ends.
	reportDelay = 2 * time.Second
	// maxReport is larger than any report, in bytes.
	maxReport = 512
	// backstop is the time that Run waits for a supervisor beyond its own limit, in case the
	// supervisor is stopped itself.
	backstop = time.Second
)

func run(ctx context.Context, c Command, path string, stdin *os.File, inside *Enclosure) (Result, error) {
	s, err := start(c, path, stdin, inside, kept(ctx))
	if err != nil {
		return Result{}, &StartError{Program: c.Argv[0], Err: err}
	}
	if c.Started != nil {
		c.Started(s.cmd.Process.Pid)
	}
	report, err := s.wait(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	if report.Errno != 0 {
		return Result{}, &StartError{Program: c.Argv[0], Err: whyNot(syscall.Errno(report.Errno))}
	}
	return result(ctx, report), nil
}

// supervised is a program under its supervisor.
type supervised struct {
	cmd     *exec.Cmd
	output  *output
	order   supervisor.Order
	control *os.File // closing it stops the supervisor
	report  *os.File
}

// supervisorEnv is the environment of every supervisor. It mostly waits, and starts fewer threads with one
// processor.
var supervisorEnv = []string{"GOMAXPROCS=1"}

func start(c Command, path string, stdin *os.File, inside *Enclosure, kept []*os.File) (*supervised, error) {
	controlR, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer controlR.Close()
	report, reportW, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer reportW.Close()
	out, err := openOutput(c)
	if err != nil {
		control.Close()
		report.Close()
		return nil, err
	}

	order := supervisor.Order{Nonce: rand.Text(), Env: c.Env}
	files := []*os.File{controlR, reportW} // supervisor.ControlFD, supervisor.ReportFD
	files = append(files, confineOrder(&order, inside)...)
	cmd := &exec.Cmd{
		Path:        ourselves,
		Args:        append([]string{supervisor.Name, strconv.FormatInt(c.Grace.Milliseconds(), 10), path}, c.Argv...),
		Dir:         c.Dir,
		Env:         supervisorEnv,
		Stdout:      out.stdout,
		Stderr:      out.stderr,
		ExtraFiles:  append(files, kept...),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if err := family.start(cmd); err != nil {
		control.Close()
		report.Close()
		out.close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	out.begin()
	return &supervised{cmd: cmd, output: out, order: order, control: control, report: report}, nil
}

// confineOrder adds what the enclosure wants to the order. It returns the descriptors that the supervisor
// needs for it, in the order in which the supervisor expects them.
func confineOrder(order *supervisor.Order, inside *Enclosure) []*os.File {
	if inside == nil {
		return nil
	}
	files := slices.Clone(inside.Files)
	if inside.Group != nil {
		files = append(files, inside.Group)
	}
	for _, pair := range inside.Tasks {
		files = append(files, pair[0], pair[1])
	}
	order.Files, order.Group, order.Tasks = len(inside.Files), inside.Group != nil, len(inside.Tasks)
	order.FileSize = inside.FileSize
	return files
}

// wait returns when the supervisor is gone and the output is written. When the supervisor is lost, wait also
// ends everything that it supervised.
func (s *supervised) wait(ctx context.Context, c Command) (supervisor.Report, error) {
	defer s.report.Close()
	defer s.control.Close()
	go s.control.Write(s.order.Encode()) // a message larger than the pipe waits for the reader

	over := make(chan struct{})
	defer close(over)
	release := context.AfterFunc(ctx, func() {
		s.control.Close()
		s.cmd.Process.Signal(syscall.SIGCONT) // wakes a supervisor that the program has stopped
		select {
		case <-over:
		case <-time.After(c.Grace + supervisor.KillLimit + backstop):
			s.cmd.Process.Kill()
		}
	})
	defer release()

	defer s.output.awaitWriters()
	waitErr := s.cmd.Wait()
	family.forgetReaped(s.cmd)
	if s.cmd.ProcessState == nil {
		return supervisor.Report{}, fmt.Errorf("%w: %w", ErrLost, waitErr)
	}
	report, err := s.verdict(ctx)
	if err != nil {
		family.endLost(s.cmd.Process.Pid)
	}
	return report, err
}

// verdict returns the report of a supervisor that ended as it reported. Any other supervisor is
// lost: a process that can end a supervisor, or write to its report descriptor, must not decide the
// result of the program.
func (s *supervised) verdict(ctx context.Context) (supervisor.Report, error) {
	state := s.cmd.ProcessState
	if !state.Exited() {
		return supervisor.Report{}, fmt.Errorf("%w: %s", ErrLost, state)
	}
	if state.ExitCode() == supervisor.Unbegun && ctx.Err() != nil {
		return supervisor.Report{Status: int(syscall.SIGTERM), Stopped: true}, nil
	}
	s.report.SetReadDeadline(time.Now().Add(reportDelay)) // others may hold the pipe open for ever
	text, err := io.ReadAll(io.LimitReader(s.report, maxReport))
	if err != nil {
		return supervisor.Report{}, fmt.Errorf("%w: its report: %w", ErrLost, err)
	}
	report, err := supervisor.ReadReport(string(text), s.order.Nonce, state.ExitCode())
	switch {
	case err != nil:
		return report, fmt.Errorf("%w: %w", ErrLost, err)
	case report.Stopped && ctx.Err() == nil:
		return report, fmt.Errorf("%w: another process stopped it", ErrLost)
	}
	return report, nil
}

func result(ctx context.Context, report supervisor.Report) Result {
	status := syscall.WaitStatus(report.Status)
	r := Result{ExitCode: status.ExitStatus(), End: Exited, Left: report.Left}
	if status.Signaled() {
		r.Signal = unix.SignalName(status.Signal())
	}
	if report.Stopped {
		r.End = endOf(ctx)
	}
	return r
}

// signalled returns r with the signal that its exit code stands for. A box ends with 128 + n when signal n
// ended the program inside. A program that exits with such a code by itself looks the same.
func signalled(r Result) Result {
	name := unix.SignalName(syscall.Signal(r.ExitCode - 128))
	if r.ExitCode > 128 && name != "" {
		r.ExitCode, r.Signal = -1, name
	}
	return r
}

func whyNot(errno syscall.Errno) error {
	switch errno {
	case syscall.ENOENT:
		return fmt.Errorf("%w: its interpreter is missing", ErrNotExecutable)
	case syscall.EACCES, syscall.ENOEXEC, syscall.ELIBBAD, syscall.ENOTDIR:
		return fmt.Errorf("%w: %w", ErrNotExecutable, errno)
	}
	return errno
}
