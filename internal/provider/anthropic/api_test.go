package anthropic_test

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
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
)

// api is the Messages API, with an answer for each request in turn; the last
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

func (a *api) provider(change ...func(*anthropic.Config)) provider.Provider {
	c := anthropic.Config{Model: "claude-sonnet-4-5", Key: "sk-test-key", BaseURL: a.URL, HTTP: a.Client()}
	for _, f := range change {
		f(&c)
	}
	return anthropic.New(c)
}

const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":30,"output_tokens":1}}}`
	text  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop  = `{"type":"content_block_stop","index":0}`
	ends  = `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`
	over  = `{"type":"message_stop"}`
)

// send streams events, each named as its type says.
func send(w io.Writer, events ...string) {
	if h, ok := w.(http.ResponseWriter); ok {
		h.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, e)
	}
	w.(http.Flusher).Flush()
}

// says answers with a text and a stop reason, in pieces that heed no rune.
func says(raw, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		send(w, start, text)
		for piece := range slices.Chunk([]byte(raw), 4095) {
			send(w, delta(string(piece)))
		}
		send(w, stop, fmt.Sprintf(ends, reason), over)
	}
}

func delta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(text) + `}}`
}

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
		send(w, start, text, delta(partial))
		<-r.Context().Done()
	}
}
