package codex_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestUsage(t *testing.T) {
	usage := func(p *peer, turn string, total, last [3]int) {
		p.say(`{"method":"thread/tokenUsage/updated","params":{"threadId":"`+thread+`","turnId":%s,"tokenUsage":{`+
			`"total":{"inputTokens":%s,"cachedInputTokens":%s,"outputTokens":%s,"totalTokens":%s},`+
			`"last":{"inputTokens":%s,"cachedInputTokens":%s,"outputTokens":%s,"totalTokens":%s},"modelContextWindow":258400}}}`,
			turn, total[0], total[1], total[2], total[0]+total[2], last[0], last[1], last[2], last[0]+last[2])
	}
	for name, tt := range map[string]struct {
		resume bool
		play   func(*peer)
		want   agent.Tokens
	}{
		"one request": {false, func(p *peer) {
			usage(p, turnID, [3]int{100, 10, 20}, [3]int{100, 10, 20})
		}, agent.Tokens{Input: 100, Cached: 10, Output: 20}},
		"two requests, one told twice": {false, func(p *peer) {
			usage(p, turnID, [3]int{100, 10, 20}, [3]int{100, 10, 20})
			usage(p, turnID, [3]int{250, 30, 25}, [3]int{150, 20, 5})
			usage(p, turnID, [3]int{250, 30, 25}, [3]int{150, 20, 5})
		}, agent.Tokens{Input: 250, Cached: 30, Output: 25}},
		"a request that was not told of": {false, func(p *peer) {
			usage(p, turnID, [3]int{250, 30, 25}, [3]int{150, 20, 5})
		}, agent.Tokens{Input: 250, Cached: 30, Output: 25}},
		"after a resume that told the total": {true, func(p *peer) {
			usage(p, "an old turn", [3]int{1000, 100, 200}, [3]int{400, 0, 50})
			usage(p, turnID, [3]int{1100, 100, 220}, [3]int{100, 0, 20})
		}, agent.Tokens{Input: 100, Output: 20}},
		"after a resume that told nothing": {true, func(p *peer) {
			usage(p, turnID, [3]int{1100, 100, 220}, [3]int{100, 0, 20})
			usage(p, turnID, [3]int{1200, 150, 230}, [3]int{100, 50, 10})
		}, agent.Tokens{Input: 200, Cached: 50, Output: 30}},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(p *peer) {
				p.greet()
				p.begin()
				tt.play(p)
				p.finish("completed", "")
				p.rest()
			})
			_, l := start(t, c, func(o *agent.Options) {
				if tt.resume {
					o.Resume = thread
				}
			})
			turn, events := l.Turn("go")
			told := agenttest.All[agent.UsageUpdate](events)
			if turn.Tokens != tt.want || told[len(told)-1].Tokens != tt.want {
				t.Errorf("turn %+v, last told %+v; want %+v", turn.Tokens, told[len(told)-1], tt.want)
			}
			if turn.Context.Total != 258400 || turn.Context.Used == 0 || turn.Context != told[len(told)-1].Context {
				t.Errorf("context %+v", turn.Context)
			}
		})
	}
}
