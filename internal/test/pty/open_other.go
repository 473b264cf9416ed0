//go:build !linux

package pty

import (
	"errors"
	"fmt"
	"os"
)

// OpenPair returns an error: this system is not Linux.
func OpenPair(int, int) (user, program *os.File, err error) {
	return nil, nil, fmt.Errorf("open a terminal: %w", errors.ErrUnsupported)
}

func resize(*os.File, int, int) error {
	return fmt.Errorf("resize a terminal: %w", errors.ErrUnsupported)
}
