package dispatch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

const gid = "20260612T093000-0a1b2c"

func TestGardenID(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"a stamp and a tag":             {gid, true},
		"a stamp that is no time":       {"20260612T999999-bbbbbb", true},
		"empty":                         {"", false},
		"a path":                        {"../escape", false},
		"a path behind an id":           {gid + "/../x", false},
		"upper-case digits":             {"20260612T093000-0A1B2C", false},
		"five digits":                   {"20260612T093000-0a1b2", false},
		"seven digits":                  {"20260612T093000-0a1b2c3", false},
		"a newline behind it":           {gid + "\n", false},
		"a space before it":             {" " + gid, false},
		"digits of another script":      {"２0260612T093000-0a1b2c", false},
		"a small t":                     {"20260612t093000-0a1b2c", false},
		"a zero byte":                   {gid + "\x00", false},
		"the id of a run":               {"run-0197f3c2", false},
		"two ids":                       {gid + gid, false},
		"a letter that is no hex digit": {"20260612T093000-0a1b2g", false},
	} {
		if _, err := dispatch.ParseGardenID(tt.text); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		id := dispatch.GardenID("unchanged")
		if err := id.UnmarshalText([]byte(tt.text)); (err == nil) != tt.ok || !tt.ok && id != "unchanged" {
			t.Errorf("%s: decoded to %q, %v", name, id, err)
		}
	}
}

func TestNewGardenIDIsLocalTime(t *testing.T) {
	at := time.Date(2026, 6, 12, 23, 30, 1, 0, time.FixedZone("east", 9*3600))
	id := dispatch.NewGardenID(at, [3]byte{0x0a, 0x1b, 0x2c})
	if id != "20260612T233001-0a1b2c" || id.Validate() != nil {
		t.Error(id)
	}
}

// inputs are decoded by Input, and with wants_reply and a message by Request.
var inputs = map[string]struct {
	text string
	ok   bool
}{
	"the two members that are needed": {`{"target":"` + gid + `","intent":"owned-outcome"}`, true},
	"all members":                     {`{"target":"` + gid + `","intent":"fire-and-forget","mode":"steer","wantsReply":true}`, true},
	"no reply wanted":                 {`{"target":"` + gid + `","intent":"fire-and-forget","mode":"follow_up","wantsReply":false}`, true},
	"an unknown member":               {`{"target":"` + gid + `","intent":"fire-and-forget","provider":"x"}`, false},
	"a member in other letters":       {`{"Target":"` + gid + `","intent":"fire-and-forget"}`, false},
	"no target":                       {`{"intent":"fire-and-forget"}`, false},
	"a null target":                   {`{"target":null,"intent":"fire-and-forget"}`, false},
	"a malformed target":              {`{"target":"20260612","intent":"fire-and-forget"}`, false},
	"a number as target":              {`{"target":7,"intent":"fire-and-forget"}`, false},
	"no intent":                       {`{"target":"` + gid + `"}`, false},
	"an unknown intent":               {`{"target":"` + gid + `","intent":"spawn"}`, false},
	"an empty intent":                 {`{"target":"` + gid + `","intent":""}`, false},
	"an unknown mode":                 {`{"target":"` + gid + `","intent":"fire-and-forget","mode":"followUp"}`, false},
	"an empty mode":                   {`{"target":"` + gid + `","intent":"fire-and-forget","mode":""}`, false},
	"a null mode":                     {`{"target":"` + gid + `","intent":"fire-and-forget","mode":null}`, false},
	"a null reply":                    {`{"target":"` + gid + `","intent":"fire-and-forget","wantsReply":null}`, false},
	"a text as reply":                 {`{"target":"` + gid + `","intent":"fire-and-forget","wantsReply":"yes"}`, false},
	"a list":                          {`[]`, false},
	"null":                            {`null`, false},
}

// asRequest respells an input as the tools do.
func asRequest(text, message string) string {
	m, _ := json.Marshal(message)
	text = strings.ReplaceAll(text, "wantsReply", "wants_reply")
	return strings.Replace(text, "{", `{"message":`+string(m)+`,`, 1)
}

func TestInput(t *testing.T) {
	for name, tt := range inputs {
		var in dispatch.Input
		if err := in.UnmarshalJSON([]byte(tt.text)); (err == nil) != tt.ok || !tt.ok && in != (dispatch.Input{}) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
		var r dispatch.Request
		if err := r.UnmarshalJSON([]byte(asRequest(tt.text, "hello"))); (err == nil) != tt.ok || !tt.ok && r != (dispatch.Request{}) {
			t.Errorf("%s: request %+v, %v", name, r, err)
		}
		if tt.ok && (r.Input() != in || r.Validate() != nil) {
			t.Errorf("%s: %+v of %+v, %v", name, r.Input(), r, r.Validate())
		}
	}
}

func TestInputRoundTrip(t *testing.T) {
	want := `{"target":"` + gid + `","intent":"fire-and-forget","mode":"steer","wantsReply":true}`
	var in dispatch.Input
	if err := json.Unmarshal([]byte(want), &in); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(in); err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	bare := dispatch.Input{Target: gid, Intent: dispatch.OwnedOutcome}
	if b, err := json.Marshal(bare); err != nil || string(b) != `{"target":"`+gid+`","intent":"owned-outcome"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestEachSurfaceHasItsOwnSpelling(t *testing.T) {
	text := `{"target":"` + gid + `","intent":"fire-and-forget",%s}`
	if err := new(dispatch.Input).UnmarshalJSON(fmt.Appendf(nil, text, `"wants_reply":true`)); err == nil {
		t.Error("an input took wants_reply")
	}
	if err := new(dispatch.Input).UnmarshalJSON(fmt.Appendf(nil, text, `"message":"x"`)); err == nil {
		t.Error("an input took a message")
	}
	if err := new(dispatch.Request).UnmarshalJSON(fmt.Appendf(nil, text, `"message":"x","wantsReply":true`)); err == nil {
		t.Error("a request took wantsReply")
	}
	if err := new(dispatch.Request).UnmarshalJSON(fmt.Appendf(nil, text, `"wants_reply":true`)); err == nil {
		t.Error("a request went without a message")
	}
}

// messages say which texts can be sent.
var messages = map[string]struct {
	text string
	ok   bool
}{
	"one character":                      {"x", true},
	"the most":                           {strings.Repeat("x", dispatch.MaxMessage), true},
	"the most, of two bytes each":        {strings.Repeat("ü", dispatch.MaxMessage), true},
	"the most, of two UTF-16 units each": {strings.Repeat("🌱", dispatch.MaxMessage), true},
	"one too many":                       {strings.Repeat("x", dispatch.MaxMessage+1), false},
	"one too many, of two bytes each":    {strings.Repeat("ü", dispatch.MaxMessage+1), false},
	"empty":                              {"", false},
	"blank, which the peer judges":       {" \n", true},
	"looks like an option":               {"--help", true},
	"looks like a file":                  {"@/etc/passwd", true},
	"with a zero byte":                   {"a\x00b", true},
}

func TestMessage(t *testing.T) {
	for name, tt := range messages {
		in := dispatch.Request{Target: gid, Intent: dispatch.FireAndForget, Message: tt.text}
		if err := in.Validate(); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var r dispatch.Request
		if err := json.Unmarshal(b, &r); (err == nil) != tt.ok || tt.ok && r != in {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMessageIsUTF8(t *testing.T) {
	r := dispatch.Request{Target: gid, Intent: dispatch.FireAndForget, Message: "a\xffb"}
	if r.Validate() == nil {
		t.Error("a request that was made took it")
	}
	text := `{"target":"` + gid + `","intent":"fire-and-forget","message":"a` + "\xff" + `b"}`
	if json.Unmarshal([]byte(text), &r) == nil {
		t.Error("the decoder took it")
	}
}

func TestValidateRefuses(t *testing.T) {
	good := dispatch.Request{Target: gid, Intent: dispatch.FireAndForget, Message: "x"}
	for name, spoil := range map[string]func(*dispatch.Request){
		"the zero request's target": func(r *dispatch.Request) { r.Target = "" },
		"no intent":                 func(r *dispatch.Request) { r.Intent = "" },
		"an unknown mode":           func(r *dispatch.Request) { r.Mode = "later" },
	} {
		r := good
		if spoil(&r); r.Validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestSenderMissing(t *testing.T) {
	full := dispatch.Sender{SessionID: gid, AgentID: "pi", CWD: "/", Timestamp: "2026-06-12T00:00:00Z"}
	if names := full.Missing(); names != nil {
		t.Error(names)
	}
	if got := strings.Join(dispatch.Sender{}.Missing(), " "); got != "sessionId agentId cwd timestamp" {
		t.Error(got)
	}
	full.CWD = ""
	if got := strings.Join(full.Missing(), " "); got != "cwd" {
		t.Error(got)
	}
}
