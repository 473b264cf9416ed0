package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// stream makes the events of an answer with a text, in the forms that servers of this API use.
func stream(t *rapid.T, text string) (events []string) {
	forms := rapid.SampledFrom([]string{"string", "string", "parts", "part", "strings", "thoughts"})
	for len(text) > 0 {
		n := rapid.IntRange(1, min(len(text), 12)).Draw(t, "bytes")
		content, half := providertest.Quote(text[:n]), n/2
		first, second := providertest.Quote(text[:half]), providertest.Quote(text[half:n])
		text = text[n:]
		switch forms.Draw(t, "form") {
		case "parts":
			content = `[{"type":"text","text":` + first + `},{"type":"text","text":` + second + `}]`
		case "part":
			content = `{"type":"text","text":` + content + `}`
		case "strings":
			content = `[` + first + `,` + second + `]`
		case "thoughts":
			content = `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":` + content + `}]`
		}
		events = append(events, `{"choices":[{"index":0,"delta":{"content":`+content+`},"finish_reason":null}]}`)
		if rapid.IntRange(0, 4).Draw(t, "more") == 0 {
			events = append(events, rapid.SampledFrom([]string{
				`{"choices":[]}`, `{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"index":1,"delta":{"content":"other"}}]}`,
				`{"choices":[{"index":0,"delta":{"content":null}}],"usage":null}`,
			}).Draw(t, "beside"))
		}
	}
	finish := rapid.SampledFrom([]string{"stop", "STOP", "eos", "end_turn", "length", "error", "abort", "tomorrow", ""}).Draw(t, "finish")
	if finish != "" {
		events = append(events, `{"choices":[{"index":0,"delta":{},"finish_reason":"`+finish+`"}]}`)
	}
	return events
}

// sse writes events with the marks that servers use.
func sse(t *rapid.T, events []string) string {
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
	space := rapid.SampledFrom([]string{" ", ""}).Draw(t, "space")
	var b strings.Builder
	for _, e := range events {
		if rapid.IntRange(0, 5).Draw(t, "comment") == 0 {
			b.WriteString(": ping" + end + end)
		}
		b.WriteString("data:" + space + e + end + end)
	}
	if rapid.Bool().Draw(t, "done") {
		b.WriteString("data:" + space + "[DONE]" + end + end)
	}
	return b.String()
}

// TestNoTextOfAStreamIsLost makes streams by a grammar: the text of an answer that counts as finished is all that was
// sent. Streams that lack an event are the control.
func TestNoTextOfAStreamIsLost(t *testing.T) {
	body := make(chan string, 1)
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, <-body)
	})
	p := a.provider()
	finished := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"one ", "zwölf ", "+two\n", "\\\"", "<think>", "\r\n", "\t", "[DONE]", "data: x\n\n"}), 1, 12).Draw(t, "text"), "")
		events := stream(t, text)
		whole := !rapid.Bool().Draw(t, "drop") // the control: an event with text is missing
		if i := rapid.IntRange(0, len(events)-1).Draw(t, "dropped"); !whole && strings.Contains(events[i], `"finish_reason":null`) {
			events = append(events[:i:i], events[i+1:]...)
		} else {
			whole = true
		}
		body <- sse(t, events)
		resp, err := p.Generate(t.Context(), providertest.Request(), nil)
		if err != nil || resp.FinishReason != provider.Stop {
			return
		}
		finished++
		if (resp.RawText == text) != whole {
			t.Fatalf("got %q of the text %q, of which all was sent: %t", resp.RawText, text, whole)
		}
	})
	if finished == 0 {
		t.Error("no stream was a finished answer")
	}
}
