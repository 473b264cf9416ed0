package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

const (
	// maxLine is the longest line that the connection can take, including its end.
	maxLine = 10 << 20
	// maxUnanswered bounds the requests whose answers the agent has not taken. More permission requests than wait at most
	// are among them only if the agent does not read.
	maxUnanswered = maxWaiting + 28
)

var (
	errLine   = fmt.Errorf("the agent wrote a line of more than %d bytes", maxLine)
	errDeaf   = errors.New("the agent closed its input")
	errSilent = errors.New("the agent closed its output")
)

// peer handles the messages of the agent, one at a time and in order.
type peer interface {
	takeUpdate(params json.RawMessage)
	// takeRequest handles a permission request; the function that it returns waits
	// for the answer.
	takeRequest(params json.RawMessage) func(context.Context) (any, *sdk.RequestError)
	// noteSent is called after each request and notification that was written.
	noteSent(method string)
}

// wire is the connection to an agent. The connection of the protocol's library
// handles requests concurrently with the notifications before them. Wire passes
// the next message on only when peer has handled the one before, so that a
// permission request comes after the updates that led to it.
type wire struct {
	conn  *sdk.Connection
	child *child.Child
	peer  peer

	ready   chan struct{} // closed once conn is set up
	taken   chan struct{} // has one for each message that peer handled
	pending bool          // peer has not handled the last message yet
	rest    []byte        // of the line that is being read

	unanswered chan struct{} // has one for each request that was read and not answered

	once   sync.Once
	failed chan struct{} // closed when the connection can no longer be used
	cause  error         // the reason; may be read after failed is closed
}

func newWire(c *child.Child, p peer) *wire {
	w := &wire{
		child: c, peer: p,
		ready: make(chan struct{}), taken: make(chan struct{}, 1), failed: make(chan struct{}),
		unanswered: make(chan struct{}, maxUnanswered),
	}
	w.conn = sdk.NewConnection(w.handleCall, w, w)
	w.conn.SetLogger(slog.New(slog.DiscardHandler)) // of frames, which may hold secrets
	close(w.ready)
	return w
}

// handleCall answers the requests of the agent. Files and terminals are not
// offered, and refused (CLIENT.md, 2.3).
func (w *wire) handleCall(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.ClientMethodSessionUpdate:
		w.peer.takeUpdate(params)
		w.taken <- struct{}{}
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		wait := w.peer.takeRequest(params)
		w.taken <- struct{}{}
		return wait(ctx)
	}
	return nil, sdk.NewMethodNotFound(method)
}

// Read passes the agent's output to the connection, at most one line at a time.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		if err := w.nextMessage(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wire) nextMessage() error {
	<-w.ready
	if w.pending {
		<-w.taken
	}
	for {
		line, err := w.child.ReadLine()
		if errors.Is(err, child.ErrLine) || len(line) >= maxLine {
			w.failWith(errLine)
			return errLine
		}
		if err != nil {
			return io.EOF
		}
		m := parseEnvelope(line)
		ask := m.Method == sdk.ClientMethodSessionRequestPermission
		if ask && m.ID == nil {
			continue // without an id, no answer is expected
		}
		if m.Method != "" && m.ID != nil && !w.awaitAnswers() {
			return io.EOF
		}
		w.pending = ask || m.Method == sdk.ClientMethodSessionUpdate
		w.rest = append(line, '\n')
		return nil
	}
}

// awaitAnswers waits until the agent has taken enough answers for another request: each that is not written holds its
// request in memory. It returns false if no more can be written.
func (w *wire) awaitAnswers() bool {
	select {
	case w.unanswered <- struct{}{}:
		return true
	case <-w.failed:
	case <-w.child.Done():
	}
	return false
}

// Write sends the messages of the connection, one at a time.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.child.Stdin().Write(p)
	if err != nil {
		w.failWith(errDeaf)
		return n, err
	}
	if m := parseEnvelope(p); m.Method != "" {
		w.peer.noteSent(m.Method)
	} else {
		select {
		case <-w.unanswered:
		default: // an answer to no request
		}
	}
	return n, nil
}

// envelope has the same members as the connection's own type: we must not wait
// for a message that the connection cannot read.
type envelope struct {
	ID     *json.RawMessage  `json:"id"`
	Method string            `json:"method"`
	Params json.RawMessage   `json:"params"`
	Result json.RawMessage   `json:"result"`
	Error  *sdk.RequestError `json:"error"`
	JSON   string            `json:"jsonrpc"`
}

// parseEnvelope returns an empty envelope if the line is not one.
func parseEnvelope(line []byte) envelope {
	var m envelope
	if json.Unmarshal(line, &m) != nil {
		return envelope{}
	}
	return m
}

// failWith gives the connection up.
func (w *wire) failWith(cause error) {
	w.once.Do(func() {
		w.cause = cause
		close(w.failed)
	})
}

// isOver reports whether the connection can no longer be used.
func (w *wire) isOver() bool {
	select {
	case <-w.failed:
		return true
	case <-w.conn.Done():
		return true
	default:
		return false
	}
}

// failureCause returns the error that ended the connection; it is nil if the end
// of the agent's output did.
func (w *wire) failureCause() error {
	select {
	case <-w.failed:
		return w.cause
	default:
		return nil
	}
}

// errOver is the error of a call that was cut off by the end of the connection.
var errOver = errors.New("the connection to the agent has ended")

// callAgent makes a request. The error is the agent's *sdk.RequestError, errOver,
// or ctx.Err().
func callAgent[T any](ctx context.Context, w *wire, method string, params any) (T, error) {
	var answer T
	raw, err := sdk.SendRequest[json.RawMessage](w.conn, ctx, method, params)
	switch {
	case err == nil:
		decodeLenient(raw, &answer)
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case w.isOver():
		return answer, errOver
	}
	return answer, err
}

// decodeLenient decodes a value and leaves out members of an unexpected type. It
// reports whether there was a value.
func decodeLenient(raw json.RawMessage, to any) bool {
	err := json.Unmarshal(raw, to)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}
