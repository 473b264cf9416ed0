package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// with are n artifacts of size bytes each.
func with(n, size int) provider.Request {
	req := providertest.Request()
	for i := range n {
		name := fmt.Sprintf("f%d", i+1)
		req.ContextArtifacts = append(req.ContextArtifacts, provider.Artifact{Name: name, Path: name, Content: strings.Repeat("x", size-1) + "\n"})
	}
	return req
}

// kept are the numbers of the artifacts in a context, and whether it has a note
// on others.
func kept(context string, n int) (got []int, note bool) {
	for i := 1; i <= n; i++ {
		if strings.Contains(context, fmt.Sprintf("## f%d\n", i)) {
			got = append(got, i)
		}
	}
	return got, strings.Contains(context, "# Artifacts left out")
}

func TestThePromptFitsTheWindow(t *testing.T) {
	tests := map[string]struct {
		window, reserve int
		artifacts, size int
		user            int
		kept            int
		refused         bool
	}{
		"all of it":                  {100_000, 10_000, 5, 40_000, 10, 5, false},
		"no artifacts":               {100_000, 10_000, 0, 0, 10, 0, false},
		"the last ones do not":       {50_000, 10_000, 5, 40_000, 10, 3, false},
		"none but the prompt":        {10_000, 1_000, 5, 40_000, 10, 0, false},
		"a large answer takes room":  {100_000, 90_000, 5, 20_000, 10, 5, false}, // clamped to a quarter
		"not even the prompt":        {10_000, 1_000, 5, 40_000, 40_000, 0, true},
		"more artifacts than a note": {10_000, 1_000, 50, 10_000, 10, 2, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &wire{steps: []step{says("x")}}
			p := chat.New(chat.Config{Model: chat.Model{Name: "m", Window: tt.window, Reserve: tt.reserve}, Wire: w})
			req := with(tt.artifacts, tt.size)
			req.Prompt.User = strings.Repeat("u", tt.user)
			resp, err := p.Generate(t.Context(), req, nil)
			if tt.refused {
				if e := resp.Error; err == nil || e == nil || e.Code != failure.BadRequest || e.Retriable || !strings.HasPrefix(e.Message, failure.TooLong+": ") || len(w.asked) != 0 {
					t.Errorf("got %+v, %v after %d calls", resp, err, len(w.asked))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c := w.asked[0]
			got, note := kept(c.Context, tt.artifacts)
			if len(got) != tt.kept || note != (tt.kept < tt.artifacts) {
				t.Errorf("kept %v, a note %t", got, note)
			}
			if size := len(c.System) + len(c.Context) + len(c.User); (size+3)/4+c.MaxOutput > tt.window {
				t.Errorf("a prompt of %d bytes", size)
			}
		})
	}
}

func TestThePromptShrinksOnce(t *testing.T) {
	long := refuses(400, `{"error":{"message":"prompt is too long: 2 tokens > 1 maximum"}}`)
	tests := map[string]struct {
		artifacts int
		steps     []step
		kept      []int // of each message
		ok        bool
	}{
		"half is enough":      {5, []step{long, says("x")}, []int{5, 2}, true},
		"half is not enough":  {5, []step{long, long, says("x")}, []int{5, 2}, false},
		"one is dropped":      {1, []step{long, says("x")}, []int{1, 0}, true},
		"nothing to drop":     {0, []step{long, says("x")}, []int{0}, false},
		"another refusal":     {5, []step{refuses(400, "no"), says("x")}, []int{5}, false},
		"refused for good":    {5, []step{long, refuses(500, "oops"), says("x")}, []int{5, 2}, false},
		"by the status alone": {4, []step{refuses(413, ""), says("x")}, []int{4, 2}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, p := asking(tt.steps...)
			_, err := p.Generate(t.Context(), with(tt.artifacts, 100), nil)
			if (err == nil) != tt.ok || len(w.asked) != len(tt.kept) {
				t.Fatalf("got %v after %d messages", err, len(w.asked))
			}
			for i, want := range tt.kept {
				if got, note := kept(w.asked[i].Context, tt.artifacts); len(got) != want || note != (want < tt.artifacts) {
					t.Errorf("message %d has %v, a note %t", i+1, got, note)
				}
			}
		})
	}
}

func TestALittleRoomIsNotWorthTheTools(t *testing.T) {
	for window, explores := range map[int]bool{10_000: false, 40_000: true} {
		w := &wire{steps: []step{says("x")}}
		p := chat.New(chat.Config{Model: chat.Model{Name: "m", Window: window, Reserve: 2_500}, Wire: w})
		req := exploring()
		req.Prompt.User = strings.Repeat("u", 12_000)
		if _, err := p.Generate(t.Context(), req, nil); err != nil || (w.asked[0].Tools != nil) != explores {
			t.Errorf("window %d: tools %v, %v", window, w.asked[0].Tools, err)
		}
	}
}
