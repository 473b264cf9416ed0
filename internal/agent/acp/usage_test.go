package acp_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func cost(amount float64, currency string) step {
	return update(fmt.Sprintf(`{"sessionUpdate":"usage_update","used":1000,"size":200000,"cost":{"amount":%v,"currency":%q}}`, amount, currency))
}

func TestTheCostOfATurnIsADifference(t *testing.T) {
	t.Parallel()
	micros := func(m run.Micros) *run.Micros { return &m }
	free := update(`{"sessionUpdate":"usage_update","used":1000,"size":200000}`)
	tests := map[string]struct {
		resume string
		story  []step // of the load
		turns  [][]step
		want   []*run.Micros
	}{
		"a new session":               {"", nil, [][]step{{cost(0.0033, "USD")}, {free, cost(0.009899999999999999, "USD"), free}, {cost(0.0132, "USD")}}, []*run.Micros{micros(3300), micros(6600), micros(3300)}},
		"a turn that says nothing":    {"", nil, [][]step{{cost(0.001, "USD")}, {free}, {cost(0.004, "USD")}}, []*run.Micros{micros(1000), nil, micros(3000)}},
		"a turn that costs nothing":   {"", nil, [][]step{{cost(0.001, "USD")}, {cost(0.001, "USD")}}, []*run.Micros{micros(1000), micros(0)}},
		"another currency":            {"", nil, [][]step{{cost(0.001, "EUR")}}, []*run.Micros{nil}},
		"a sum that begins again":     {"", nil, [][]step{{cost(0.005, "USD")}, {cost(0.001, "USD")}, {cost(0.003, "USD")}}, []*run.Micros{micros(5000), nil, micros(2000)}},
		"carried over a load":         {"s1", nil, [][]step{{cost(0.5, "USD")}, {cost(0.502, "USD")}}, []*run.Micros{nil, micros(2000)}},
		"told again by a load":        {"s1", []step{cost(0.5, "USD")}, [][]step{{cost(0.503, "USD")}}, []*run.Micros{micros(3000)}},
		"carried over, and no turn":   {"s1", nil, [][]step{{free}, {cost(0.5, "USD")}, {cost(0.501, "USD")}}, []*run.Micros{nil, nil, micros(1000)}},
		"an agent that never says it": {"", nil, [][]step{{}, {}}, []*run.Micros{nil, nil}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "opencode")
			b.options.Resume = tt.resume
			if tt.story != nil {
				b.set(storyVariable, script(tt.story...))
			}
			_, l := b.start()
			for i, steps := range tt.turns {
				turn, _ := l.Turn(script(append(steps, ends("end_turn"))...))
				if !reflect.DeepEqual(turn.Cost, tt.want[i]) {
					t.Errorf("turn %d cost %v, want %v", i+1, turn.Cost, tt.want[i])
				}
			}
		})
	}
}

func TestTheTokensOfATurn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer string
		want   agent.Tokens
	}{
		"a cache beside the input":  {`{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":300,"cachedWriteTokens":50,"totalTokens":470}}`, agent.Tokens{Input: 450, Output: 20, Cached: 300}},
		"a cache within the input":  {`{"stopReason":"end_turn","usage":{"inputTokens":400,"outputTokens":20,"cachedReadTokens":300,"totalTokens":420}}`, agent.Tokens{Input: 400, Output: 20, Cached: 300}},
		"no cache":                  {`{"stopReason":"end_turn","usage":{"inputTokens":1000,"outputTokens":20,"totalTokens":1020}}`, agent.Tokens{Input: 1000, Output: 20}},
		"where gemini has them":     {`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":2000,"output_tokens":40}}}}`, agent.Tokens{Input: 2000, Output: 40}},
		"an interrupted codex":      {`{"stopReason":"end_turn","usage":null,"_meta":{"quota":{"token_count":null,"model_usage":[]}}}`, agent.Tokens{}},
		"an agent that keeps quiet": {`{"stopReason":"end_turn"}`, agent.Tokens{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, l := newBench(t, "plain").start()
			if turn, _ := l.Turn(script(step{Answer: json.RawMessage(tt.answer)})); turn.Tokens != tt.want {
				t.Errorf("got %+v", turn.Tokens)
			}
		})
	}
}

func TestTheContext(t *testing.T) {
	_, l := newBench(t, "plain").start()
	turn, events := l.Turn(script(
		update(`{"sessionUpdate":"usage_update","used":1001,"size":1000000}`),
		update(`{"sessionUpdate":"usage_update","used":1020,"size":1000000}`), ends("end_turn")))
	want := agent.Context{Used: 1020, Total: 1_000_000}
	if all := agenttest.All[agent.UsageUpdate](events); len(all) != 2 || all[1].Context != want || turn.Context != want {
		t.Errorf("usage %+v, turn %+v", all, turn.Context)
	}
}
