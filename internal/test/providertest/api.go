package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// API is a model's API, with an answer for each request in turn; the last one stays.
type API struct {
	*httptest.Server
	answers []http.HandlerFunc

	mu    sync.Mutex
	asked []Asked
}

// Asked is a request that the API has read.
type Asked struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

// Serve starts an API that ends with the test.
func Serve(t testing.TB, answers ...http.HandlerFunc) *API {
	a := &API{answers: answers}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := Asked{Path: r.URL.Path, Header: r.Header}
	if err := json.NewDecoder(r.Body).Decode(&q.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	answer := a.answers[min(len(a.asked), len(a.answers)-1)]
	a.asked = append(a.asked, q)
	a.mu.Unlock()
	answer(w, r)
}

// Requests returns the requests so far.
func (a *API) Requests() []Asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// Refuse answers with a status and a body. The header is names and values in turn.
func Refuse(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// Quote writes a JSON string and keeps bytes that are not UTF-8, as a careless server may.
func Quote(s string) string {
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

// Outcome is how a failed call must end.
type Outcome struct {
	code      failure.Code
	retriable bool
	says      string // part of the message
}

// Fails returns the outcome of a call that fails with a message which contains a text.
func Fails(code failure.Code, retriable bool, says string) Outcome {
	return Outcome{code, retriable, says}
}

// Check fails the test unless the call ended so. It returns the error of the call.
func (o Outcome) Check(t testing.TB, resp provider.Response, err error) *failure.Error {
	t.Helper()
	e, ok := errors.AsType[*failure.Error](err)
	if !ok || e.Code != o.code || e.Retriable != o.retriable || !strings.Contains(e.Message, o.says) || resp.Error != e {
		t.Errorf("got %+v, want %s (retriable %t) that says %q", err, o.code, o.retriable, o.says)
	}
	return e
}
