// Package providertest holds the tests that every provider must pass.
package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Subject makes providers of the kind under test.
type Subject struct {
	// Answers makes a provider that answers every request with raw.
	Answers func(t *testing.T, raw string) provider.Provider
	// Fails makes a provider whose every call fails.
	Fails func(t *testing.T) provider.Provider
	// Hangs makes a provider that sends partial and then nothing for ever; nil for a
	// kind that cannot.
	Hangs func(t *testing.T, partial string) provider.Provider
	// Text says that the kind's wire carries text alone: bytes that are not UTF-8 never
	// arrive.
	Text bool
}

// Request is a valid request.
func Request() provider.Request {
	return provider.Request{
		RunID: "run-1", Iteration: 1, Phase: run.Execute, Role: run.Developer,
		Prompt:      provider.Prompt{System: "system", User: "user"},
		Constraints: provider.Constraints{TimeoutMs: time.Minute.Milliseconds(), PatchFirst: true},
	}
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Run("says what it is", func(t *testing.T) {
		c := s.Answers(t, "x").Capabilities()
		if c.Name == "" || !c.SupportsPatchFirst {
			t.Errorf("capabilities %+v: want a name and patch first", c)
		}
	})
	t.Run("answers verbatim", func(t *testing.T) { answersVerbatim(t, s) })
	t.Run("refuses a request that breaks the contract", func(t *testing.T) {
		req := Request()
		req.Constraints.PatchFirst = false
		e := callFailure(t, s.Answers(t, "x"), req)
		if e.Code != failure.BadRequest || e.Retriable {
			t.Errorf("got %+v, want a BAD_REQUEST that is not retriable", e)
		}
	})
	t.Run("reports a failure", func(t *testing.T) { callFailure(t, s.Fails(t), Request()) })
	t.Run("returns the error of a context that has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, p := range []provider.Provider{s.Answers(t, "x"), s.Fails(t)} {
			if _, err := p.Generate(ctx, Request(), nil); err != context.Canceled {
				t.Errorf("got %v, want the error of the context as it is", err)
			}
		}
	})
	t.Run("serves many at once", func(t *testing.T) { servesMany(t, s) })
	if s.Hangs != nil {
		t.Run("gives up at its timeout", func(t *testing.T) { givesUp(t, s) })
		t.Run("stops with the context", func(t *testing.T) { stops(t, s) })
	}
}

func answersVerbatim(t *testing.T, s Subject) {
	for name, raw := range map[string]string{
		"one line without its end": "hello",
		"blank lines at both ends": "\n\n  hello  \n\n\n",
		"carriage returns":         "a\r\nb\rc\r\n",
		"all kinds of bytes":       "\x00\x1b[31m\xff\xfe ünï ☃ 𝄞 \xe2\x98",
		"JSON that is no response": `{"text": "rawText"}` + "\n",
		"a megabyte":               strings.Repeat("0123456789abcde\n", 1<<16),
	} {
		if s.Text {
			raw = strings.ToValidUTF8(raw, "")
		}
		t.Run(name, func(t *testing.T) {
			var seen []provider.Progress
			resp, err := s.Answers(t, raw).Generate(t.Context(), Request(), func(p provider.Progress) { seen = append(seen, p) })
			if err != nil {
				t.Fatal(err)
			}
			if resp.RawText != raw {
				t.Errorf("got %d bytes that differ from the %d sent", len(resp.RawText), len(raw))
			}
			if resp.FinishReason != provider.Stop || resp.Error != nil || resp.DurationMs < 0 {
				t.Errorf("got %s, error %v, %d ms", resp.FinishReason, resp.Error, resp.DurationMs)
			}
			checkProgress(t, seen, raw)
		})
	}
}

func checkProgress(t *testing.T, seen []provider.Progress, raw string) {
	t.Helper()
	if len(seen) == 0 {
		t.Fatal("no progress at all")
	}
	last := seen[len(seen)-1]
	last.Doing = "" // in words of the kind's own
	if want := (provider.Progress{Bytes: int64(len(raw)), Tail: provider.Tail([]byte(raw))}); last != want {
		t.Errorf("the last progress is %+v, want %+v", last, want)
	}
	if !slices.IsSortedFunc(seen, func(a, b provider.Progress) int { return int(a.Bytes - b.Bytes) }) {
		t.Error("progress goes back")
	}
	for _, p := range seen {
		if len(p.Tail) > provider.MaxTail {
			t.Fatalf("a tail of %d bytes", len(p.Tail))
		}
	}
}

// failure makes a call that must fail and checks that its error and its
// response agree.
func callFailure(t *testing.T, p provider.Provider, req provider.Request) *failure.Error {
	t.Helper()
	resp, err := p.Generate(t.Context(), req, nil)
	e, ok := errors.AsType[*failure.Error](err)
	if !ok {
		t.Fatalf("got %v, want a *failure.Error", err)
	}
	if resp.Error == nil || *resp.Error != *e {
		t.Errorf("the response carries %v, the error is %v", resp.Error, e)
	}
	if !slices.Contains(failure.Codes, e.Code) || e.Message == "" || len(e.Message) > failure.MaxMessage {
		t.Errorf("code %q with a message of %d bytes", e.Code, len(e.Message))
	}
	if timeout := e.Code == failure.Timeout; timeout != (resp.FinishReason == provider.TimedOut) || !timeout && resp.FinishReason != provider.Failed {
		t.Errorf("code %s with finish reason %s", e.Code, resp.FinishReason)
	}
	var back provider.Response
	if b, err := json.Marshal(resp); err != nil {
		t.Error(err)
	} else if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, resp) {
		t.Errorf("the response comes back from JSON as %+v (%v)", back, err)
	}
	return e
}

func servesMany(t *testing.T, s Subject) {
	p := s.Answers(t, "the answer")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if resp, err := p.Generate(t.Context(), Request(), nil); err != nil || resp.RawText != "the answer" {
				t.Errorf("got %q, %v", resp.RawText, err)
			}
		})
	}
	all.Wait()
}

// givesUp grants more time until the partial answer fits in, for the machine may
// be busy.
func givesUp(t *testing.T, s Subject) {
	const partial = "half an ans"
	p := s.Hangs(t, partial)
	req := Request()
	for limit := 500 * time.Millisecond; ; limit *= 2 {
		req.Constraints.TimeoutMs = limit.Milliseconds()
		resp, err := p.Generate(t.Context(), req, nil)
		e, ok := errors.AsType[*failure.Error](err)
		if !ok || e.Code != failure.Timeout || !e.Retriable || resp.FinishReason != provider.TimedOut {
			t.Fatalf("got %+v with finish reason %s, want a TIMEOUT that is retriable", err, resp.FinishReason)
		}
		if resp.RawText == partial {
			return
		}
		if limit > 20*time.Second {
			t.Fatalf("kept %q of what was received in %v", resp.RawText, limit)
		}
	}
}

func stops(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := false
	resp, err := s.Hangs(t, "half an ans").Generate(ctx, Request(), func(p provider.Progress) {
		if ended {
			t.Error("progress after the return")
		}
		if p.Bytes == int64(len("half an ans")) {
			cancel()
		}
	})
	ended = true
	if err != context.Canceled {
		t.Errorf("got %v, want the error of the context as it is", err)
	}
	if resp.RawText != "half an ans" {
		t.Errorf("kept %q of what was received", resp.RawText)
	}
}

// Limit returns the usage limit that a response tells; none if it tells none.
func Limit(resp provider.Response) run.Limited {
	if resp.Halt == nil || resp.Halt.Limited == nil {
		return run.Limited{}
	}
	return *resp.Halt.Limited
}
