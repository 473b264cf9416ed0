package claude_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

const (
	unpriced = run.Micros(-1)
	main45   = "claude-sonnet-4-5"
)

// TestCost reads the price of each turn from a count that runs on (CLIENT.md, 10).
func TestCost(t *testing.T) {
	t.Parallel()
	total := func(dollars string) string { return `"total_cost_usd":` + dollars }
	since := func(main, side string) string {
		return `"model_usage_since_last_result":{"` + main45 + `":{"costUSD":` + main + `},"haiku":{"costUSD":` + side + `}}`
	}
	tests := map[string]struct {
		results []string
		want    []run.Micros
	}{
		"the total runs on":                   {[]string{total("0.0033"), total("0.0066"), total("0.0165")}, []run.Micros{3300, 3300, 9900}},
		"the total begins anew":               {[]string{total("0.5"), total("0.02"), total("0.03")}, []run.Micros{500_000, 20_000, 10_000}},
		"the share of the turn is preferred":  {[]string{total("9.9") + "," + since("0.0033", "0.0001"), total("9.95") + "," + since("0.05", "0")}, []run.Micros{3400, 50_000}},
		"the share is missing once":           {[]string{total("1") + "," + since("0.25", "0"), total("1.5")}, []run.Micros{250_000, 500_000}},
		"nothing was asked of the model":      {[]string{total("0") + `,"model_usage_since_last_result":{}`}, []run.Micros{0}},
		"the older name":                      {[]string{`"cost_usd":0.01`, `"cost_usd":0.04`}, []run.Micros{10_000, 30_000}},
		"a price below zero":                  {[]string{total("0.01") + "," + since("-5", "0"), total("0.02")}, []run.Micros{0, 10_000}},
		"no price":                            {[]string{`"num_turns":1`}, []run.Micros{unpriced}},
		"fractions of a millionth add up":     {[]string{total("0.0000004"), total("0.0000008")}, []run.Micros{0, 0}},
		"an interrupted turn has a price too": {[]string{`"is_error":true,"terminal_reason":"aborted_streaming",` + total("0.01")}, []run.Micros{10_000}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var turns [][]string
			for _, r := range tt.results {
				turns = append(turns, []string{initLine, `{"type":"result",` + r + `}`})
			}
			s := newFake(t, script{Turns: turns}).start(t, agent.Options{})
			var got []run.Micros
			for range turns {
				end, _ := agenttest.Turn(t, s, "go")
				if end.Cost == nil {
					got = append(got, unpriced)
				} else {
					got = append(got, *end.Cost)
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTheWindowIsThatOfTheSessionsModel(t *testing.T) {
	large := strings.Replace(initLine, main45, "claude-opus-4-8[1m]", 1)
	tests := map[string]struct {
		init, models string
		want         int
	}{
		"one model":                     {initLine, `"claude-sonnet-4-5":{"contextWindow":200000}`, 200_000},
		"a sub-agent has another":       {initLine, `"haiku":{"contextWindow":100000},"claude-sonnet-4-5":{"contextWindow":200000}`, 200_000},
		"the large one, by its suffix":  {large, `"claude-opus-4-8":{"contextWindow":200000},"claude-opus-4-8[1m]":{"contextWindow":1000000}`, 1_000_000},
		"the only one, under its alias": {initLine, `"sonnet":{"contextWindow":200000}`, 200_000},
		"none of several":               {initLine, `"a":{"contextWindow":1},"b":{"contextWindow":2}`, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, script{Turns: [][]string{{tt.init, helloLine, `{"type":"result","modelUsage":{` + tt.models + `}}`}}}).start(t, agent.Options{})
			if got, _ := agenttest.Turn(t, s, "go"); got.Context != (agent.Context{Used: 1000, Total: tt.want}) {
				t.Errorf("got %+v", got.Context)
			}
		})
	}
}

// TestBudget is the table of docs/contracts/agent.md, 4.
func TestBudget(t *testing.T) {
	t.Parallel()
	said := func(input, output int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":%d,"cache_creation_input_tokens":20,"cache_read_input_tokens":80,"output_tokens":%d}}}`, input-100, output)
	}
	result := func(window int) string {
		return fmt.Sprintf(`{"type":"result","modelUsage":{"%s":{"contextWindow":%d}}}`, main45, window)
	}
	tests := map[string]struct {
		max    int
		frames []string
		want   *agent.Budget
	}{
		"far from it":                     {32000, []string{said(1000, 1), result(200_000)}, nil},
		"just below":                      {32000, []string{said(154_998, 1), result(200_000)}, nil},
		"on the first rung":               {32000, []string{said(154_999, 1), result(200_000)}, &agent.Budget{Used: 155_000, Warn: 155_000, Hard: 168_000, MaxOutput: 32000, Step: 1}},
		"on the second":                   {16000, []string{said(159_000, 0), result(200_000)}, &agent.Budget{Used: 159_000, Warn: 159_000, Hard: 184_000, MaxOutput: 16000, Step: 2}},
		"on the last":                     {8000, []string{said(167_000, 0), result(200_000)}, &agent.Budget{Used: 167_000, Warn: 167_000, Hard: 192_000, MaxOutput: 8000, Step: 2}},
		"between two, the wider counts":   {20000, []string{said(155_000, 0), result(200_000)}, &agent.Budget{Used: 155_000, Warn: 155_000, Hard: 168_000, MaxOutput: 20000, Step: 1}},
		"without a bound, as the first":   {0, []string{said(155_000, 0), result(200_000)}, &agent.Budget{Used: 155_000, Warn: 155_000, Hard: 168_000, Step: 1}},
		"in a large window":               {32000, []string{said(155_000, 0), result(1_000_000)}, nil},
		"near the end of a large window":  {32000, []string{said(955_000, 0), result(1_000_000)}, &agent.Budget{Used: 955_000, Warn: 955_000, Hard: 968_000, MaxOutput: 32000, Step: 1}},
		"the last message counts, no sum": {32000, []string{said(100_000, 1), said(100_000, 1), result(200_000)}, nil},
		"a prompt that was never answered": {32000, []string{`{"type":"result","is_error":true,"terminal_reason":"prompt_too_long","result":"Prompt is too long"}`},
			&agent.Budget{Used: 160_000, Warn: 155_000, Hard: 168_000, MaxOutput: 32000, Step: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFake(t, script{Turns: [][]string{append([]string{initLine}, tt.frames...)}}).start(t, agent.Options{MaxOutputTokens: tt.max})
			prompt := "go"
			if len(tt.frames) == 1 {
				prompt = strings.Repeat("é", 639_999)
			}
			_, events := agenttest.Turn(t, s, prompt)
			got := agenttest.All[agent.Budget](events)
			if tt.want == nil && len(got) == 0 {
				return
			}
			if len(got) != 1 || tt.want == nil || got[0] != *tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestABudgetWarnsOnceAMessage(t *testing.T) {
	full := strings.Replace(helloLine, `"input_tokens":1000`, `"input_tokens":160000`, 1)
	s := newFake(t, script{Turns: [][]string{{initLine, full, resultLine}, {initLine, resultLine}, {initLine, full, resultLine}}}).start(t, agent.Options{MaxOutputTokens: 32000})
	for i, want := range []int{1, 0, 1} {
		_, events := agenttest.Turn(t, s, "go")
		if got := agenttest.All[agent.Budget](events); len(got) != want {
			t.Errorf("turn %d: %+v", i+1, got)
		}
	}
}
