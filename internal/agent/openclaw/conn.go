package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
)

const (
	shakeTimeout = 20 * time.Second
	writeTimeout = 10 * time.Second
	silentTicks  = 3 // after which a connection is lost

	// A message to us may be longer than the gateway's limit for our messages.
	leastRead = 32 << 20
	mostRead  = 256 << 20
)

// conn is a connection to a gateway that has accepted us. ServeFrames must run for
// calls to be answered.
type conn struct {
	ws    *websocket.Conn
	at    address
	hello hello

	life context.Context
	end  context.CancelFunc
	done chan struct{} // closed after the last frame

	mu      sync.Mutex
	calls   int
	waiting map[string]chan frame
}

// noRedirect follows no redirect, so that the token stays with the host that it is for.
var noRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// dialGateway connects while ctx lasts. The error is ErrUnavailable if there is no
// gateway, and the gateway's own error if it does not accept us.
func dialGateway(ctx context.Context, at address, d device) (*conn, error) {
	ws, resp, err := websocket.Dial(ctx, at.String(), &websocket.DialOptions{HTTPClient: noRedirect})
	if err != nil {
		return nil, unreachableError(at, resp, err)
	}
	c := &conn{ws: ws, at: at, done: make(chan struct{}), waiting: map[string]chan frame{}}
	c.life, c.end = context.WithCancel(context.Background())
	ws.SetReadLimit(leastRead)
	if err := c.authenticate(ctx, d); err != nil {
		c.end()
		ws.CloseNow()
		return nil, err
	}
	ws.SetReadLimit(min(max(leastRead, c.hello.Policy.MaxPayload), mostRead))
	return c, nil
}

// authenticate answers the challenge and waits until the gateway accepts us.
func (c *conn) authenticate(ctx context.Context, d device) error {
	foreign := func(err error) error { return fmt.Errorf("%w: no gateway at %s: %w", agent.ErrUnavailable, c.at, err) }
	var asked challenge
	f, err := c.readUntil(ctx, func(f frame) bool { return f.Event == "connect.challenge" })
	if err != nil {
		return foreign(err)
	}
	if err := json.Unmarshal(f.Payload, &asked); err != nil || asked.Nonce == "" {
		return foreign(errors.New("a challenge without a nonce"))
	}
	const id = "connect"
	if err := c.writeRequest(request{"req", id, "connect", connectParams(asked, c.at.token, d)}); err != nil {
		return foreign(err)
	}
	if f, err = c.readUntil(ctx, func(f frame) bool { return f.Type == "res" && f.ID == id }); err != nil {
		return foreign(err)
	}
	if err := c.decodeAnswer(f, &c.hello); err != nil {
		return classifyError(err)
	}
	if c.hello.Type != "hello-ok" {
		return foreign(fmt.Errorf("%q instead of a welcome", c.hello.Type))
	}
	if missing := c.hello.missingScopes(); len(missing) > 0 {
		// Missing scopes have no other sign: their events would not come.
		return &failure.Error{Code: failure.Auth, Message: fmt.Sprintf("the gateway at %s does not grant %s", c.at, strings.Join(missing, ", "))}
	}
	return nil
}

func (c *conn) readUntil(ctx context.Context, want func(frame) bool) (frame, error) {
	for {
		f, err := c.readFrame(ctx)
		if err != nil || want(f) {
			return f, err
		}
	}
}

// readFrame returns the next frame. The connection cannot be used after an error.
func (c *conn) readFrame(ctx context.Context) (frame, error) {
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return frame{}, errors.New("the message is not a frame of the protocol")
	}
	return f, nil
}

func (c *conn) writeRequest(r request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if most := c.hello.Policy.MaxPayload; most > 0 && int64(len(data)) > most {
		return badRequest("%s: %d bytes, but the gateway takes at most %d", r.Method, len(data), most)
	}
	// A write that is cut short breaks the connection, so the caller's ctx does not bound it.
	ctx, cancel := context.WithTimeout(c.life, writeTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		return fmt.Errorf("%w: %w", agent.ErrGone, err)
	}
	return nil
}

// callGateway sends a request even if ctx has ended, and waits for the answer while
// ctx lasts. The error is a *refusal if the gateway refuses, and ErrGone if the
// connection has ended.
func (c *conn) callGateway(ctx context.Context, method string, params, out any) error {
	id, answer := c.expectAnswer()
	defer c.forgetCall(id)
	if err := c.writeRequest(request{"req", id, method, params}); err != nil {
		return err
	}
	select {
	case f := <-answer:
		return c.decodeAnswer(f, out)
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
	}
	select {
	case f := <-answer:
		return c.decodeAnswer(f, out)
	default:
		return agent.ErrGone
	}
}

func (c *conn) expectAnswer() (id string, answer chan frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	id, answer = strconv.Itoa(c.calls), make(chan frame, 1)
	c.waiting[id] = answer
	return id, answer
}

func (c *conn) forgetCall(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *conn) decodeAnswer(f frame, out any) error {
	switch {
	case !f.OK && f.Error == nil:
		return &refusal{Code: "UNKNOWN", Message: "refused without a reason"}
	case !f.OK:
		f.Error.Message = c.at.hideToken(f.Error.Message)
		return f.Error
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(f.Payload, out); err != nil {
		return badRequest("an answer of the gateway: %v", err)
	}
	return nil
}

// serveFrames passes events to handle, in order, and answers to the calls that wait
// for them. It returns the reason for the end of the connection.
func (c *conn) serveFrames(handle func(frame)) error {
	defer close(c.done)
	defer c.ws.CloseNow()
	silence := silentTicks * c.hello.tickInterval()
	for {
		ctx, cancel := context.WithTimeout(c.life, silence)
		f, err := c.readFrame(ctx)
		silent := errors.Is(ctx.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err != nil && silent:
			return fmt.Errorf("the gateway was silent for %v", silence)
		case err != nil:
			return c.closeError(err)
		case f.Type == "res":
			c.deliverAnswer(f)
		default:
			handle(f)
		}
	}
}

func (c *conn) deliverAnswer(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[f.ID]; ok {
		answer <- f // never blocks: the id is removed with the first answer
		delete(c.waiting, f.ID)
	}
}

func (c *conn) closeError(err error) error {
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return fmt.Errorf("the gateway closed the connection: %d %s", closed.Code, c.at.hideToken(closed.Reason))
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the connection to the gateway broke")
	}
	return fmt.Errorf("the connection to the gateway broke: %w", err)
}

// closeConn closes the connection in good order while ctx lasts, and returns when
// serveFrames has returned.
func (c *conn) closeConn(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	c.ws.Close(websocket.StatusNormalClosure, "")
	c.end()
	<-c.done
}
