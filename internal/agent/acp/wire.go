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

// maxLine is the longest line that the connection can take, its end included.
const maxLine = 10 << 20

var (
	errLine   = fmt.Errorf("the agent wrote a line of more than %d bytes", maxLine)
	errDeaf   = errors.New("the agent closed its input")
	errSilent = errors.New("the agent closed its output")
)

// peer is who takes what the agent sends, one message at a time and in order.
type peer interface {
	update(params json.RawMessage)
	// ask takes a permission request; what it returns waits for the answer.
	ask(params json.RawMessage) func(context.Context) (any, *sdk.RequestError)
	// sent hears of each request and notification that was written.
	sent(method string)
}

// wire is the connection to an agent. The connection of the protocol's library
// handles requests beside the notifications before them; wire hands it the next
// message only when peer has taken the one before, so that a permission request
// comes after what led to it.
type wire struct {
	conn  *sdk.Connection
	child *child.Child
	peer  peer

	ready   chan struct{} // closed once conn is set up
	taken   chan struct{} // has one for each message that peer took
	pending bool          // peer has still to take the last message
	rest    []byte        // of the line that is being read

	once   sync.Once
	failed chan struct{} // closed when the connection is of no more use
	cause  error         // why, to be read after that
}

func connect(c *child.Child, p peer) *wire {
	w := &wire{
		child: c, peer: p,
		ready: make(chan struct{}), taken: make(chan struct{}, 1), failed: make(chan struct{}),
	}
	w.conn = sdk.NewConnection(w.handle, w, w)
	w.conn.SetLogger(slog.New(slog.DiscardHandler)) // of frames, which may hold secrets
	close(w.ready)
	return w
}

// handle answers what the agent calls. Files and terminals are not offered, and
// refused (docs/contracts/acp.md, 2.3).
func (w *wire) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.ClientMethodSessionUpdate:
		w.peer.update(params)
		w.taken <- struct{}{}
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		wait := w.peer.ask(params)
		w.taken <- struct{}{}
		return wait(ctx)
	}
	return nil, sdk.NewMethodNotFound(method)
}

// Read gives the connection what the agent writes, at most one line at a time.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		if err := w.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wire) next() error {
	<-w.ready
	if w.pending {
		<-w.taken
	}
	for {
		line, err := w.child.ReadLine()
		if errors.Is(err, child.ErrLine) || len(line) >= maxLine {
			w.fail(errLine)
			return errLine
		}
		if err != nil {
			return io.EOF
		}
		m := envelopeOf(line)
		ask := m.Method == sdk.ClientMethodSessionRequestPermission
		if ask && m.ID == nil {
			continue // nobody waits for an answer
		}
		w.pending = ask || m.Method == sdk.ClientMethodSessionUpdate
		w.rest = append(line, '\n')
		return nil
	}
}

// Write sends what the connection says, a message at a time.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.child.Stdin().Write(p)
	if err != nil {
		w.fail(errDeaf)
		return n, err
	}
	if m := envelopeOf(p); m.Method != "" {
		w.peer.sent(m.Method)
	}
	return n, nil
}

// envelope has the members that the connection's own has: what it cannot read,
// we must not wait for.
type envelope struct {
	ID     *json.RawMessage  `json:"id"`
	Method string            `json:"method"`
	Params json.RawMessage   `json:"params"`
	Result json.RawMessage   `json:"result"`
	Error  *sdk.RequestError `json:"error"`
	JSON   string            `json:"jsonrpc"`
}

// envelopeOf is empty where the line is none.
func envelopeOf(line []byte) envelope {
	var m envelope
	if json.Unmarshal(line, &m) != nil {
		return envelope{}
	}
	return m
}

// fail gives the connection up.
func (w *wire) fail(cause error) {
	w.once.Do(func() {
		w.cause = cause
		close(w.failed)
	})
}

// over says whether the connection is of no more use.
func (w *wire) over() bool {
	select {
	case <-w.failed:
		return true
	case <-w.conn.Done():
		return true
	default:
		return false
	}
}

// why is what ended the connection; nil when the agent's output did.
func (w *wire) why() error {
	select {
	case <-w.failed:
		return w.cause
	default:
		return nil
	}
}

// errOver is the error of a call that the connection did not outlast.
var errOver = errors.New("the connection to the agent has ended")

// call makes a request. The error is the agent's, a *sdk.RequestError, or
// errOver, or ctx.Err().
func call[T any](ctx context.Context, w *wire, method string, params any) (T, error) {
	var answer T
	raw, err := sdk.SendRequest[json.RawMessage](w.conn, ctx, method, params)
	switch {
	case err == nil:
		read(raw, &answer)
		return answer, nil
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case w.over():
		return answer, errOver
	}
	return answer, err
}

// read reads what it can of a value: a member of another type than expected is
// left out. It says whether there was a value.
func read(raw json.RawMessage, to any) bool {
	err := json.Unmarshal(raw, to)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}
