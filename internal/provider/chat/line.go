package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	maxRefusal = 64 << 10  // bytes that are read of an error
	maxStream  = 128 << 20 // bytes of a stream, text or not

	eventStream = "text/event-stream"
)

var (
	errFlood    = errors.New("the model does not stop")
	errIdle     = errors.New("the stream fell silent")
	errLate     = errors.New("the time limit is reached")
	errNoStream = errors.New("the API does not answer with a stream of events")
)

// Line carries one request: it bounds the answer, and ends it when it
// falls silent.
type Line struct {
	out  *output
	idle time.Duration
	cut  context.CancelCauseFunc

	silence *time.Timer // runs from the first byte of a stream on
	rest    *time.Timer // runs from the end of the message on
	media   string      // the media type of the stream
}

// Hear receives the next piece of the model's text.
func (l *Line) Hear(text string) {
	if text != "" {
		io.WriteString(l.out.in, text)
	}
}

// maxRest is the longest wait for what follows the end of a message: its usage, and the end of the stream.
const maxRest = 5 * time.Second

// Finish says that the message has ended. A server that keeps the connection open after it is not waited for.
func (l *Line) Finish() {
	if l.rest == nil {
		l.rest = time.AfterFunc(min(maxRest, l.idle), func() { l.cut(errIdle) })
	}
}

// receive takes the answer to the request. Every answer except a success is a *StatusError.
func (l *Line) receive(resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status alone says enough
		return &StatusError{Status: resp.StatusCode, Header: resp.Header, Body: body}
	}
	l.media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &stream{resp.Body, l, maxStream}
	return nil
}

func (l *Line) stopTimer() {
	for _, t := range []*time.Timer{l.silence, l.rest} {
		if t != nil {
			t.Stop()
		}
	}
}

// explainError returns the reason why the line was cut or the stream was empty, in place of the error that
// followed from it.
func (l *Line) explainError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch _, refused := errors.AsType[*StatusError](err); {
	case errors.Is(cause, errFlood): // even when the message ended just then
		return errFlood
	case err == nil || refused:
		return err
	case errors.Is(cause, errIdle):
		return errIdle
	case errors.Is(cause, context.DeadlineExceeded):
		return errLate
	case errors.Is(err, ErrUnfinished) && l.media != eventStream:
		return fmt.Errorf("%w: %q", errNoStream, l.media)
	}
	return err
}

// stream is a body that reports each read to its line.
type stream struct {
	io.ReadCloser
	line *Line
	left int64
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		s.line.noteBytes()
	}
	if s.left -= int64(n); s.left < 0 {
		s.line.cut(errFlood)
		return n, errFlood
	}
	return n, err
}

// noteBytes restarts the timer of silence.
func (l *Line) noteBytes() {
	if l.silence == nil {
		l.silence = time.AfterFunc(l.idle, func() { l.cut(errIdle) })
		return
	}
	l.silence.Reset(l.idle)
}
