package openclaw_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent/openclaw"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

type object map[string]any

// gateway is one in memory: it lets in who knows the token and proves a
// device, keeps sessions, and has an agent for their runs. The fields that a
// test sets come first.
type gateway struct {
	token      string
	maxPayload int
	tickMs     int
	refusal    object            // the error of connect
	play       func(*job)        // the agent; runs one turn
	deaf       []string          // methods that are not answered
	refuse     map[string]object // errors of methods
	workspace  string            // where sessions may work
	life       int               // of a permission request, in ms
	price      float64           // of a token of input
	forgetful  bool              // of how turns began
	mute       bool              // never sends a challenge
	grants     []string          // scopes that it says it grants
	frozen     []string          // methods after which it reads nothing more

	url     string
	server  *httptest.Server
	model   fakemodelModel
	running sync.WaitGroup

	mu       sync.Mutex
	ended    bool
	thaw     chan struct{}    // closed at the end
	clients  map[*client]bool // true: let in
	devices  []string
	requests []call
	sessions map[string]*chat
	asks     map[string]*asked
}

type fakemodelModel interface {
	Reply(fakemodel.Request) fakemodel.Reply
}

// call is a request that the gateway got.
type call struct {
	Method string
	Params json.RawMessage
}

// client is a connection.
type client struct {
	ws     *websocket.Conn
	device string
}

// chat is a session.
type chat struct {
	key, dir, model string
	mode            any // a word, or nil
	talk            []fakemodel.Message
	rows            []object
	used            int
	run             *job
}

// job is a run: a turn of a session.
type job struct {
	*gateway
	*chat
	id     string
	prompt string
	ctx    context.Context
	abort  context.CancelFunc
}

// asked is a permission request that waits.
type asked struct {
	run    *job
	answer chan string
}

// startGateway serves until the test ends, with an agent that talks to model.
func startGateway(t testing.TB, model fakemodelModel) *gateway {
	g := &gateway{
		token: "t0ken-of-the-gateway", maxPayload: 25 << 20, tickMs: 30_000, workspace: t.TempDir(), life: 60_000, price: 3e-6, model: model,
		play: (*job).talkToModel, refuse: map[string]object{},
		thaw: make(chan struct{}), clients: map[*client]bool{}, sessions: map[string]*chat{}, asks: map[string]*asked{},
	}
	g.server = httptest.NewServer(http.HandlerFunc(g.accept))
	g.url = "ws" + strings.TrimPrefix(g.server.URL, "http")
	t.Cleanup(g.end)
	return g
}

// end closes all connections and ends all runs.
func (g *gateway) end() {
	g.with(func() {
		g.ended = true
		close(g.thaw)
		for c := range g.clients {
			c.ws.CloseNow()
		}
		for _, s := range g.sessions {
			if s.run != nil {
				s.run.abort()
			}
		}
	})
	g.server.Close()
	g.running.Wait()
}

func (g *gateway) config() openclaw.Config { return openclaw.Config{URL: g.url, Token: g.token} }

func (g *gateway) accept(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	c := &client{ws: ws}
	if !g.greet(c) {
		return
	}
	defer g.running.Done()
	nonce := uuid.NewString()
	if !g.mute {
		c.event("connect.challenge", object{"nonce": nonce, "ts": 1795275501165})
	}
	for c.serve(g, nonce) {
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.clients, c)
}

// greet notes a client unless the gateway has ended.
func (g *gateway) greet(c *client) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.running.Add(1)
		g.clients[c] = false
	}
	return !g.ended
}

// serve answers one request.
func (c *client) serve(g *gateway, nonce string) (more bool) {
	_, data, err := c.ws.Read(context.Background())
	if err != nil {
		return false
	}
	var r struct {
		Type, ID, Method string
		Params           json.RawMessage
	}
	if json.Unmarshal(data, &r) != nil || r.Type != "req" {
		c.ws.Close(websocket.StatusPolicyViolation, "no request")
		return false
	}
	g.mu.Lock()
	g.requests = append(g.requests, call{r.Method, r.Params})
	refused, deaf, known := g.refuse[r.Method], slices.Contains(g.deaf, r.Method), g.clients[c]
	frozen := slices.Contains(g.frozen, r.Method)
	g.mu.Unlock()
	switch {
	case r.Method == "connect":
		return c.connect(g, r.ID, nonce, r.Params)
	case !known:
		c.ws.Close(websocket.StatusPolicyViolation, "connect first")
		return false
	case frozen:
		<-g.thaw
	case deaf:
	case refused != nil:
		c.respond(r.ID, nil, refused)
	default:
		payload, failure := g.answer(c, r.Method, r.Params)
		c.respond(r.ID, payload, failure)
	}
	return true
}

func (c *client) respond(id string, payload any, failure object) {
	if failure != nil {
		c.send(object{"type": "res", "id": id, "ok": false, "error": failure})
		return
	}
	c.send(object{"type": "res", "id": id, "ok": true, "payload": payload})
}

func (c *client) event(name string, payload any) {
	c.send(object{"type": "event", "event": name, "payload": payload, "seq": 1})
}

func (c *client) send(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	c.ws.Write(context.Background(), websocket.MessageText, data) // a client may leave
}

// connect lets a client in whose device proves itself.
func (c *client) connect(g *gateway, id, nonce string, params json.RawMessage) bool {
	device, problem := prove(params, nonce, g.token)
	if problem == "" && g.refusal == nil {
		c.device = device
		g.mu.Lock()
		g.devices = append(g.devices, device)
		g.clients[c] = true
		g.mu.Unlock()
		c.respond(id, g.hello(), nil)
		return true
	}
	failure := g.refusal
	if problem != "" {
		failure = object{"code": "INVALID_REQUEST", "message": "unauthorized: " + problem, "details": object{"code": problem}}
	}
	c.respond(id, nil, failure)
	c.ws.Close(websocket.StatusPolicyViolation, fmt.Sprint(failure["message"]))
	return false
}

func (g *gateway) hello() object {
	return object{
		"type": "hello-ok", "protocol": 4, "server": object{"version": "2026.9.6"},
		"features": object{"methods": []string{}, "events": []string{}},
		"snapshot": object{"sessionDefaults": object{"defaultAgentId": "main"}},
		"auth":     object{"role": "operator", "scopes": g.grants},
		"policy":   object{"maxPayload": g.maxPayload, "maxBufferedBytes": 52428800, "tickIntervalMs": g.tickMs},
	}
}

// broadcast sends an event to all clients.
func (g *gateway) broadcast(name string, payload any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c, welcome := range g.clients {
		if welcome {
			c.event(name, payload)
		}
	}
}

// with changes what the gateway does.
func (g *gateway) with(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// drop closes all connections.
func (g *gateway) drop(code websocket.StatusCode, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.clients {
		g.running.Go(func() { c.ws.Close(code, reason) })
	}
}

// got are the parameters of the requests for a method so far.
func (g *gateway) got(method string) []json.RawMessage {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []json.RawMessage
	for _, r := range g.requests {
		if r.Method == method {
			all = append(all, r.Params)
		}
	}
	return all
}
