package controlsocket

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/display"
)

// Timeout is how long one request may take, from the connect to the answer.
const Timeout = 5 * time.Second

// The bounds on the data that a peer sends.
const (
	maxHeard   = 4 << 20 // bytes that are read until the answer comes
	maxRefusal = 1 << 10
	maxWord    = 64
)

// Client talks to the session at an address. Each call is one connection, one
// request and one answer. The error is a *NotSentError, an *UnansweredError or
// a *RefusedError.
type Client struct {
	Path string
	// Timeout bounds a call; zero is the constant Timeout.
	Timeout time.Duration
}

// Send gives the session a message. A second call gives it once more.
func (c Client) Send(ctx context.Context, m Message) (dispatch.Delivery, error) {
	data, err := c.callSession(ctx, request{
		Type: sendCommand, Message: m.Text, Mode: cmp.Or(m.Mode, dispatch.FollowUp), Sender: m.Sender, WantsReply: m.WantsReply,
	})
	if err != nil {
		return "", err
	}
	// An answer without readable data is an acknowledgement all the same.
	var said sendData
	_ = json.Unmarshal(data, &said)
	return dispatch.Delivery(display.Clip(string(said.DeliveredAs), maxWord)), nil
}

type request struct {
	Type       string           `json:"type"`
	ID         string           `json:"id"`
	Message    string           `json:"message,omitempty"`
	Mode       dispatch.Mode    `json:"mode,omitempty"`
	Sender     *dispatch.Sender `json:"sender,omitempty"`
	WantsReply bool             `json:"wants_reply,omitempty"`
}

// callSession makes the request and returns the data of a success.
func (c Client) callSession(ctx context.Context, r request) (json.RawMessage, error) {
	r.ID = rand.Text()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, &NotSentError{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, Timeout))
	defer cancel()
	conn, err := c.dialSocket(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if n, err := conn.Write(append(line, '\n')); err != nil && n == 0 {
		err = cmp.Or(ctx.Err(), err)
		return nil, &NotSentError{Code: errorName(err), Err: err}
	} else if err != nil {
		return nil, &UnansweredError{cmp.Or(ctx.Err(), err)}
	}
	answer, err := awaitAnswer(conn, r)
	switch {
	case errors.Is(err, unix.ECONNRESET):
		// The kernel reports ECONNRESET for a peer that closed and left bytes of ours unread, even
		// if these are only the end of the line.
		return nil, &NotSentError{Code: errorName(err), Err: fmt.Errorf("the peer closed the connection without reading it: %w", err)}
	case err != nil:
		return nil, &UnansweredError{cmp.Or(ctx.Err(), err)}
	case !*answer.Success:
		return nil, &RefusedError{answer.refusal()}
	}
	return answer.Data, nil
}

// dialSocket connects to a plain socket and to nothing else.
func (c Client) dialSocket(ctx context.Context) (net.Conn, error) {
	switch in := Inspect(c.Path); in.State {
	case Absent:
		return nil, &NotSentError{Code: "ENOENT", Err: errors.New("there is no socket")}
	case AddressConflict:
		return nil, &NotSentError{Conflict: in.Conflict, Err: fmt.Errorf("the address is a %s", in.Conflict)}
	case Unreadable:
		return nil, &NotSentError{Code: in.Code, Err: fmt.Errorf("cannot read the address: %s", in.Code)}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Path)
	if err != nil {
		return nil, &NotSentError{Code: errorName(err), Err: err}
	}
	return conn, nil
}

// awaitAnswer reads until the answer to the request comes. It skips everything else: blank lines, lines
// that do not parse, events, other answers.
func awaitAnswer(conn io.Reader, r request) (response, error) {
	heard := &io.LimitedReader{R: conn, N: maxHeard}
	lines := bufio.NewScanner(heard)
	lines.Buffer(nil, maxHeard+1)
	for lines.Scan() {
		if a, ok := matchAnswer(lines.Bytes(), r); ok {
			return a, nil
		}
	}
	switch {
	case lines.Err() != nil:
		return response{}, lines.Err()
	case heard.N == 0:
		return response{}, fmt.Errorf("no answer in %d bytes", maxHeard)
	}
	return response{}, errors.New("the peer closed before it answered")
}

// response is an answer as a client reads it.
type response struct {
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Success *bool           `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   json.RawMessage `json:"error"`
	ID      json.RawMessage `json:"id"`
}

// matchAnswer reports whether the line answers the request. Peers need not echo the id. A line with an id
// that is not ours answers another request.
func matchAnswer(line []byte, r request) (a response, ok bool) {
	if json.Unmarshal(line, &a) != nil || a.Type != responseType || a.Command != r.Type || a.Success == nil {
		return response{}, false
	}
	id, isText := decodeText(a.ID)
	absent := a.ID == nil || bytes.Equal(a.ID, []byte("null"))
	return a, absent || isText && id == r.ID
}

// refusal returns the peer's error on one line.
func (a response) refusal() string {
	said, ok := decodeText(a.Error)
	if !ok {
		said = string(a.Error)
	}
	return cmp.Or(display.Clip(strings.Join(strings.Fields(said), " "), maxRefusal), "the peer gives no reason")
}

// decodeText decodes a string; ok is false for every other value.
func decodeText(raw json.RawMessage) (s string, ok bool) {
	ok = bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &s) == nil
	return s, ok
}
