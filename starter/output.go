package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// output is the standard output of a command. It keeps the first error of a write: what prints line by line does not
// look at each, and the command says at its end that its output is cut off.
type output struct {
	io.Writer

	mu    sync.Mutex
	first error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil {
		o.first = err
	}
	return n, err
}

// unwritten returns the error of an output that is cut off. A reader that has gone, such as head, wanted no more of it:
// that is no error.
func (o *output) unwritten() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == nil || errors.Is(o.first, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("the output is cut off: %w", o.first)
}
