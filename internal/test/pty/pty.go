// Package pty runs programs at pseudo-terminals, for tests that use a program as a person at a terminal does. It knows nothing of what the programs write.
package pty

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Terminal is the user's end of a pseudo-terminal. Reading it gives what the program shows, and io.EOF
// once all its processes are gone; writing it types.
type Terminal struct{ file *os.File }

// Read implements io.Reader.
func (t *Terminal) Read(p []byte) (int, error) {
	n, err := t.file.Read(p)
	if errors.Is(err, syscall.EIO) { // so the kernel says that no process has the other end
		err = io.EOF
	}
	return n, err
}

// Write implements io.Writer.
func (t *Terminal) Write(p []byte) (int, error) { return t.file.Write(p) }

// Resize changes the size of the terminal, as a person does who pulls at its window.
func (t *Terminal) Resize(columns, rows int) error { return resize(t.file, columns, rows) }

// Close takes the terminal away from its programs, which get a SIGHUP.
func (t *Terminal) Close() error { return t.file.Close() }

// Start starts the command in a session of its own, at a terminal of that size. Its standard input,
// output and error are the terminal. SIGHUP ends it by default, though this process may ignore the signal.
func Start(cmd *exec.Cmd, columns, rows int) (*Terminal, error) {
	user, program, err := OpenPair(columns, rows)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	defer catchHangup()()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, user.Close())
	}
	return &Terminal{user}, nil
}

// catchHangup lets programs that are started before release begin with the default action for SIGHUP. They would inherit
// that it is ignored, as it is under nohup(1). A signal that is caught has the default action after exec(2).
func catchHangup() (release func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	return func() { signal.Stop(hangup) }
}
