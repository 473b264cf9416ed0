package engine

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// inherited holds the names of the environment variables that the engine gets. None of them could
// hold a secret or change the server.
var inherited = [...]string{"TMPDIR", "TZ", "LANG", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK"}

// child is a running program that ends when its standard input does.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout firstLine

	report chan struct{} // closed when the first line is complete
	done   chan struct{} // closed when the program has ended and its output has been read
}

// startGroup runs the program in a process group of its own. A Ctrl-C on the terminal reaches this
// process alone, which decides when the engine ends.
func startGroup(stderr *os.File, env []string, program string, args ...string) (*child, error) {
	c := &child{report: make(chan struct{}), done: make(chan struct{})}
	c.stdout.complete = sync.OnceFunc(func() { close(c.report) })
	c.cmd = exec.Command(program, args...)
	c.cmd.Env = append(environment(), env...)
	c.cmd.Stdout = &c.stdout
	c.cmd.Stderr = stderr
	return c, c.start()
}

// start runs the command with a pipe as its standard input.
func (c *child) start() error {
	c.cmd.SysProcAttr = attributes()
	c.cmd.WaitDelay = time.Second
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	c.stdin = stdin
	started := make(chan error)
	go c.live(started)
	return <-started
}

// live keeps its thread until the program has ended. Linux takes the end of the thread that started
// a child for the death of the parent.
func (c *child) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	err := c.cmd.Start()
	started <- err
	if err == nil {
		_ = c.cmd.Wait()
	}
}

// userless returns the variables that a library of the server reads when the password file does not
// know the user, as in a container with an arbitrary user id. They must not be empty.
func userless(home string) []string {
	return []string{"USER=" + cmp.Or(os.Getenv("USER"), strconv.Itoa(os.Getuid())), "HOME=" + cmp.Or(os.Getenv("HOME"), home)}
}

func environment() []string {
	env := []string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (c *child) kill() { _ = c.cmd.Process.Kill() }

// line returns the first line of standard output, or the part of it that has arrived.
func (c *child) line() []byte { return c.stdout.bytes() }

// state waits for the end of the program and says how it ended.
func (c *child) state() string {
	<-c.done
	return c.cmd.ProcessState.String()
}

// firstLine keeps the first line written to it, without its end, and drops the rest.
type firstLine struct {
	complete func() // called when the line is complete

	mu   sync.Mutex
	line []byte
	full bool
}

const maxLine = 64 << 10

// Write never fails, because an error would stop a program that writes more.
func (l *firstLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return len(p), nil
	}
	head, _, found := bytes.Cut(p, []byte("\n"))
	l.line = append(l.line, head...)
	if found || len(l.line) > maxLine {
		l.full = true
		l.complete()
	}
	return len(p), nil
}

func (l *firstLine) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}
