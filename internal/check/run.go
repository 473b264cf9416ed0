package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// What is kept of one command's output, and its deadline where a Spec has none (docs/contracts/run.md, 16).
const (
	HeadBytes      = 8 << 10
	TailBytes      = 24 << 10
	DefaultTimeout = 180 * time.Second
)

// progressEvery is the time between two calls of progress for one command.
const progressEvery = time.Second

// Spec is what to run, where, and with what environment.
type Spec struct {
	Commands []string // each for /bin/sh -c, run one after another
	Dir      string   // the workspace
	// Home is a directory of the run's own, outside the workspace: the commands' HOME, with TMPDIR under it. It is made when
	// it is missing, and stays.
	Home  string
	Cache string   // XDG_CACHE_HOME; empty means not set
	RunID string   // proc.RunVariable; empty means not set
	Env   []string // names of our variables that are let through beside PATH and LANG
	// Lookup finds the values of Env; nil means os.LookupEnv.
	Lookup  func(string) (string, bool)
	Timeout time.Duration // of each command; zero means DefaultTimeout
	// Filter stands before everything that is kept of an output, to take secrets out. It is closed after the last byte when it
	// is an io.Closer. Nil keeps the output as it is.
	Filter func(io.Writer) io.Writer
}

// Progress is how far a Run is.
type Progress struct {
	Index, Total int // of the command, from 0
	Command      string
	Bytes        int64 // of output so far
	Elapsed      time.Duration
	Result       *Result // set when the command has ended
}

// Run runs all commands, also after one that failed, and reports each. Commands that fail, hang or cannot run are results;
// an error means that nothing is known: ctx is done (the report holds the commands that had ended), or the directories are
// not there. A second call runs everything again.
//
// progress, when given, is called once a second for the running command and at its end, never twice at a time.
func Run(ctx context.Context, spec Spec, progress func(Progress)) (Report, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
		return Report{}, fmt.Errorf("workspace %s: not a directory", spec.Dir)
	}
	tmp := filepath.Join(spec.Home, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return Report{}, fmt.Errorf("home of the checks: %w", err)
	}
	env := spec.environ(tmp)
	var report Report
	for i, command := range spec.Commands {
		at := Progress{Index: i, Total: len(spec.Commands), Command: command}
		result, err := spec.one(ctx, env, at, progress)
		if err != nil {
			return report, fmt.Errorf("check %q: %w", command, err)
		}
		report.Checks = append(report.Checks, result)
		at.Bytes, at.Elapsed = result.Bytes, time.Duration(result.DurationMs)*time.Millisecond
		at.Result = &result
		progress(at)
	}
	return report, nil
}

func (s Spec) environ(tmp string) []string {
	lookup := s.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	extra := map[string]string{"HOME": s.Home, "TMPDIR": tmp}
	if s.Cache != "" {
		extra["XDG_CACHE_HOME"] = s.Cache
	}
	if s.RunID != "" {
		extra[proc.RunVariable] = s.RunID
	}
	return proc.Environ(lookup, s.Env, extra)
}

// maxLost is how often a command is begun that loses its supervisor each time.
const maxLost = 2

// one runs one command. Of one that lost its supervisor nothing is known, and it may have done that itself: it is begun
// again once, and cannot run then.
func (s Spec) one(ctx context.Context, env []string, at Progress, progress func(Progress)) (Result, error) {
	for n := 1; ; n++ {
		result, err := s.once(ctx, env, at, progress)
		if !errors.Is(err, proc.ErrLost) {
			return result, err
		}
		if n == maxLost {
			result.Status = Error
			result.Reason = fmt.Sprintf("no end of it is known, %d times: %v; a check must leave the process that supervises it alone", n, err)
			return result, nil
		}
	}
}

// once runs it once.
func (s Spec) once(ctx context.Context, env []string, at Progress, progress func(Progress)) (Result, error) {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	kept := proc.NewHeadTail(HeadBytes, TailBytes)
	out := &output{w: kept}
	if s.Filter != nil {
		out.w = s.Filter(kept)
	}
	began := time.Now()
	stop := follow(began, kept, at, progress)
	ended, err := proc.Run(limited, proc.Command{
		Argv:   []string{"/bin/sh", "-c", at.Command},
		Dir:    s.Dir,
		Env:    env,
		Stdout: out,
		Stderr: out,
	})
	stop()
	if closeErr := out.close(); closeErr != nil {
		return Result{}, fmt.Errorf("filter the output: %w", closeErr)
	}
	if ctxErr := ctx.Err(); ctxErr != nil && (err != nil || ended.End != proc.Exited) {
		return Result{}, ctxErr
	}
	result := Result{Command: at.Command, DurationMs: time.Since(began).Milliseconds(), Bytes: kept.Bytes()}
	result.Head, result.Tail, _ = kept.Text()
	return judge(result, ended, err, timeout)
}

// judge decides what the end of a command means. It passes on the errors that say nothing about the command.
func judge(r Result, ended proc.Result, err error, timeout time.Duration) (Result, error) {
	r.ExitCode, r.Status = -1, Fail
	switch {
	case errors.Is(err, proc.ErrNotFound), errors.Is(err, proc.ErrNotExecutable), errors.Is(err, syscall.E2BIG):
		r.Status, r.Reason = Error, err.Error()
	case err != nil:
		return r, err
	case ended.End != proc.Exited:
		r.Status, r.Reason = Timeout, fmt.Sprintf("no end after %s", timeout)
	case ended.Signal != "":
		r.ExitCode, r.Reason = 128+int(unix.SignalNum(ended.Signal)), "ended by "+ended.Signal
	case ended.ExitCode == 0:
		r.ExitCode, r.Status = 0, Pass
	default:
		r.ExitCode = ended.ExitCode
		if reason := cannotRun(r.ExitCode, r.Head+r.Tail); reason != "" {
			r.Status, r.Reason = Error, reason
		}
	}
	return r, nil
}

// follow reports once a second until stop is called, which returns when no call is under way any more.
func follow(began time.Time, kept *proc.HeadTail, at Progress, progress func(Progress)) (stop func()) {
	tick := time.NewTicker(progressEvery)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case now := <-tick.C:
				at.Bytes, at.Elapsed = kept.Bytes(), now.Sub(began)
				progress(at)
			}
		}
	}()
	return func() {
		tick.Stop()
		close(quit)
		<-done
	}
}

// output is one writer for both streams, so that they share a pipe and keep their order, whatever type the filter has.
type output struct{ w io.Writer }

func (o *output) Write(p []byte) (int, error) { return o.w.Write(p) }

func (o *output) close() error {
	if c, ok := o.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
