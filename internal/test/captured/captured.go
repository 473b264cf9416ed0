// Package captured keeps the output of screens and programs, for tests that read it while it is written.
package captured

import (
	"bytes"
	"context"
	"sync"
)

// Output is a writer whose text can be read, and waited for, at any time. The zero Output is empty.
type Output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed by the next write; nil: no reader waits
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written != nil {
		close(o.written)
		o.written = nil
	}
	return o.text.Write(p)
}

// String returns the text so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Await returns the first text of which the condition holds: it looks at once, and after each write. ok is false if
// ctx ends before.
func (o *Output) Await(ctx context.Context, holds func(text string) bool) (text string, ok bool) {
	for {
		text, written := o.look()
		if holds(text) {
			return text, true
		}
		select {
		case <-ctx.Done():
			return text, false
		case <-written:
		}
	}
}

// look returns the text so far, and a channel that the next write closes.
func (o *Output) look() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written == nil {
		o.written = make(chan struct{})
	}
	return o.text.String(), o.written
}
