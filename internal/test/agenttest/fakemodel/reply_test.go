package fakemodel_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// user, said, called and gave are messages of a conversation. The id of a call
// ends in its index in the script.
func user(texts ...string) fakemodel.Message {
	return fakemodel.Message{Role: fakemodel.User, Texts: texts}
}

func said(text string) fakemodel.Message {
	return fakemodel.Message{Role: fakemodel.Assistant, Texts: []string{text}}
}

func called(index int) fakemodel.Message {
	return fakemodel.Message{Role: fakemodel.Assistant, Calls: []fakemodel.ToolCall{{ID: fmt.Sprint("call_X_", index), Tool: "t"}}}
}

func gave(index int, text string) fakemodel.Message {
	result := fakemodel.Result{CallID: fmt.Sprint("call_X_", index), Text: text}
	return fakemodel.Message{Role: fakemodel.User, Results: []fakemodel.Result{result}}
}

func asked(messages ...fakemodel.Message) fakemodel.Request {
	return fakemodel.Request{Messages: messages, Tools: []string{"t"}}
}

// told is a reply in a line: what it says and calls, or how it goes wrong.
func told(r fakemodel.Reply) string {
	if f := r.Fault; f != nil {
		return strings.TrimSpace(fmt.Sprintf("fault %d %s %s hang=%v drop=%v", f.Status, f.Type, f.Text, f.Hang, f.Drop))
	}
	line := r.Text()
	for _, c := range r.Calls {
		line += fmt.Sprintf("<%s %s>", c.Tool, c.Input)
	}
	return line
}

const twoRounds = `do it [[tool:a {"x":"]]"}]] [[par:b]] [[tool:c {"n":1}]] [[say:all done]]`

func TestReply(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []fakemodel.Message
		want     string
	}{
		"no script":                      {[]fakemodel.Message{user("hello there")}, "ECHO: hello there"},
		"a script that says":             {[]fakemodel.Message{user("x [[say:one\ntwo]] y")}, "one\ntwo"},
		"a text in quotes holds all":     {[]fakemodel.Message{user(fakemodel.Say("<<<A>>>\n[[1]] \"q\""))}, "<<<A>>>\n[[1]] \"q\""},
		"texts add up":                   {[]fakemodel.Message{user("[[say:a]][[fill:20]]")}, "a0123456789abcdef0123"},
		"a script that says nothing":     {[]fakemodel.Message{user("[[usage:1,2]]")}, "DONE"},
		"a slow answer":                  {[]fakemodel.Message{user("[[slow:2]]")}, "slow0 slow1 "},
		"the first round":                {[]fakemodel.Message{user(twoRounds)}, `<a {"x":"]]"}><b {}>`},
		"half a round":                   {[]fakemodel.Message{user(twoRounds), called(0), gave(0, "ok")}, "<b {}>"},
		"the second round":               {[]fakemodel.Message{user(twoRounds), gave(1, "ok"), gave(0, "ok")}, `<c {"n":1}>`},
		"the final answer":               {[]fakemodel.Message{user(twoRounds), gave(0, "ok"), gave(1, "ok"), gave(2, "ok")}, "all done"},
		"the last result, without a say": {[]fakemodel.Message{user("[[tool:a]]"), gave(0, "ok 7")}, "TOOLS DONE: ok 7"},
		"a denied call is done":          {[]fakemodel.Message{user("[[tool:a]][[say:x]]"), gave(0, "The user denied it")}, "x"},
		"a result of an earlier script":  {[]fakemodel.Message{user("[[tool:a]]"), gave(0, "ok"), said("TOOLS DONE: ok"), user("[[tool:a]]")}, "<a {}>"},
		"a result of nobody's call":      {[]fakemodel.Message{user("[[tool:a]]"), {Role: fakemodel.User, Results: []fakemodel.Result{{CallID: "x_0"}}}}, "<a {}>"},

		"the last of two scripts":            {[]fakemodel.Message{user("[[say:a]]"), user("[[say:b]]")}, "b"},
		"the last of two in one message":     {[]fakemodel.Message{user("[[say:a]]", "[Request interrupted by user]", "[[say:b]]")}, "b"},
		"what the assistant says is none":    {[]fakemodel.Message{user("[[say:a]]"), said("[[say:b]]"), user("go on")}, "a"},
		"a message goes on with a script":    {[]fakemodel.Message{user(twoRounds), gave(0, "ok"), gave(1, "ok"), user("go on")}, `<c {"n":1}>`},
		"and gets its final answer":          {[]fakemodel.Message{user("[[tool:a]][[say:x]]"), gave(0, "ok"), user("go on")}, "x"},
		"part of an answer is not it":        {[]fakemodel.Message{user("[[slow:3]]"), said("slow0 slow1 "), user("go on")}, "slow0 slow1 slow2 "},
		"after the end it is an echo again":  {[]fakemodel.Message{user("[[say:x]]"), said("x"), user("more")}, "ECHO: more"},
		"what clients add is not echoed":     {[]fakemodel.Message{user("[[say:x]]"), said("x"), user("more", "<system-reminder>\nhm")}, "ECHO: more"},
		"asked again after the end":          {[]fakemodel.Message{user("[[say:x]]"), said("x")}, "x"},
		"a hang where it stands":             {[]fakemodel.Message{user("[[tool:a]][[hang]]")}, "<a {}>"},
		"a hang after its round":             {[]fakemodel.Message{user("[[tool:a]][[hang]]"), gave(0, "ok")}, "fault 0   hang=true drop=false"},
		"a cut stream":                       {[]fakemodel.Message{user("[[drop]][[tool:a]]")}, "fault 0   hang=false drop=true"},
		"an error":                           {[]fakemodel.Message{user("[[error:400:bad_request:no: never]]")}, "fault 400 bad_request no: never hang=false drop=false"},
		"an error that is only a status":     {[]fakemodel.Message{user("[[error:500]]")}, "fault 500   hang=false drop=false"},
		"a directive that cannot be read":    {[]fakemodel.Message{user("[[slow:x]]")}, `fault 400 invalid_request_error fakemodel: directive slow: strconv.Atoi: parsing "x": invalid syntax hang=false drop=false`},
		"a directive without its end":        {[]fakemodel.Message{user("[[say:x")}, "fault 400 invalid_request_error fakemodel: directive say: it has no end hang=false drop=false"},
		"an input without the directive end": {[]fakemodel.Message{user("[[tool:a {\"x\":\"]]\"}")}, "fault 400 invalid_request_error fakemodel: directive tool: it has no end hang=false drop=false"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(fakemodel.New().Reply(asked(tc.messages...))); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// The texts are those that Claude Code and Codex give to the model.
func TestAnInterruptedCallIsMadeAgain(t *testing.T) {
	for _, result := range []string{
		"[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]",
		"The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit). STOP what you are doing and wait for the user to tell you how to proceed.",
		"aborted",
		"Wall time: 2.0 seconds\naborted by user",
		"Tool execution aborted",
		"Operation aborted",
		"No result provided",
		"Tool permission request failed: AbortError: Tool permission stream closed before response received",
	} {
		again := fakemodel.New().Reply(asked(user("[[tool:a]][[say:x]]"), called(0), gave(0, result), user("go on")))
		if got := told(again); got != "<a {}>" {
			t.Errorf("after %q: %s", result, got)
		}
	}
	for _, result := range []string{"policy says no", `exec_command failed: Rejected("rejected by user")`, "the merge was aborted", ""} {
		if got := told(fakemodel.New().Reply(asked(user("[[tool:a]][[say:x]]"), called(0), gave(0, result)))); got != "x" {
			t.Errorf("after %q: %s", result, got)
		}
	}
}

func TestCallsHaveIdsOfTheirOwn(t *testing.T) {
	m := fakemodel.New()
	q := asked(user("[[tool:a]][[par:a]]"))
	first, second := m.Reply(q).Calls, m.Reply(q).Calls
	ids := map[string]bool{first[0].ID: true, first[1].ID: true, second[0].ID: true, second[1].ID: true}
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
	q.Messages = append(q.Messages, fakemodel.Message{Role: fakemodel.User, Results: []fakemodel.Result{{CallID: second[1].ID, Text: "ok"}}})
	if calls := m.Reply(q).Calls; len(calls) != 1 || !strings.HasSuffix(calls[0].ID, "_0") {
		t.Errorf("with the second done: %v", calls)
	}
}

func TestFaultsOfTheFirstRequestsAreCounted(t *testing.T) {
	m := fakemodel.New()
	for prompt, times := range map[string]int{"[[hang:1]][[say:x]]": 1, "[[drop:2]][[say:x]]": 2, "[[errorx:3:500:a:b]][[say:x]]": 3} {
		q := asked(user(prompt))
		m.Reply(fakemodel.Request{Messages: q.Messages}) // on the side
		for i := range times {
			if m.Reply(q).Fault == nil {
				t.Errorf("%s: request %d is answered", prompt, i+1)
			}
		}
		if got := told(m.Reply(q)); got != "x" {
			t.Errorf("%s: then %s", prompt, got)
		}
	}
}

func TestARequestOnTheSideIsAnsweredAtOnce(t *testing.T) {
	for prompt, want := range map[string]string{
		twoRounds:                         "A title",
		"[[slow:9]]":                      "A title",
		"[[hang]][[say:x]]":               "x",
		"[[error:400]]":                   "DONE",
		"make a title of: [[say:x]]":      "x",
		"nothing":                         "ECHO: nothing",
		strings.Repeat("long ", 60) + "ü": "ECHO: " + strings.Repeat("long ", 60)[101:] + "ü",
	} {
		if got := told(fakemodel.New().Reply(fakemodel.Request{Messages: []fakemodel.Message{user(prompt)}})); got != want {
			t.Errorf("%s: got %q, want %q", prompt, got, want)
		}
	}
}

func TestRepliesSayWhatTheyCost(t *testing.T) {
	for prompt, want := range map[string]fakemodel.TokenCount{
		"x":                     {Input: 1000, Output: 20},
		"[[usage:7,8]]":         {Input: 7, Output: 8},
		"[[usage: 7, 8, 5 ]]":   {Input: 7, Output: 8, Cached: 5},
		"[[usage:7]][[tool:a]]": {Input: 7, Output: 20},
	} {
		if got := fakemodel.New().Reply(asked(user(prompt))).Usage; got != want {
			t.Errorf("%s: %+v", prompt, got)
		}
	}
}

func TestTextComesInWholeRunes(t *testing.T) {
	text := strings.Repeat("añ☃𝄞", 100)
	r := fakemodel.New().Reply(asked(user(fakemodel.Say(text))))
	if r.Text() != text || len(r.Pieces) < 10 {
		t.Errorf("%d pieces of %q", len(r.Pieces), r.Text())
	}
	for _, p := range r.Pieces {
		if strings.ToValidUTF8(p, "") != p {
			t.Errorf("piece %q", p)
		}
	}
}

func TestDirectivesAreWritten(t *testing.T) {
	prompt := fakemodel.Tool("a", map[string]string{"x": "]]"}) + fakemodel.Par("b", struct{}{}) + fakemodel.Say("]]\n")
	m := fakemodel.New()
	if got := told(m.Reply(asked(user(prompt)))); got != `<a {"x":"]]"}><b {}>` {
		t.Errorf("calls %s", got)
	}
	if got := told(m.Reply(asked(user(prompt), gave(0, ""), gave(1, "")))); got != "]]\n" {
		t.Errorf("says %q", got)
	}
	if got := m.Requests(); len(got) != 2 || !reflect.DeepEqual(got[0].Messages, []fakemodel.Message{user(prompt)}) {
		t.Errorf("kept %+v", got)
	}
}
