package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
)

// frame is one line that the app-server writes: a request, a notification or an
// answer. It has no "jsonrpc" member (CLIENT.md, 3). An id keeps
// the form that it has on the wire: it is a string or a number, and may be 0.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

func (f frame) hasID() bool { return len(f.ID) > 0 && string(f.ID) != "null" }

// object is a JSON object that we write.
type object map[string]any

// rpcError is the answer to a refused request.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func (e *rpcError) says(phrase string) bool { return strings.Contains(e.Message, phrase) }

// The codes that we send or act upon (CLIENT.md, 1 and 5).
const (
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	internalError  = -32603
	overloaded     = -32001
)

// An overloaded server gets the same request again, at most overloadTries times.
// The pause doubles each time.
const (
	overloadTries = 4
	overloadPause = 100 * time.Millisecond
)

// conn is the wire to one app-server.
type conn struct {
	child *child.Child
	out   *child.Outbox

	mu    sync.Mutex
	last  int64
	calls map[string]*pendingCall // that wait for an answer, by their id on the wire
	lost  bool
}

// pendingCall is a request of ours.
type pendingCall struct {
	method string
	params any
	// done gets the answer, once, from the goroutine that reads.
	done func(result json.RawMessage, err error)
	fail int  // how often the server was overloaded
	once bool // the request is not sent again, whatever the server says
}

func newConn(c *child.Child) *conn {
	return &conn{child: c, out: child.NewOutbox(c), calls: map[string]*pendingCall{}}
}

// beginCall sends a request whose answer goes to k.done.
func (w *conn) beginCall(k *pendingCall) error {
	w.mu.Lock()
	if w.lost {
		w.mu.Unlock()
		return agent.ErrGone
	}
	w.last++
	id := w.last
	w.calls[strconv.FormatInt(id, 10)] = k
	w.mu.Unlock()
	return w.sendObject(object{"id": id, "method": k.method, "params": k.params})
}

// callServer sends a request and waits for its answer. Take gets the answer before
// any later frame of the server is handled, and never after callServer has returned.
func (w *conn) callServer(ctx context.Context, method string, params any, take func(result json.RawMessage) error) error {
	answer := make(chan error, 1)
	var taking sync.Mutex
	givenUp := false
	err := w.beginCall(&pendingCall{method: method, params: params, done: func(result json.RawMessage, err error) {
		taking.Lock()
		defer taking.Unlock()
		if givenUp {
			return
		}
		if err == nil {
			err = take(result)
		}
		answer <- err
	}})
	if err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		taking.Lock()
		defer taking.Unlock()
		givenUp = true
		return ctx.Err()
	}
}

func (w *conn) sendObject(v any) error {
	line, err := encodeJSON(v)
	if err == nil {
		w.out.Put(line)
	}
	return err
}

// readFrames passes every frame that is no answer to take, until the last, and returns how the program ended. It skips
// lines that are not frames, as the server itself does.
func (w *conn) readFrames(take func(f frame, line []byte)) (e agent.Exit, unexpected bool) {
	defer w.failCalls()
	return w.child.ReadLines(func(line []byte) {
		var f frame
		switch {
		case json.Unmarshal(line, &f) != nil:
		case f.Method != "":
			take(f, line)
		case f.hasID():
			w.takeAnswer(f)
		}
	})
}

func (w *conn) takeAnswer(f frame) {
	w.mu.Lock()
	k := w.calls[string(f.ID)]
	delete(w.calls, string(f.ID))
	w.mu.Unlock()
	switch {
	case k == nil:
	case f.Error == nil:
		k.done(f.Result, nil)
	case f.Error.Code == overloaded && k.fail < overloadTries && !k.once:
		k.fail++
		time.AfterFunc(overloadPause<<(k.fail-1), func() { w.retryCall(k) })
	default:
		k.done(nil, f.Error)
	}
}

func (w *conn) retryCall(k *pendingCall) {
	if err := w.beginCall(k); err != nil {
		k.done(nil, err)
	}
}

// failCalls answers all waiting calls because the program has ended.
func (w *conn) failCalls() {
	w.mu.Lock()
	calls := w.calls
	w.calls, w.lost = nil, true
	w.mu.Unlock()
	for _, k := range calls {
		k.done(nil, agent.ErrGone)
	}
}

// encodeJSON returns v as JSON without escapes for HTML.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
