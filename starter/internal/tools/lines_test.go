package tools_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }

// heard is what a server answers to a burst, which asks for so many answers: the id
// of each, and of one without an id the code of its error.
func (w *fixture) heard(t *testing.T, burst string, want int) []int {
	t.Helper()
	p := w.serve(t.Context(), t, plainly)
	go p.talk(t, burst)
	var got []int
	dec := json.NewDecoder(p.out)
	for range want {
		var answer struct {
			JSONRPC string
			ID      *int
			Error   *struct {
				Code    int
				Message string
			}
		}
		must(t, dec.Decode(&answer))
		switch {
		case answer.JSONRPC != "2.0" || (answer.ID == nil) != (answer.Error != nil):
			t.Errorf("%+v", answer)
		case answer.ID != nil:
			got = append(got, *answer.ID)
		default:
			if answer.Error.Message == "" || strings.Contains(answer.Error.Message, "\n") {
				t.Errorf("it says %q", answer.Error.Message)
			}
			got = append(got, answer.Error.Code)
		}
	}
	must(t, p.in.Close())
	rest, err := io.ReadAll(io.MultiReader(dec.Buffered(), p.out))
	if err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("more: %s, %v", rest, err)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	slices.Sort(got)
	return got
}

func TestALineThatIsNoMessageEndsNothing(t *testing.T) {
	const notJSON, notAsked = -32700, -32600
	for _, row := range []struct {
		name, line string
		want       []int
	}{
		{"text", "hello", []int{notJSON}},
		{"a part of a message", `{"jsonrpc":"2.0","id":3,`, []int{notJSON}},
		{"two messages", ping(3) + ping(4), []int{notJSON}},
		{"text that is too long", strings.Repeat("x", 5<<20), []int{notJSON}},
		{"a message that is too long", `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, []int{notJSON}},
		{"a number", "5", []int{notAsked}},
		{"null", "null", []int{notAsked}},
		{"an empty object", "{}", []int{notAsked}},
		{"another version", `{"jsonrpc":"1.0","id":3,"method":"ping"}`, []int{notAsked}},
		{"an id that is none", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, []int{notAsked}},
		{"deep nesting", strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000), []int{notAsked}},
		{"an empty batch", "[ ]", []int{notAsked}},
		{"a batch", "[" + ping(3) + ", 5, " + ping(4) + "]", []int{notAsked, 3, 4}},
		{"a batch in a batch", "[[" + ping(3) + "]]", []int{notAsked}},
		{"blanks", " \t\r\n\n", nil},
		{"a message between blanks", "  " + ping(3) + " \r", []int{3}},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":7,"result":{}}`, nil},
		{"an error about nothing", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, nil},
		{"a cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := append(slices.Clone(row.want), 1, 9)
			slices.Sort(want)
			got := newFixture(t).heard(t, strings.Join([]string{hello, row.line, ping(9)}, "\n"), len(want))
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestTheLongestMessageFitsALine(t *testing.T) {
	w := newFixture(t)
	w.engine.result = results(t)[0].Result
	escaped := strings.Repeat(`\ud83c\udf31`, dispatch.MaxMessage)
	p := w.serve(t.Context(), t, plainly)
	go p.talk(t, hello, calls("entwurf_v2", `{"target":"`+string(live)+`","intent":"fire-and-forget","message":"`+escaped+`"}`))
	out := bufio.NewScanner(p.out)
	out.Scan()
	out.Scan()
	if sent := w.engine.sent(); len(sent) != 1 || sent[0].Request.Message != strings.Repeat("🌱", dispatch.MaxMessage) {
		t.Errorf("%d letters; %s", len(sent), out.Text())
	}
}

// alone is a stream with at most one writer at a time.
type alone struct {
	io.Writer
	busy, met *atomic.Bool
}

func (a alone) Write(p []byte) (int, error) {
	if a.busy.Swap(true) {
		a.met.Store(true)
	}
	defer a.busy.Store(false)
	runtime.Gosched()
	return a.Writer.Write(p)
}

func TestAnswersDoNotMix(t *testing.T) {
	var busy, met atomic.Bool
	p := newFixture(t).serve(t.Context(), t, func(out io.Writer) io.Writer { return alone{out, &busy, &met} })
	const each = 200
	go func() {
		p.talk(t, hello)
		for n := range each {
			p.talk(t, ping(2+n), "hello")
		}
	}()
	out := bufio.NewScanner(p.out)
	for range 1 + 2*each {
		if !out.Scan() || !json.Valid(out.Bytes()) {
			t.Fatalf("%q, %v", out.Text(), out.Err())
		}
	}
	if met.Load() {
		t.Error("two wrote at once")
	}
}
