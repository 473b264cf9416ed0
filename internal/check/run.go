package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// The bounds of one command's kept output, and its deadline if a Spec has none (docs/contracts/run.md, 16).
const (
	HeadBytes      = 8 << 10
	TailBytes      = 24 << 10
	DefaultTimeout = 180 * time.Second
)

// progressEvery is the time between two calls of progress for one command.
const progressEvery = time.Second

// Spec says which commands to run, in which directory, and with which environment.
type Spec struct {
	Commands []string // each for /bin/sh -c, run one after another
	Dir      string   // the workspace
	// Home is a directory that belongs to the run, outside the workspace: the commands' HOME, with TMPDIR under it. Run
	// creates it if it is missing, and keeps it.
	Home  string
	Cache string   // XDG_CACHE_HOME; empty means not set
	RunID string   // proc.RunVariable; empty means not set
	Env   []string // names of our variables that the commands get in addition to PATH and LANG
	// Set holds further variables. They take precedence over Env.
	Set map[string]string
	// Lookup finds the values of Env; nil means os.LookupEnv.
	Lookup  func(string) (string, bool)
	Timeout time.Duration // of each command; zero means DefaultTimeout
	// Box is the box that each command runs in; nil means that there is none. Inside has what the
	// commands may reach beside Home and Cache. Its tree is Dir where it names none.
	Box    *box.Box
	Inside box.Spec
	// Network leads out of the box; nil means that nothing does.
	Network *egress.Boxes
	// Filter removes secrets from an output before any of it is kept. It is closed after the last byte if it
	// is an io.Closer. Nil keeps the output unchanged.
	Filter func(io.Writer) io.Writer
}

// Progress is the state of a Run.
type Progress struct {
	Index, Total int // of the command, from 0
	Command      string
	Bytes        int64 // of output so far
}

// Run runs all commands, even after one that failed, and reports each. Commands that fail, hang or cannot
// run are results. An error means that the results are unknown: ctx is done (the report holds the commands
// that had ended), or the directories are missing. A second call runs everything again.
//
// If progress is not nil, Run calls it at the start of each command and once a second while it runs, never concurrently.
func Run(ctx context.Context, spec Spec, progress func(Progress)) (Report, error) {
	if progress == nil {
		progress = func(Progress) {}
	}
	if info, err := os.Stat(spec.Dir); err != nil || !info.IsDir() {
		return Report{}, fmt.Errorf("workspace %s: not a directory", spec.Dir)
	}
	tmp := filepath.Join(spec.Home, "tmp")
	made := tmp
	if spec.Box != nil {
		made, tmp = spec.Home, "/tmp" // its own, and bounded
		if err := spec.completeInside(); err != nil {
			return Report{}, err
		}
	}
	if err := os.MkdirAll(made, 0o700); err != nil {
		return Report{}, fmt.Errorf("home of the checks: %w", err)
	}
	if err := writeIdentity(spec.Home); err != nil {
		return Report{}, fmt.Errorf("home of the checks: %w", err)
	}
	env := spec.buildEnviron(tmp)
	var report Report
	for i, command := range spec.Commands {
		at := Progress{Index: i, Total: len(spec.Commands), Command: command}
		result, err := spec.runCommand(ctx, env, at, progress)
		if err != nil {
			return report, fmt.Errorf("check %q: %w", command, err)
		}
		report.Checks = append(report.Checks, result)
	}
	return report, nil
}

// completeInside adds the directories that every command has to what the box shows.
func (s *Spec) completeInside() error {
	s.Inside.Tree = cmp.Or(s.Inside.Tree, s.Dir)
	s.Inside.Write = append(slices.Clip(s.Inside.Write), s.Home)
	s.Inside.Own = append(slices.Clip(s.Inside.Own), s.Home, s.Cache)
	if s.Cache == "" {
		return nil
	}
	if err := os.MkdirAll(s.Cache, 0o700); err != nil {
		return fmt.Errorf("cache of the checks: %w", err)
	}
	if !slices.ContainsFunc(s.Inside.Overlays, func(o box.Overlay) bool { return o.Target == s.Cache }) {
		s.Inside.Write = append(s.Inside.Write, s.Cache)
	}
	return nil
}

// userName is the name of the user of checks, wherever they run.
const userName = "ratchet"

// writeIdentity gives git an identity of last resort: tests commit in repositories of their own. Variables would take
// precedence over the identity that such a test sets.
func writeIdentity(home string) error {
	f, err := os.OpenFile(filepath.Join(home, ".gitconfig"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("[user]\n\tname = Ratchet check\n\temail = check@localhost\n")
	return errors.Join(err, f.Close())
}

// buildEnviron returns the environment of the commands.
func (s Spec) buildEnviron(tmp string) []string {
	lookup := s.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	extra := map[string]string{"CI": "1", "LOGNAME": userName, "TERM": "dumb", "USER": userName}
	for _, name := range s.Env {
		if _, ok := lookup(name); ok {
			delete(extra, name)
		}
	}
	maps.Copy(extra, s.Set)
	extra["HOME"], extra["TMPDIR"] = s.Home, tmp
	if s.Cache != "" {
		extra["XDG_CACHE_HOME"] = s.Cache
	}
	if s.RunID != "" {
		extra[proc.RunVariable] = s.RunID
	}
	return proc.Environ(lookup, s.Env, extra)
}

// maxLost is the number of times a command is started that loses its supervisor each time.
const maxLost = 2

// runCommand runs one command. If the command loses its supervisor, its end is unknown, and it may have
// caused the loss itself: runCommand starts it again once, and then reports that it cannot run.
func (s Spec) runCommand(ctx context.Context, env []string, at Progress, progress func(Progress)) (Result, error) {
	for n := 1; ; n++ {
		result, err := s.runOnce(ctx, env, at, progress)
		if !errors.Is(err, proc.ErrLost) {
			return result, err
		}
		if n == maxLost {
			result.Status = Error
			result.Reason = fmt.Sprintf("it ended without a result, %d times: %v; a check must not touch the process that supervises it", n, err)
			return result, nil
		}
	}
}

// runOnce runs a command once.
func (s Spec) runOnce(ctx context.Context, env []string, at Progress, progress func(Progress)) (Result, error) {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	kept := proc.NewHeadTail(HeadBytes, TailBytes)
	out := &sharedWriter{w: kept}
	if s.Filter != nil {
		out.w = s.Filter(kept)
	}
	began := time.Now()
	stop := reportProgress(kept, at, progress)
	ended, err := proc.Run(limited, proc.Command{
		Argv:   []string{"/bin/sh", "-c", at.Command},
		Dir:    s.Dir,
		Env:    env,
		Stdout: out,
		Stderr: out,
		Box:    s.Network.For(s.Box, s.Inside),
	})
	stop()
	if closeErr := out.closeWriter(); closeErr != nil {
		return Result{}, fmt.Errorf("filter the output: %w", closeErr)
	}
	if ctxErr := ctx.Err(); ctxErr != nil && (err != nil || ended.End != proc.Exited) {
		return Result{}, ctxErr
	}
	result := Result{Command: at.Command, DurationMs: time.Since(began).Milliseconds(), Bytes: kept.Bytes(), Limit: ended.Cause}
	if s.Box != nil {
		result.Sandbox = s.Box.String()
	}
	result.Head, result.Tail, _ = kept.Text()
	result, err = judgeEnd(result, ended, err, timeout)
	if result.Status == Fail && s.Box != nil && noSanitizer.MatchString(result.Head+"\n"+result.Tail) {
		result.Status, result.Reason = Error, "the leak sanitizer cannot work in the sandbox: put ASAN_OPTIONS=detect_leaks=0 before the command"
	}
	if result.Status == Fail && s.Box != nil && s.Network == nil {
		if reason := wantsDownload(result.Head + "\n" + result.Tail); reason != "" {
			result.Status, result.Reason = Error, reason
		}
	}
	return result, err
}

// judgeEnd decides the meaning of a command's end. It returns the errors that say nothing about the
// command.
func judgeEnd(r Result, ended proc.Result, err error, timeout time.Duration) (Result, error) {
	r.ExitCode, r.Status = -1, Fail
	if boxErr, ok := errors.AsType[*proc.BoxError](err); ok {
		r.Status, r.Reason, r.Sandbox = Error, boxErr.Error(), ""
		return r, nil
	}
	switch {
	case errors.Is(err, proc.ErrNotFound), errors.Is(err, proc.ErrNotExecutable), errors.Is(err, syscall.E2BIG):
		r.Status, r.Reason = Error, err.Error()
	case err != nil:
		return r, err
	case ended.End != proc.Exited:
		r.Status, r.Reason = Timeout, fmt.Sprintf("timed out after %s", timeout)
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
	if r.Limit != "" && r.Status != Pass {
		r.Reason = strings.TrimSuffix(r.Limit+" reached; "+r.Reason, "; ")
	}
	return r, nil
}

// reportProgress calls progress at once, and then once a second until stop is called. After stop has returned, progress is
// not called again.
func reportProgress(kept *proc.HeadTail, at Progress, progress func(Progress)) (stop func()) {
	progress(at)
	tick := time.NewTicker(progressEvery)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				at.Bytes = kept.Bytes()
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

// sharedWriter is one writer for both streams, so that they share a pipe and keep their order, whatever
// type the filter has.
type sharedWriter struct{ w io.Writer }

func (o *sharedWriter) Write(p []byte) (int, error) { return o.w.Write(p) }

// closeWriter closes the filter if it is an io.Closer.
func (o *sharedWriter) closeWriter() error {
	if c, ok := o.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
