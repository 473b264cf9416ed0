package openai_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/openai"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// api is the Chat Completions API.
type api struct{ *providertest.API }

func serve(t *testing.T, answers ...http.HandlerFunc) api {
	return api{providertest.Serve(t, answers...)}
}

func (a api) provider(change ...func(*openai.Config)) provider.Provider {
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
		reason = providertest.Quote(finish)
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

func delta(text string) string { return chunk(`{"content":`+providertest.Quote(text)+`}`, "") }

// hangs begins an answer and sends nothing more.
func hangs(partial string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		send(w, start, delta(partial))
		<-r.Context().Done()
	}
}
