package fakemodel

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Model is the model, as an [http.Handler] and for callers in Go. Make it with New.
type Model struct {
	mux *http.ServeMux

	mu       sync.Mutex
	requests []Request
	faults   map[faultOf]int
}

type faultOf struct {
	prompt string
	fault
}

// Request is a request to the model.
type Request struct {
	Path     string // with its query; empty for a request made in Go
	Header   http.Header
	Model    string
	System   string
	Messages []Message
	Tools    []string // their names
	Stream   bool
}

// Text returns the whole text of the conversation, for a test to search.
func (q Request) Text() string {
	var all strings.Builder
	for _, m := range q.Messages {
		for _, text := range m.Texts {
			all.WriteString(text + "\n")
		}
		for _, r := range m.Results {
			all.WriteString(r.Text + "\n")
		}
	}
	return all.String()
}

// New returns a model without requests.
func New() *Model {
	m := &Model{mux: http.NewServeMux(), faults: map[faultOf]int{}}
	for path, w := range map[string]wire{"messages": anthropic{}, "chat/completions": chat{}, "responses": responses{}} {
		for _, root := range []string{"/", "/v1/"} {
			m.mux.HandleFunc("POST "+root+path, func(rw http.ResponseWriter, r *http.Request) { m.serve(rw, r, w) })
		}
	}
	m.mux.HandleFunc("POST /v1/messages/count_tokens", answerWith(`{"input_tokens":1000}`))
	m.mux.HandleFunc("GET /v1/models", answerWith(models))
	m.mux.HandleFunc("HEAD /{$}", answerWith(""))
	m.mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		fail(rw, Fault{Status: http.StatusNotFound, Type: "not_found_error", Text: "fakemodel: no " + r.Method + " " + r.URL.Path})
	})
	return m
}

const models = `{"object":"list","has_more":false,"first_id":"fake-model","last_id":"fake-model","data":[` +
	`{"id":"fake-model","object":"model","type":"model","display_name":"Fake","created_at":"2026-01-01T00:00:00Z"}]}`

func answerWith(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Requests returns the requests for an answer so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Reply answers a request, and records it.
func (m *Model) Reply(q Request) Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, q)
	return reply(q, func(prompt string, f fault) int {
		m.faults[faultOf{prompt, f}]++
		return m.faults[faultOf{prompt, f}]
	})
}

func (m *Model) serve(w http.ResponseWriter, r *http.Request, api wire) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		return // the peer has left
	}
	q, err := api.decode(body.Bytes())
	if err != nil {
		fail(w, Fault{Status: http.StatusBadRequest, Type: "invalid_request_error", Text: "fakemodel: " + err.Error()})
		return
	}
	q.Path, q.Header = r.URL.RequestURI(), r.Header.Clone()
	answer := m.Reply(q)
	switch f := answer.Fault; {
	case f != nil && f.Status != 0:
		fail(w, *f)
	case q.Stream:
		api.stream(newStream(w, r, answer), q, answer)
	case f != nil && f.Hang:
		<-r.Context().Done()
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(api.plain(q, answer))
	}
}

// Body returns the error in the form that all the APIs share.
func (f Fault) Body() []byte {
	return []byte(encode(object{"type": "error", "error": object{"type": f.Type, "code": f.Type, "message": f.Text}}))
}

func fail(w http.ResponseWriter, f Fault) {
	w.Header().Set("Content-Type", "application/json")
	if f.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(f.Status)
	w.Write(f.Body())
}

// Server is a model that listens on loopback.
type Server struct {
	*Model
	URL string // without a path
}

// Start serves a model until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Model: New(), URL: "http://" + l.Addr().String()}
	server := &http.Server{Handler: s}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-stopped
	})
	return s
}
