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
	"github.com/ratchet-dev/ratchet/internal/provider"
)

const (
	shakeTimeout = 20 * time.Second
	writeTimeout = 10 * time.Second
	silentTicks  = 3 // after which a connection is lost

	// A message to us may be longer than the gateway takes from us.
	leastRead = 32 << 20
	mostRead  = 256 << 20
)

// conn is a connection to a gateway that has let us in. Serve must run for
// calls to be answered.
type conn struct {
	ws    *websocket.Conn
	at    address
	hello hello

	life context.Context
	end  context.CancelFunc
	done chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	calls   int
	waiting map[string]chan frame
}

// noRedirect keeps the token with the host that it is for.
var noRedirect = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// dial connects while ctx lasts. The error is ErrUnavailable where there is no
// gateway, and what the gateway said where it does not let us in.
func dial(ctx context.Context, at address, d device) (*conn, error) {
	ws, resp, err := websocket.Dial(ctx, at.String(), &websocket.DialOptions{HTTPClient: noRedirect})
	if err != nil {
		return nil, unreachable(at, resp, err)
	}
	c := &conn{ws: ws, at: at, done: make(chan struct{}), waiting: map[string]chan frame{}}
	c.life, c.end = context.WithCancel(context.Background())
	ws.SetReadLimit(leastRead)
	if err := c.shake(ctx, d); err != nil {
		c.end()
		ws.CloseNow()
		return nil, err
	}
	ws.SetReadLimit(min(max(leastRead, c.hello.Policy.MaxPayload), mostRead))
	return c, nil
}

// shake answers the challenge and waits to be let in.
func (c *conn) shake(ctx context.Context, d device) error {
	foreign := func(err error) error { return fmt.Errorf("%w: no gateway at %s: %w", agent.ErrUnavailable, c.at, err) }
	var asked challenge
	f, err := c.until(ctx, func(f frame) bool { return f.Event == "connect.challenge" })
	if err != nil {
		return foreign(err)
	}
	if err := json.Unmarshal(f.Payload, &asked); err != nil || asked.Nonce == "" {
		return foreign(errors.New("a challenge without a nonce"))
	}
	const id = "connect"
	if err := c.write(request{"req", id, "connect", connectParams(asked, c.at.token, d)}); err != nil {
		return foreign(err)
	}
	if f, err = c.until(ctx, func(f frame) bool { return f.Type == "res" && f.ID == id }); err != nil {
		return foreign(err)
	}
	if err := c.settle(f, &c.hello); err != nil {
		return classify(err)
	}
	if c.hello.Type != "hello-ok" {
		return foreign(fmt.Errorf("%q for a welcome", c.hello.Type))
	}
	if missing := c.hello.lacks(); len(missing) > 0 {
		// What is missing is otherwise not told: events would not come.
		return &provider.Error{Code: provider.Auth, Message: fmt.Sprintf("the gateway at %s does not grant us %s", c.at, strings.Join(missing, ", "))}
	}
	return nil
}

func (c *conn) until(ctx context.Context, want func(frame) bool) (frame, error) {
	for {
		f, err := c.read(ctx)
		if err != nil || want(f) {
			return f, err
		}
	}
}

// read returns the next frame. The connection is of no use after an error.
func (c *conn) read(ctx context.Context) (frame, error) {
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return frame{}, errors.New("what came is no frame of the protocol")
	}
	return f, nil
}

func (c *conn) write(r request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if most := c.hello.Policy.MaxPayload; most > 0 && int64(len(data)) > most {
		return refuse("%s: %d bytes, of which the gateway takes %d", r.Method, len(data), most)
	}
	// A write that is cut short costs the connection: the caller's ctx may not.
	ctx, cancel := context.WithTimeout(c.life, writeTimeout)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		return fmt.Errorf("%w: %w", agent.ErrGone, err)
	}
	return nil
}

// call asks, whatever ctx says, and waits for the answer while ctx lasts. The
// error is a *refusal when the gateway refuses, ErrGone when it is gone.
func (c *conn) call(ctx context.Context, method string, params, out any) error {
	id, answer := c.expect()
	defer c.forget(id)
	if err := c.write(request{"req", id, method, params}); err != nil {
		return err
	}
	select {
	case f := <-answer:
		return c.settle(f, out)
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
	}
	select {
	case f := <-answer:
		return c.settle(f, out)
	default:
		return agent.ErrGone
	}
}

func (c *conn) expect() (id string, answer chan frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	id, answer = strconv.Itoa(c.calls), make(chan frame, 1)
	c.waiting[id] = answer
	return id, answer
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

func (c *conn) settle(f frame, out any) error {
	switch {
	case !f.OK && f.Error == nil:
		return &refusal{Code: "UNKNOWN", Message: "refused without a reason"}
	case !f.OK:
		f.Error.Message = c.at.clean(f.Error.Message)
		return f.Error
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(f.Payload, out); err != nil {
		return refuse("an answer of the gateway: %v", err)
	}
	return nil
}

// serve hands events to handle, in order, and answers to who waits for them.
// It returns why nothing more comes.
func (c *conn) serve(handle func(frame)) error {
	defer close(c.done)
	defer c.ws.CloseNow()
	silence := silentTicks * c.hello.tick()
	for {
		ctx, cancel := context.WithTimeout(c.life, silence)
		f, err := c.read(ctx)
		silent := errors.Is(ctx.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err != nil && silent:
			return fmt.Errorf("nothing came from the gateway for %v", silence)
		case err != nil:
			return c.broken(err)
		case f.Type == "res":
			c.answer(f)
		default:
			handle(f)
		}
	}
}

func (c *conn) answer(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[f.ID]; ok {
		answer <- f // once: the id is forgotten with it
		delete(c.waiting, f.ID)
	}
}

func (c *conn) broken(err error) error {
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		return fmt.Errorf("the gateway closed the connection: %d %s", closed.Code, c.at.clean(closed.Reason))
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the connection to the gateway broke")
	}
	return fmt.Errorf("the connection to the gateway broke: %w", err)
}

// close says goodbye while ctx lasts, and returns when serve has.
func (c *conn) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.end)
	defer stop()
	c.ws.Close(websocket.StatusNormalClosure, "")
	c.end()
	<-c.done
}
