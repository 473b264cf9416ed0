package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
)

// api is the Chat Completions API, with an answer for each request in turn; the last
// one stays.
type api struct {
	*httptest.Server
	answers []http.HandlerFunc

	mu    sync.Mutex
	asked []request
}

type request struct {
	path   string
	header http.Header
	body   map[string]any
}

func serve(t *testing.T, answers ...http.HandlerFunc) *api {
	a := &api{answers: answers}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{path: r.URL.Path, header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&q.body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	answer := a.answers[min(len(a.asked), len(a.answers)-1)]
	a.asked = append(a.asked, q)
	a.mu.Unlock()
	answer(w, r)
}

func (a *api) requests() []request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

func (a *api) provider(change ...func(*openai.Config)) provider.Provider {
	c := openai.Config{Model: "gpt-4o", Key: "sk-test-key", BaseURL: a.URL + "/v1", HTTP: a.Client()}
	for _, f := range change {
		f(&c)
	}
	return openai.New(c)
}

// chunk is a piece of an answer; finish may be empty.
func chunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}`
}

const (
	start = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	usage = `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":5,"total_tokens":55,"prompt_tokens_details":{"cached_tokens":30}}}`
	done  = "[DONE]"
)

// send streams events.
func send(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
	w.(http.Flusher).Flush()
}

// says answers with a text and a finish reason, in pieces that heed no rune.
func says(raw, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		send(w, start)
		for piece := range slices.Chunk([]byte(raw), 4095) {
			send(w, delta(string(piece)))
		}
		send(w, chunk("{}", reason), usage, done)
	}
}

func delta(text string) string { return chunk(`{"content":`+quote(text)+`}`, "") }

// quote writes a JSON string and keeps bytes that are not UTF-8, as a careless server
// may.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// fails answers with a status and a body.
func fails(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// hangs begins an answer and sends nothing more.
func hangs(partial string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		send(w, start, delta(partial))
		<-r.Context().Done()
	}
}
