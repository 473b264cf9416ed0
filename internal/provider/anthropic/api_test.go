package anthropic_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/anthropic"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// api is the Messages API.
type api struct{ *providertest.API }

func serve(t *testing.T, answers ...http.HandlerFunc) api {
	return api{providertest.Serve(t, answers...)}
}

func (a api) provider(change ...func(*anthropic.Config)) provider.Provider {
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
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + providertest.Quote(text) + `}}`
}

// hangs begins an answer and sends nothing more.
func hangs(partial string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		send(w, start, text, delta(partial))
		<-r.Context().Done()
	}
}
