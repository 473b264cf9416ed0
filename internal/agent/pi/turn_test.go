package pi_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

func TestATurn(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{plain}})
	s := f.start(t, agent.Options{})
	got, events := agenttest.Turn(t, s, "go")
	if got.Cost == nil || *got.Cost != 3300 {
		t.Errorf("it cost %v", got.Cost)
	}
	got.Cost = nil
	want := agent.Turn{
		Status: agent.Completed, Text: "hello", Tokens: agent.Tokens{Input: 1400, Output: 20, Cached: 300},
		Context: agent.Context{Used: 1500, Total: 200000},
	}
	if got != want {
		t.Errorf("got %+v", got)
	}
	if e := events[0]; e != (agent.Started{SessionID: "fresh"}) || s.ID() != "fresh" {
		t.Errorf("began with %+v, the id is %q", e, s.ID())
	}
	if pieces := agenttest.All[agent.Text](events); !slices.Equal(pieces, []agent.Text{{Text: "hel"}, {Text: "lo"}}) {
		t.Errorf("said %+v", pieces)
	}
	if used := agenttest.All[agent.UsageUpdate](events); !slices.Equal(used, []agent.UsageUpdate{{Tokens: want.Tokens, Context: agent.Context{Used: 1420, Total: 200000}}}) {
		t.Errorf("used %+v", used)
	}
}

func TestWhatIsSaid(t *testing.T) {
	again := `{"type":"auto_retry_start","attempt":1}`
	tests := map[string]struct {
		frames     []string
		said, last string
	}{
		"in pieces":                         {[]string{delta("a"), delta("b"), ended("ab", "stop", "")}, "ab", "ab"},
		"at once":                           {[]string{ended("ab", "stop", "")}, "ab", "ab"},
		"in pieces that lack an end":        {[]string{delta("a"), ended("ab", "stop", "")}, "ab", "ab"},
		"otherwise in the end":              {[]string{delta("a"), ended("xy", "stop", "")}, "axy", "xy"},
		"in two messages":                   {[]string{delta("a"), ended("a", "toolUse", ""), delta("b"), ended("b", "stop", "")}, "ab", "b"},
		"before a call alone":               {[]string{delta("a"), ended("a", "toolUse", ""), ended("", "stop", "")}, "a", "a"},
		"again from its begin":              {[]string{delta("one two"), ended("one two", "error", ""), again, delta("one "), delta("two three"), ended("one two three", "stop", "")}, "one two three", "one two three"},
		"again, and broken off once more":   {[]string{delta("one two"), ended("one two", "error", ""), again, delta("one"), ended("one", "error", ""), again, delta("one two three"), ended("one two three", "stop", "")}, "one two three", "one two three"},
		"again, and shorter":                {[]string{delta("one two"), ended("one two", "error", ""), again, delta("one"), ended("one", "stop", "")}, "one two", "one"},
		"again, and in other words":         {[]string{delta("one two"), ended("one two", "error", ""), again, delta("one "), delta("more"), ended("one more", "stop", "")}, "one twoone more", "one more"},
		"again at once":                     {[]string{delta("one"), ended("one", "error", ""), again, ended("one two", "stop", "")}, "one two", "one two"},
		"by a message that had no content":  {[]string{delta("one"), `{"type":"message_end","message":{"role":"assistant","stopReason":"stop"}}`}, "one", ""},
		"with content that is a plain text": {[]string{`{"type":"message_end","message":{"role":"assistant","content":"ab","stopReason":"stop"}}`}, "ab", "ab"},
	}
	names := slices.Sorted(maps.Keys(tests))
	var all script
	for _, name := range names {
		all.Turns = append(all.Turns, turnOf(tests[name].frames...))
	}
	s := newFake(t, all).start(t, agent.Options{})
	for _, name := range names {
		got, events := agenttest.Turn(t, s, "go")
		if said, want := agenttest.Said(events), tests[name]; said != want.said || got.Text != want.last {
			t.Errorf("%s: said %q, at last %q", name, said, got.Text)
		}
	}
}

func TestHowATurnEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		frames []string
		want   agent.TurnStatus
		err    string
	}{
		"well":                              {plain, agent.Completed, ""},
		"after a tool that ends it":         {turnOf(ended("", "toolUse", "")), agent.Completed, ""},
		"with an error":                     {turnOf(ended("", "error", `,"errorMessage":"boom"`)), agent.Failed, "UNKNOWN: boom"},
		"with an error of no words":         {turnOf(ended("", "error", "")), agent.Failed, "UNKNOWN: the turn failed without a reason"},
		"with an error that was overcome":   {turnOf(ended("", "error", `,"errorMessage":"boom"`), beginLine, ended("hello", "stop", "")), agent.Completed, ""},
		"by somebody else's hand":           {turnOf(ended("", "aborted", "")), agent.Interrupted, ""},
		"at the limit of an answer":         {turnOf(ended("hel", "length", "")), agent.Failed, "UNKNOWN: the answer reached its token limit"},
		"for a reason that nobody knows":    {turnOf(ended("", "deferred", "")), agent.Failed, "UNKNOWN: the turn ended for an unknown reason: deferred"},
		"before it began":                   {[]string{`{"id":"@PROMPT@","type":"response","command":"prompt","success":false,"error":"No API key found for x."}`}, agent.Failed, "AUTH: No API key found for x."},
		"while pi works for an extension":   {[]string{settledLine, `{"id":"@PROMPT@","type":"response","success":false,"error":"Agent is already processing."}`}, agent.Failed, "UNKNOWN: Agent is already processing."},
		"without one, for an extension":     {[]string{acceptLine}, agent.Completed, ""},
		"without a word about its begin":    {[]string{acceptLine, ended("hello", "stop", ""), settledLine}, agent.Completed, ""},
		"without a word about the prompt":   {[]string{beginLine, ended("hello", "stop", ""), settledLine}, agent.Completed, ""},
		"with what is no JSON":              {slices.Concat([]string{"garbage", "[1,2", `"text"`, `{"type":7}`}, plain), agent.Completed, ""},
		"with frames of another shape":      {slices.Concat([]string{`{"type":"message_end","message":[]}`, `{"type":"message_update"}`, `{"type":"extension_ui_request","method":1}`}, plain), agent.Completed, ""},
		"with one that is told a 2nd time":  {slices.Concat(plain, []string{settledLine}), agent.Completed, ""},
		"with two answers to the last call": {slices.Concat(plain, []string{`{"id":"stats-1","type":"response","success":true,"data":{}}`}), agent.Completed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{Turns: [][]string{tt.frames, plain}})
			s := f.start(t, agent.Options{})
			got, _ := agenttest.Turn(t, s, "go")
			if got.Status != tt.want || got.Err == nil != (tt.err == "") || got.Err != nil && got.Err.Error() != tt.err {
				t.Errorf("got %+v", got)
			}
			if next, _ := agenttest.Turn(t, s, "again"); next.Status != agent.Completed || next.Text != "hello" {
				t.Errorf("then %+v", next)
			}
		})
	}
}

// TestTheEndDoesNotDependOnFigures has a pi that does not answer, one that
// cannot say, and one that knows of no such command.
func TestTheEndDoesNotDependOnFigures(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]agent.Context{
		"none": {Used: 1420, Total: 200000},
		`{"contextUsage":{"tokens":null,"contextWindow":100000,"percent":null}}`: {Total: 100000},
		`{}`: {Used: 1420, Total: 200000},
	} {
		f := newFake(t, script{Stats: answer, Turns: [][]string{plain}})
		if got, _ := agenttest.Turn(t, f.start(t, agent.Options{}), "go"); got.Status != agent.Completed || got.Context != want {
			t.Errorf("%s: got %+v", answer, got)
		}
	}
}

func TestWhatATurnUses(t *testing.T) {
	nested := `{"type":"message_end","message":{"role":"toolResult","content":[],"usage":{"input":10,"output":1,"cost":{"total":0.5}}}}`
	compacted := `{"type":"compaction_end","reason":"threshold","result":{"summary":"s","usage":{"input":5,"output":2,"cost":{"total":0.25}}}}`
	f := newFake(t, script{Turns: [][]string{
		turnOf(ended("a", "toolUse", ""), nested, compacted, ended("b", "stop", "")), plain, turnOf(`{"type":"message_end","message":{"role":"assistant","stopReason":"stop"}}`),
		turnOf(`{"type":"message_end","message":{"role":"assistant","stopReason":"stop","usage":{"output":1,"cost":{"total":-3}}}}`),
	}})
	s := f.start(t, agent.Options{})
	got, _ := agenttest.Turn(t, s, "go")
	if got.Tokens != (agent.Tokens{Input: 2815, Output: 43, Cached: 600}) || *got.Cost != 756_600 {
		t.Errorf("used %+v for %v", got.Tokens, got.Cost)
	}
	if got, _ = agenttest.Turn(t, s, "go"); got.Tokens != (agent.Tokens{Input: 1400, Output: 20, Cached: 300}) || *got.Cost != 3300 {
		t.Errorf("then %+v for %v", got.Tokens, got.Cost)
	}
	if got, _ = agenttest.Turn(t, s, "go"); got.Tokens != (agent.Tokens{}) || got.Cost != nil {
		t.Errorf("and %+v for %v", got.Tokens, got.Cost)
	}
	if got, _ = agenttest.Turn(t, s, "go"); got.Cost == nil || *got.Cost != 0 {
		t.Errorf("a price below zero: %v", got.Cost)
	}
}

func TestCallsAndResults(t *testing.T) {
	frames := turnOf(
		`{"type":"tool_execution_start","toolCallId":"c1","toolName":"read","args":{"path":"a"}}`,
		`{"type":"tool_execution_update","toolCallId":"c1","toolName":"read","partialResult":{"content":[]}}`,
		question("read", "c1", `{"path":"a"}`), "await",
		`{"type":"tool_execution_end","toolCallId":"c1","toolName":"read","result":{"content":[{"type":"text","text":"x"},{"type":"image","data":"eA=="}]},"isError":false}`,
		`{"type":"tool_execution_end","toolCallId":"c9","toolName":"read","result":{"content":[]},"isError":true}`,
		ended("done", "stop", ""),
	)
	f := newFake(t, script{Turns: [][]string{frames}})
	_, events := agenttest.Turn(t, f.start(t, agent.Options{}), "go")
	if uses := agenttest.All[agent.ToolUse](events); len(uses) != 1 || uses[0].CallID != "c1" || uses[0].Tool != "read" || string(uses[0].Input) != `{"path":"a"}` {
		t.Errorf("calls %+v", uses)
	}
	if results := agenttest.All[agent.ToolResult](events); !slices.Equal(results, []agent.ToolResult{{CallID: "c1", Output: "x\n[image]"}}) {
		t.Errorf("results %+v", results)
	}
}

func TestWhatElseIsTold(t *testing.T) {
	frames := turnOf(
		`{"type":"auto_retry_start","attempt":1,"delayMs":2000}`, `{"type":"auto_retry_end","success":true}`, `{"type":"agent_end","messages":["long"]}`,
		`{"type":"message_update","assistantMessageEvent":{"type":"thinking_delta","delta":"hm"}}`, `{"type":"invented"}`, ended("", "stop", ""),
	)
	f := newFake(t, script{Turns: [][]string{frames}})
	_, events := agenttest.Turn(t, f.start(t, agent.Options{}), "go")
	told := map[string]string{}
	for _, n := range agenttest.All[agent.Notice](events) {
		told[n.Name] = string(n.Data)
		if n.Stall != (n.Name == "auto_retry_start") {
			t.Errorf("%s: stall is %v", n.Name, n.Stall)
		}
	}
	if !strings.Contains(told["auto_retry_start"], "2000") || told["auto_retry_end"] == "" || told["agent_end"] != "" {
		t.Errorf("told %q", told)
	}
	if raw := agenttest.All[agent.Raw](events); len(raw) != 2 || !strings.Contains(string(raw[0].Frame), "thinking_delta") || !strings.Contains(string(raw[1].Frame), "invented") {
		t.Errorf("raw %s", raw)
	}
}

// TestWhatComesOutsideOfATurn ends none.
func TestWhatComesOutsideOfATurn(t *testing.T) {
	stray := []string{beginLine, delta("x"), ended("x", "stop", ""), settledLine, `{"type":"session_info_changed"}`}
	first := slices.Concat(plain, []string{"await", "await", answerTo("state-1", "{}"), answerTo("stats-1", fakeStats)}, stray)
	f := newFake(t, script{Turns: [][]string{first, slices.Concat([]string{settledLine}, plain)}})
	s := f.start(t, agent.Options{})
	agenttest.Turn(t, s, "go")
	n, events := agenttest.Until[agent.Notice](t, s)
	if n.Name != "session_info_changed" || len(agenttest.All[agent.Raw](events)) != 4 || len(events) != 4 {
		t.Errorf("%+v after %+v", n, events)
	}
	if got, _ := agenttest.Turn(t, s, "again"); got.Status != agent.Completed || got.Text != "hello" {
		t.Errorf("got %+v", got)
	}
}

func answerTo(id, data string) string {
	return `{"id":"` + id + `","type":"response","success":true,"data":` + data + `}`
}

func TestErrors(t *testing.T) {
	tests := map[string]failure.Error{
		`400: {"message":"never heard of it","type":"invalid_request_error"}`:          {Code: failure.BadRequest, Message: "HTTP 400 Bad Request: never heard of it"},
		`400 {"type":"error","error":{"type":"invalid_request_error","message":"no"}}`: {Code: failure.BadRequest, Message: "HTTP 400 Bad Request: no"},
		`OpenAI API error (401): {"message":"bad key"}`:                                {Code: failure.Auth, Message: "HTTP 401 Unauthorized: bad key"},
		`429: {"message":"slow down","type":"rate_limit_error"}`:                       {Code: failure.RateLimit, Retriable: true, Message: "HTTP 429 Too Many Requests: slow down"},
		`429: {"message":"no money","type":"insufficient_quota"}`:                      {Code: failure.RateLimit, Message: "quota or credit exhausted: HTTP 429 Too Many Requests: no money"},
		`400: {"message":"too long","code":"context_length_exceeded"}`:                 {Code: failure.BadRequest, Message: "context too long: HTTP 400 Bad Request: too long"},
		"529 status code (no body)":                                                    {Code: failure.Unknown, Retriable: true, Message: "HTTP 529: status code (no body)"},
		"Connection error.":                                                            {Code: failure.Unknown, Retriable: true, Message: "Connection error."},
		"terminated":                                                                   {Code: failure.Unknown, Retriable: true, Message: "terminated"},
		"No API key found for anthropic.":                                              {Code: failure.Auth, Message: "No API key found for anthropic."},
		`Authentication failed for "x". Run '/login x' to re-authenticate.`:            {Code: failure.Auth, Message: `Authentication failed for "x". Run '/login x' to re-authenticate.`},
		"Monthly usage limit reached":                                                  {Code: failure.RateLimit, Message: "quota or credit exhausted: Monthly usage limit reached"},
		"The model is overloaded":                                                      {Code: failure.Unknown, Retriable: true, Message: "The model is overloaded"},
		"4000 tokens":                                                                  {Code: failure.Unknown, Retriable: true, Message: "4000 tokens"},
		"Codex error: 500 monkeys":                                                     {Code: failure.Unknown, Retriable: true, Message: "Codex error: 500 monkeys"},
	}
	texts := slices.Sorted(maps.Keys(tests))
	var all script
	for _, text := range texts {
		all.Turns = append(all.Turns, turnOf(ended("", "error", `,"errorMessage":`+quoted(text))))
	}
	s := newFake(t, all).start(t, agent.Options{})
	for _, text := range texts {
		got, _ := agenttest.Turn(t, s, "go")
		if e, ok := errors.AsType[*failure.Error](got.Err); !ok || *e != tests[text] {
			t.Errorf("%s:\ngot  %+v\nwant %+v", text, got.Err, tests[text])
		}
	}
}

func TestASubscriptionThatIsUsedUp(t *testing.T) {
	f := newFake(t, script{Turns: [][]string{turnOf(ended("", "error", `,"errorMessage":"You have hit your ChatGPT usage limit (plus plan). Try again in ~90 min."`))}})
	got, _ := agenttest.Turn(t, f.start(t, agent.Options{}), "go")
	l, ok := errors.AsType[*failure.Limited](got.Err)
	if !ok || l.Cause.Code != failure.RateLimit || time.Until(l.Until) < 90*time.Minute || time.Until(l.Until) > 91*time.Minute {
		t.Errorf("got %v", got.Err)
	}
}
