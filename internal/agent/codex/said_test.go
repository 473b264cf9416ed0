package codex_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// delta tells a piece of a message.
func (p *peer) delta(item, piece string) {
	p.say(`{"method":"item/agentMessage/delta","params":{`+inTurn+`"itemId":%s,"delta":%s}}`, item, piece)
}

func TestTextIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pieces []string
		whole  string
		want   []string
	}{
		"pieces that are the whole":   {[]string{"a", "b ☃"}, "ab ☃", []string{"a", "b ☃"}},
		"pieces that begin the whole": {[]string{"a", "b"}, "abc", []string{"a", "b", "c"}},
		"pieces that do not":          {[]string{"a", "b"}, "xyz", []string{"a", "b", "xyz"}},
		"no pieces":                   {nil, "abc", []string{"abc"}},
		"nothing at all":              {nil, "", nil},
		"an empty piece":              {[]string{"", "a"}, "a", []string{"a"}},
		"more than the whole":         {[]string{"abc"}, "ab", []string{"abc", "ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := playing(t, func(p *peer) {
				p.begin()
				for _, piece := range tt.pieces {
					p.delta("m1", piece)
				}
				text, _ := json.Marshal(tt.whole)
				p.item("completed", `{"type":"agentMessage","id":"m1","text":`+string(text)+`}`)
				p.finish("completed", "")
			})
			turn, events := l.Turn("go")
			var got []string
			for _, e := range agenttest.All[agent.Text](events) {
				got = append(got, e.Text)
			}
			if !slices.Equal(got, tt.want) || turn.Text != tt.whole {
				t.Errorf("told %q, then %q; want %q", got, turn.Text, tt.want)
			}
		})
	}
}

func TestTheTextOfOldMessagesIsForgotten(t *testing.T) {
	const kept = 64
	_, l := playing(t, func(p *peer) {
		p.begin()
		for i := range kept + 1 {
			p.delta(fmt.Sprint("m", i), "x")
		}
		p.item("completed", `{"type":"agentMessage","id":"m0","text":"xy"}`)
		p.item("completed", `{"type":"agentMessage","id":"m1","text":"xy"}`)
		p.finish("completed", "")
	})
	_, events := l.Turn("go")
	told := agenttest.All[agent.Text](events)
	if rest := told[kept+1:]; len(rest) != 2 || rest[0].Text != "xy" || rest[1].Text != "y" {
		t.Errorf("told %q of the complete messages", rest)
	}
}

func TestTheTextOfATurnIsItsLastMessage(t *testing.T) {
	_, l := playing(t, func(p *peer) {
		p.begin()
		p.item("completed", `{"type":"agentMessage","id":"m1","text":"first"}`)
		p.item("completed", `{"type":"agentMessage","id":"m2","text":"second"}`)
		p.finish("completed", `,"durationMs":254,"itemsView":"summary"`)
	})
	turn, _ := l.Turn("go")
	if turn.Text != "second" {
		t.Errorf("turn %+v", turn)
	}
}
