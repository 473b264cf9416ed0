package sdktest_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

const everything = `go [[think:hm]] [[tool:look {"path":"a]]"}]] [[say:I saw ☃]] [[usage:50,6,7]]`

// each runs a test for each API, streaming and not.
func each(t *testing.T, test func(t *testing.T, s *fakemodel.Server, path string, ask func(prompt string) (round, error))) {
	for path, ask := range clients {
		for name, stream := range map[string]bool{" streaming": true, "": false} {
			t.Run(path+name, func(t *testing.T) {
				s := fakemodel.Start(t)
				test(t, s, path, func(prompt string) (round, error) { return ask(t.Context(), s.URL, prompt, stream) })
			})
		}
	}
}

func TestAClientTakesTheAnswers(t *testing.T) {
	stops := map[string][2]string{
		"/v1/messages": {"tool_use", "end_turn"}, "/v1/chat/completions": {"tool_calls", "stop"}, "/v1/responses": {"completed", "completed"},
	}
	each(t, func(t *testing.T, s *fakemodel.Server, path string, ask func(string) (round, error)) {
		first, err := ask(everything)
		if err != nil {
			t.Fatal(err)
		}
		if len(first.calls) != 1 || first.calls[0].Tool != "look" || string(first.calls[0].Input) != `{"path":"a]]"}` {
			t.Fatalf("calls %+v", first.calls)
		}
		last, err := first.next("a snowman")
		if err != nil {
			t.Fatal(err)
		}
		if last.text != "I saw ☃" || len(last.calls) != 0 || last.usage != (fakemodel.TokenCount{Input: 50, Output: 6, Cached: 7}) {
			t.Errorf("final answer %+v", last)
		}
		if got := [2]string{first.stop, last.stop}; got != stops[path] {
			t.Errorf("stops for %q", got)
		}
		checkRequest(t, s.Requests()[1], path, first.calls[0])
	})
}

// checkRequest checks what is kept of the request that brings a result.
func checkRequest(t *testing.T, q fakemodel.Request, path string, call fakemodel.ToolCall) {
	t.Helper()
	if q.Path != path || q.Model != "some-model" || q.System != "be good" || !reflect.DeepEqual(q.Tools, []string{"look"}) {
		t.Errorf("kept %s of %s, system %q, tools %q", q.Path, q.Model, q.System, q.Tools)
	}
	if q.Header.Get("X-Api-Key")+q.Header.Get("Authorization") == "" {
		t.Error("no key was kept")
	}
	if len(q.Messages) != 3 {
		t.Fatalf("messages %+v", q.Messages)
	}
	prompt, calls, results := q.Messages[0], q.Messages[1].Calls, q.Messages[2].Results
	if !reflect.DeepEqual(prompt, fakemodel.Message{Role: fakemodel.User, Texts: []string{everything}}) || len(calls) != 1 || calls[0].ID != call.ID || calls[0].Tool != "look" {
		t.Errorf("prompt %+v, calls %+v", prompt, calls)
	}
	want := fakemodel.Result{CallID: call.ID, Text: "a snowman", Error: path == "/v1/messages"}
	if len(results) != 1 || results[0] != want {
		t.Errorf("results %+v", results)
	}
	if want := everything + "\na snowman\n"; q.Text() != want {
		t.Errorf("text %q", q.Text())
	}
}

func TestAClientSeesAnError(t *testing.T) {
	each(t, func(t *testing.T, _ *fakemodel.Server, _ string, ask func(string) (round, error)) {
		_, err := ask("[[error:429:rate_limit_error:slow: down]]")
		var status int
		var text string
		if e, ok := errors.AsType[*anthropic.Error](err); ok {
			status, text = e.StatusCode, e.RawJSON()
		} else if e, ok := errors.AsType[*openai.Error](err); ok {
			status, text = e.StatusCode, e.Message
		}
		if status != http.StatusTooManyRequests || !strings.Contains(text, "slow: down") {
			t.Errorf("got %v: %s", err, text)
		}
	})
}

func TestACutStreamIsAnError(t *testing.T) {
	for path, ask := range clients {
		for _, prompt := range []string{"[[drop]][[say:x]]", "[[drop]][[tool:look]]"} {
			if _, err := ask(t.Context(), fakemodel.Start(t).URL, prompt, true); err == nil {
				t.Errorf("%s: %s is answered", path, prompt)
			}
		}
	}
}

func TestAHangLastsAsLongAsThePeer(t *testing.T) {
	for path, ask := range clients {
		for _, prompt := range []string{"[[hang]]", "[[slow:100000]]"} {
			s := fakemodel.Start(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := ask(ctx, s.URL, prompt, true)
				done <- err
			}()
			for len(s.Requests()) == 0 {
				select {
				case err := <-done:
					t.Fatalf("%s: %v", path, err)
				default:
				}
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
