// Package git is the only package that starts git. Every call of a [Repo] is hardened. A repository's
// configuration, hooks and attributes start no program. Git sees nothing of the worker's
// environment or of the user's own configuration, except the settings for the form of files that
// [Repo.FileRules] reads. Nothing reaches the network but what package remote does by [Repo.On]. Every call has a deadline
// and bounded output.
//
// A [User] runs git as the user does, for what a person has asked for.
//
// The package needs git 2.32, the first version that can be made to read no global configuration.
package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	timeout   = time.Minute      // of a run, unless its Repo sets another
	maxOutput = 16 << 20         // bytes that Run keeps
	maxStderr = 4 << 10          // bytes of standard error that an error keeps
	drain     = 20 * time.Second // how long the pipes of an ended git may stay open: in its children, or in a process that another thread is starting
)

// Repo states where git runs. Only Dir is needed. The other fields replace the results of git's own
// search from there.
type Repo struct {
	Dir      string        // the working directory of git
	GitDir   string        // the git directory
	WorkTree string        // the top of the work tree; only with GitDir
	Index    string        // the index file; only with GitDir
	Objects  string        // the object directory; only with GitDir
	Keep     *os.File      // when set, a lock that every started git holds open until it has ended
	Timeout  time.Duration // of one run; zero: a minute. The context may end it earlier

	userConfig bool        // git reads the configuration of the user and of the system, too; only to print settings
	overrides  [][2]string // names and values that join settings
	network    *Network    // that git may reach; nil: none
}

// Command is the input and output of one run of git.
type Command struct {
	Args   []string
	Stdin  io.Reader // nil: empty
	Stdout io.Writer // nil: dropped; an error of it ends the call
}

// Run runs git and returns its standard output, at most 16 MiB. The error is an *Error.
func (r Repo) Run(ctx context.Context, args ...string) ([]byte, error) {
	var out bounded
	out.limit = maxOutput
	err := r.Do(ctx, Command{Args: args, Stdout: &out})
	return out.buf.Bytes(), err
}

// Do runs git. The error is an *Error.
func (r Repo) Do(ctx context.Context, c Command) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, timeout))
	defer cancel()
	stderr := &head{limit: maxStderr}
	cmd := r.newCommand(ctx, c.Args)
	cmd.Stdin, cmd.Stderr = c.Stdin, stderr
	var out *sink
	if c.Stdout != nil {
		out = &sink{to: c.Stdout}
		cmd.Stdout = out
	}
	err := cmd.Run()
	if out != nil && out.err != nil { // git died of a broken pipe
		return &Error{Command: c.Args[0], Exit: -1, Err: out.err}
	}
	if err != nil {
		return failedError(ctx, c.Args, stderr.buf.String(), err)
	}
	return nil
}

// sink remembers the error of its writer.
type sink struct {
	to  io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.err = err
	return n, err
}

// newCommand returns a git in a process group of its own: an interrupt typed at the terminal does not
// end it half-way, and its deadline ends its children too. One that reaches a server has a session of its own: ssh and
// credential helpers find no terminal to ask at, and fail.
func (r Repo) newCommand(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: r.network == nil, Setsid: r.network != nil}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drain
	if r.Keep != nil {
		cmd.ExtraFiles = []*os.File{r.Keep}
	}
	return cmd
}

// bounded keeps the bytes written to it and fails past its limit.
type bounded struct {
	buf   bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("more than %d bytes: %w", b.limit, ErrOutput)
	}
	return b.buf.Write(p)
}

// head keeps the first bytes that are written to it and drops the rest.
type head struct {
	buf   bytes.Buffer
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.buf.Write(p[:min(len(p), h.limit-h.buf.Len())])
	return len(p), nil
}
