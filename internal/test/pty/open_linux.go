package pty

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPair returns both ends of a new pseudo-terminal. A write to user types at program.
func OpenPair(columns, rows int) (user, program *os.File, err error) {
	user, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open a terminal: %w", err), user.Close())
		}
	}()
	var number int
	err = control(user, func(fd int) (err error) {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := resize(user, columns, rows); err != nil {
		return nil, nil, err
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	return user, program, err
}

func resize(terminal *os.File, columns, rows int) error {
	return control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
	})
}

// control calls do with the file's descriptor. It leaves the descriptor to the poller, which os.File.Fd does not: only
// a read that the poller waits for ends when another goroutine closes the terminal.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(failed, err)
}
