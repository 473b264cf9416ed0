package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/chat"
	"github.com/ratchet-dev/ratchet/internal/provider/explore"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/exploretest"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// wire answers with its steps in turn; the last one stays.
type wire struct {
	steps []step
	asked []chat.Conversation
}

type step func(line *chat.Line) (chat.Message, error)

func (w *wire) Send(_ context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	c.Exchanges = append([]chat.Exchange(nil), c.Exchanges...)
	s := w.steps[min(len(w.asked), len(w.steps)-1)]
	w.asked = append(w.asked, c)
	return s(line)
}

var used = &chat.Tokens{Input: 60, CacheRead: 20, CacheWrite: 10, Output: 10}

func says(text string) step {
	return func(line *chat.Line) (chat.Message, error) {
		line.Hear(text)
		return chat.Message{Finish: provider.Stop, Tokens: used}, nil
	}
}

func calls(text string, calls ...explore.ToolCall) step {
	return func(line *chat.Line) (chat.Message, error) {
		line.Hear(text)
		return chat.Message{Finish: provider.Stop, Tokens: used, Calls: calls}, nil
	}
}

func reads(path string) explore.ToolCall {
	return explore.ToolCall{ID: "c1", Name: "read_file", Input: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))}
}

func refuses(status int, body string, header ...string) step {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return func(*chat.Line) (chat.Message, error) {
		return chat.Message{}, &chat.StatusError{Status: status, Header: h, Body: []byte(body)}
	}
}

var model = chat.Model{Name: "m", Window: 100_000, Reserve: 10_000}

func asking(steps ...step) (*wire, provider.Provider) {
	w := &wire{steps: steps}
	return w, chat.New(chat.Config{Name: "test", Model: model, Wire: w})
}

func exploring() provider.Request {
	req := providertest.Request()
	req.Work.Site = exploretest.Files{"a.go": "package a\n", "big.txt": strings.Repeat("0123456789abcde\n", 3000)}.Site()
	return req
}

func TestTheLastMessageIsTheAnswer(t *testing.T) {
	w, p := asking(calls("let me see", reads("a.go"), reads("none")), says("the answer"))
	var seen []provider.Progress
	resp, err := p.Generate(t.Context(), exploring(), func(p provider.Progress) { seen = append(seen, p) })
	if err != nil || resp.RawText != "the answer" || resp.FinishReason != provider.Stop {
		t.Fatalf("got %+v, %v", resp, err)
	}
	if want := (run.Usage{InputTokens: 180, OutputTokens: 20, TotalTokens: 200}); resp.Usage == nil || *resp.Usage != want {
		t.Errorf("usage %+v", resp.Usage)
	}
	x := w.asked[1].Exchanges[0]
	if len(x.Results) != 2 || x.Results[0].Failed || !strings.Contains(x.Results[0].Text, "package a") || !x.Results[1].Failed {
		t.Errorf("results %+v", x.Results)
	}
	last := seen[len(seen)-1]
	if last.Bytes != int64(len("let me seethe answer")) || !strings.HasSuffix(last.Tail, "the answer") || last.Doing != "" {
		t.Errorf("the last progress is %+v", last)
	}
	if doing := seen[1].Doing; doing != `read_file {"path":"a.go"}` {
		t.Errorf("then it does %q", doing)
	}
}

func TestAfterAnErrorAllThatWasSaidIsKept(t *testing.T) {
	_, p := asking(calls("let me see; ", reads("a.go")), func(line *chat.Line) (chat.Message, error) {
		line.Hear("half")
		return chat.Message{Tokens: used}, chat.ErrUnfinished
	})
	resp, err := p.Generate(t.Context(), exploring(), nil)
	if resp.RawText != "let me see; half" || resp.Usage == nil || resp.Usage.TotalTokens != 200 || err == nil {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestTheModelMustAnswerAtLast(t *testing.T) {
	many := make([]explore.ToolCall, 40)
	for i := range many {
		many[i] = explore.ToolCall{ID: fmt.Sprint(i), Name: "list_files"}
	}
	tests := map[string]struct {
		step   step
		rounds int
		says   string // the last result
	}{
		"after many rounds":        {calls("again ", reads("a.go")), chat.MaxRounds, "package a"},
		"when it has read so much": {calls("more ", reads("big.txt")), 4, "no room is left"},
		"with many calls at once":  {calls("all ", many...), chat.MaxRounds, "too many calls at once"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, p := asking(tt.step)
			resp, err := p.Generate(t.Context(), exploring(), nil)
			if err != nil || resp.FinishReason != provider.Stop {
				t.Fatalf("got %+v, %v", resp, err)
			}
			last := w.asked[len(w.asked)-1]
			if len(w.asked) != tt.rounds+1 || !last.MustAnswer || last.Tools == nil || w.asked[len(w.asked)-2].MustAnswer {
				t.Errorf("%d messages, the last must answer: %t", len(w.asked), last.MustAnswer)
			}
			results := last.Exchanges[tt.rounds-1].Results
			if r := results[len(results)-1]; !strings.Contains(r.Text, tt.says) {
				t.Errorf("the last result is %.200q", r.Text)
			}
		})
	}
}

func TestWithoutASiteThereIsNothingToExplore(t *testing.T) {
	w, p := asking(calls("text", reads("a.go")))
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != "text" || len(w.asked) != 1 || w.asked[0].Tools != nil {
		t.Errorf("got %+v, %v in %d messages", resp, err, len(w.asked))
	}
}

func TestBudgets(t *testing.T) {
	tests := map[string]struct {
		left     provider.Left
		messages int
		output   int // of the last message
		over     bool
	}{
		"no bound":             {provider.Left{}, 3, 10_000, false},
		"more than enough":     {provider.Left{Tokens: 1 << 40, Cost: 1 << 40}, 3, 10_000, false},
		"tokens that suffice":  {provider.Left{Tokens: 201}, 3, 1, false},
		"tokens for the first": {provider.Left{Tokens: 150}, 2, 50, true},
		"tokens to the last":   {provider.Left{Tokens: 200}, 2, 100, true},
		"money that suffices":  {provider.Left{Cost: 4_000}, 3, 10_000, false},
		"money for the first":  {provider.Left{Cost: 1_500}, 1, 10_000, true},
		"less than none":       {provider.Left{Tokens: -1}, 0, 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &wire{steps: []step{calls("one ", reads("a.go")), calls("two ", reads("a.go")), says("three")}}
			price := chat.Price{Input: 20_000_000, CacheRead: 1_000_000, CacheWrite: 10_000_000, Output: 20_000_000} // 1520 a message
			p := chat.New(chat.Config{Name: "test", Model: model, Wire: w, Price: price})
			req := exploring()
			req.Work.Left = tt.left
			resp, err := p.Generate(t.Context(), req, nil)
			if len(w.asked) != tt.messages || tt.messages > 0 && w.asked[tt.messages-1].MaxOutput != tt.output {
				t.Errorf("asked %+v", w.asked)
			}
			over := resp.Halt != nil && resp.Halt.Exhausted
			if over != tt.over || err != nil {
				t.Fatalf("got %+v, %v", resp.Halt, err)
			}
			if want := (run.Usage{InputTokens: 90, OutputTokens: 10, TotalTokens: 100, Cost: 1520}); over && tt.messages == 1 && (*resp.Usage != want || resp.RawText != "one ") {
				t.Errorf("got %+v, want the usage %+v", resp, want)
			}
		})
	}
}

func TestHowLongAnAnswerMayBe(t *testing.T) {
	tests := map[string]struct {
		model   chat.Model
		asked   int
		want    int
		bounded bool
	}{
		"as the model has it":           {chat.Model{Window: 100_000, Reserve: 10_000}, 0, 10_000, false},
		"as the request has it":         {chat.Model{Window: 100_000, Reserve: 10_000}, 77, 77, true},
		"no longer than the model can":  {chat.Model{Window: 100_000, Reserve: 10_000, MaxOutput: 4096}, 0, 4096, false},
		"whatever the request says":     {chat.Model{Window: 100_000, Reserve: 10_000, MaxOutput: 4096}, 8192, 4096, true},
		"a quarter of a small window":   {chat.Model{Window: 10_000, Reserve: 10_000}, 0, 2500, false},
		"more than a quarter on demand": {chat.Model{Window: 10_000, Reserve: 10_000}, 5000, 5000, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &wire{steps: []step{says("x")}}
			req := providertest.Request()
			req.Constraints.MaxOutputTokens = tt.asked
			if _, err := chat.New(chat.Config{Model: tt.model, Wire: w}).Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
			if c := w.asked[0]; c.MaxOutput != tt.want || c.Bounded != tt.bounded {
				t.Errorf("got %d, bounded %t", c.MaxOutput, c.Bounded)
			}
		})
	}
}

func TestSecretsStayOut(t *testing.T) {
	const key = "canary-0123456789"
	w := &wire{steps: []step{calls("a "+key+" ", reads("a.go"), reads(key)), func(line *chat.Line) (chat.Message, error) {
		line.Hear(key[:8])
		line.Hear(key[8:])
		return chat.Message{}, &chat.StatusError{Status: 500, Body: []byte(key)}
	}}}
	p := chat.New(chat.Config{Name: "test", Model: model, Wire: w, Redact: redact.New([]string{"A_KEY=" + key})})
	req := providertest.Request()
	req.Work.Site = exploretest.Files{"a.go": "const key = \"" + key + "\"\n"}.Site()
	var seen []provider.Progress
	resp, err := p.Generate(t.Context(), req, func(p provider.Progress) { seen = append(seen, p) })
	all := fmt.Sprint(resp, err, seen, w.asked[1].Exchanges[0].Results)
	if strings.Contains(all, key) || strings.Count(all, "[redacted:A_KEY]") < 6 {
		t.Errorf("leaked: %s", all)
	}
}

func TestTheTimeIsOver(t *testing.T) {
	waits := func(ctx context.Context, _ chat.Conversation, line *chat.Line) (chat.Message, error) {
		line.Hear("half")
		<-ctx.Done()
		return chat.Message{}, ctx.Err()
	}
	req := providertest.Request()
	req.Constraints.TimeoutMs = 50
	p := chat.New(chat.Config{Model: model, Wire: wireFunc(waits)})
	resp, err := p.Generate(t.Context(), req, nil)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.Timeout || !e.Retriable || e.Message != "no complete answer within 50ms" || resp.RawText != "half" {
		t.Errorf("got %+v, %v", resp, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if resp, err = p.Generate(ctx, providertest.Request(), nil); err != context.DeadlineExceeded || resp.RawText != "half" {
		t.Errorf("got %+v, %v, want the error of the context", resp, err)
	}
}

type wireFunc func(context.Context, chat.Conversation, *chat.Line) (chat.Message, error)

func (f wireFunc) Send(ctx context.Context, c chat.Conversation, line *chat.Line) (chat.Message, error) {
	return f(ctx, c, line)
}

func TestAFloodIsCut(t *testing.T) {
	p := chat.New(chat.Config{Model: model, Wire: wireFunc(func(ctx context.Context, _ chat.Conversation, line *chat.Line) (chat.Message, error) {
		for ctx.Err() == nil {
			line.Hear(strings.Repeat("x", 1<<20))
		}
		return chat.Message{Finish: provider.Stop}, nil // as if it had ended just then
	})})
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || e.Retriable || len(resp.RawText) != chat.MaxText {
		t.Errorf("kept %d bytes, %v", len(resp.RawText), err)
	}
}
