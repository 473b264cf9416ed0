package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

func (c client) tools() map[string]*mcp.Tool {
	c.t.Helper()
	found := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(c.t.Context(), nil) {
		must(c.t, err)
		found[tool.Name] = tool
	}
	return found
}

func TestToolsAndTheirAnnotations(t *testing.T) {
	type hints struct{ readOnly, destructive, idempotent, openWorld bool }
	rows := []struct {
		name    string
		guarded bool // by a flag
		hints   hints
	}{
		{"entwurf_v2", false, hints{destructive: true, openWorld: true}},
		{"entwurf_peers", false, hints{readOnly: true, idempotent: true}},
		{"entwurf_self", false, hints{readOnly: true, idempotent: true}},
		{"entwurf_inbox_read", false, hints{}},
		{"ratchet_dispatches", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_runs", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_run", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_run_wait", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_waiting", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_tickets", false, hints{readOnly: true, idempotent: true}},
		{"ratchet_ticket_answer", true, hints{idempotent: true}},
		{"ratchet_run_start", true, hints{}},
		{"ratchet_approve", true, hints{destructive: true, idempotent: true}},
		{"ratchet_reject", true, hints{destructive: true, idempotent: true}},
		{"ratchet_answer", true, hints{idempotent: true}},
	}
	for _, allowed := range []bool{false, true} {
		w := newFixture(t)
		w.AllowDecisions, w.AllowStarts = allowed, allowed
		c := w.connect(t)
		found := c.tools()
		for _, row := range rows {
			tool := found[row.name]
			delete(found, row.name)
			if (tool != nil) != (allowed || !row.guarded) {
				t.Errorf("%s is there: %v, allowed: %v", row.name, tool != nil, allowed)
			}
			if tool == nil {
				if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: row.name}); err == nil {
					t.Errorf("%s can be called all the same", row.name)
				}
				continue
			}
			a := tool.Annotations
			if got := (hints{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint}); got != row.hints {
				t.Errorf("%s: %+v, want %+v", row.name, got, row.hints)
			}
			if tool.Description == "" || a.Title == "" {
				t.Errorf("%s has no description or no title", row.name)
			}
		}
		if len(found) != 0 {
			t.Errorf("more tools: %v", found)
		}
	}
}

func TestInputSchemas(t *testing.T) {
	w := newFixture(t)
	w.AllowDecisions = true
	found := w.connect(t).tools()
	for name, want := range map[string][]any{
		"entwurf_v2": {"target", "intent", "message"}, "entwurf_peers": nil, "entwurf_self": nil, "entwurf_inbox_read": {"gardenId"},
		"ratchet_dispatches": nil, "ratchet_runs": nil, "ratchet_run": {"run"}, "ratchet_approve": {"run", "approvalId"}, "ratchet_reject": {"run", "approvalId"},
		"ratchet_answer": {"run", "questionId", "text"},
	} {
		schema := found[name].InputSchema.(map[string]any)
		required, _ := schema["required"].([]any)
		if schema["type"] != "object" || schema["additionalProperties"] != false || !slices.Equal(required, want) {
			t.Errorf("%s: %v", name, schema)
		}
	}
	if got, want := found["entwurf_v2"].InputSchema, contract(t)["request"]; !reflect.DeepEqual(got, want) {
		t.Errorf("not the contract's request: %v\nwant %v", got, want)
	}
}

// contract are the schemas that the contract has checked in.
func contract(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("../../../internal/dispatch/schema.json")
	must(t, err)
	var file struct {
		Defs map[string]any `json:"$defs"`
	}
	must(t, json.Unmarshal(b, &file))
	return file.Defs
}

func TestTheOutputSchemaHasTheReceiptsOfTheContract(t *testing.T) {
	output := newFixture(t).connect(t).tools()["entwurf_v2"].OutputSchema.(map[string]any)
	got := output["properties"].(map[string]any)["receipt"].(map[string]any)["properties"].(map[string]any)
	want := map[string]any{}
	for _, branch := range contract(t)["receipt"].(map[string]any)["oneOf"].([]any) {
		for name := range branch.(map[string]any)["properties"].(map[string]any) {
			want[name] = nil
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("no member %s", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("members %v", got)
	}
	schema := resolve(t, output)
	for _, res := range results(t) {
		if err := schema.Validate(res.json(t)); err != nil {
			t.Errorf("%s: %v", res.name, err)
		}
	}
	for _, wrong := range []string{
		`{}`, `{"receipt":{"ok":true}}`, `{"receipt":{"ok":true,"observedLiveness":"asleep"}}`, `{"receipt":{"ok":true,"observedLiveness":null,"more":1}}`,
		`{"receipt":{"ok":true,"observedLiveness":null},"outcome":{"kind":"perhaps","transport":"spawn-bg","retrySafe":true}}`,
	} {
		var v any
		must(t, json.Unmarshal([]byte(wrong), &v))
		if schema.Validate(v) == nil {
			t.Errorf("it allows %s", wrong)
		}
	}
}

func resolve(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	b, err := json.Marshal(schema)
	must(t, err)
	var s jsonschema.Schema
	must(t, json.Unmarshal(b, &s))
	resolved, err := s.Resolve(nil)
	must(t, err)
	return resolved
}

func TestWrongArgumentsReachNobody(t *testing.T) {
	good := func(more string) string {
		return `{"target":"` + string(live) + `","intent":"fire-and-forget","message":"hi"` + more + `}`
	}
	rows := []struct{ name, tool, arguments, says string }{
		{"no arguments", "entwurf_v2", ``, "target is missing"},
		{"empty arguments", "entwurf_v2", `{}`, "target is missing"},
		{"null", "entwurf_v2", `null`, "not a JSON object"},
		{"a list", "entwurf_v2", `[]`, "not a JSON object"},
		{"an unknown member", "entwurf_v2", good(`,"model":"opus"`), `unknown members ["model"]`},
		{"the flag as the contract spells it", "entwurf_v2", good(`,"wantsReply":true`), `unknown members ["wantsReply"]`},
		{"a member given twice", "entwurf_v2", good(`,"message":"ho"`), "given twice"},
		{"a member in other letters", "entwurf_v2", good(`,"Mode":"steer"`), "unknown members"},
		{"an unknown mode", "entwurf_v2", good(`,"mode":"shout"`), `unknown mode "shout"`},
		{"a flag that is none", "entwurf_v2", good(`,"wants_reply":"yes"`), "wants_reply"},
		{"no intent", "entwurf_v2", `{"target":"` + string(live) + `","message":"hi"}`, "intent is missing"},
		{"an unknown intent", "entwurf_v2", `{"target":"` + string(live) + `","intent":"hope","message":"hi"}`, `unknown intent "hope"`},
		{"a target that is a path", "entwurf_v2", `{"target":"../x","intent":"fire-and-forget","message":"hi"}`, "invalid garden id"},
		{"a target in capitals", "entwurf_v2", `{"target":"20260612T093000-00000A","intent":"fire-and-forget","message":"hi"}`, "invalid garden id"},
		{"an empty message", "entwurf_v2", `{"target":"` + string(live) + `","intent":"fire-and-forget","message":""}`, "message is empty"},
		{"a message that is too long", "entwurf_v2", `{"target":"` + string(live) + `","intent":"fire-and-forget","message":"` + strings.Repeat("é", dispatch.MaxMessage+1) + `"}`, "at most 16000"},
		{"arguments where there are none", "entwurf_peers", `{"all":true}`, "all"},
		{"arguments where there are none", "entwurf_self", `{"as":"root"}`, "as"},
		{"no mailbox", "entwurf_inbox_read", `{}`, "gardenId"},
		{"a mailbox that is a path", "entwurf_inbox_read", `{"gardenId":"../x"}`, "gardenId"},
		{"an unknown member", "entwurf_inbox_read", `{"gardenId":"` + string(claude) + `","keep":true}`, "keep"},
		{"an unknown status", "ratchet_runs", `{"status":"sleeping"}`, "status"},
		{"dispatches to no garden id", "ratchet_dispatches", `{"gardenId":"x"}`, "gardenId"},
		{"no dispatches at most", "ratchet_dispatches", `{"max":0}`, "max"},
		{"none at most", "ratchet_runs", `{"max":0}`, "max"},
		{"too many", "ratchet_runs", `{"max":101}`, "max"},
		{"no run", "ratchet_run", `{}`, "run"},
		{"an approval without its id", "ratchet_approve", `{"run":"r"}`, "approvalId"},
		{"a final approval", "ratchet_approve", `{"run":"r","approvalId":"a","final":true}`, "final"},
		{"a decider of one's own", "ratchet_approve", `{"run":"r","approvalId":"a","by":"ada"}`, "by"},
		{"a rejection without its id", "ratchet_reject", `{"run":"r","final":true}`, "approvalId"},
		{"an answer without its question", "ratchet_answer", `{"run":"r","text":"t"}`, "questionId"},
	}
	w := newFixture(t)
	w.AllowDecisions = true
	c := w.connect(t)
	for _, row := range rows {
		if line := c.refused(row.tool, row.arguments); !strings.Contains(line, row.says) {
			t.Errorf("%s, %s: %q lacks %q", row.tool, row.name, line, row.says)
		}
	}
	if e := w.engine; len(e.letters)+len(e.filters)+len(e.names) > 0 {
		t.Errorf("the engine was asked: %+v", e)
	}
}

func TestArgumentsThatAreNotThereAreNone(t *testing.T) {
	w := newFixture(t)
	w.isClaude(t)
	c := w.connect(t)
	for _, tool := range []string{"entwurf_peers", "entwurf_self", "ratchet_runs"} {
		for _, arguments := range []string{``, `null`, `{}`} {
			if res := c.call(tool, arguments); res.IsError {
				t.Errorf("%s, %q: %s", tool, arguments, said(t, res))
			}
		}
	}
	for _, tool := range []string{"entwurf_inbox_read", "ratchet_run"} {
		c.refused(tool, `null`)
	}
}

func TestServeEnds(t *testing.T) {
	t.Run("when the client hangs up", func(t *testing.T) {
		c := newFixture(t).connect(t)
		must(t, c.in.Close())
		if err := <-c.ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("when it is told to, with a call under way", func(t *testing.T) {
		w := newFixture(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.engine.hold = func(ctx context.Context) { cancel(); <-ctx.Done() }
		c := w.serve(ctx, t, plainly).client(t)
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "entwurf_v2", Arguments: json.RawMessage(messageTo(live))}); err == nil {
			t.Log("answered while it ended")
		}
		if err := <-c.ended; err != nil || len(w.engine.sent()) != 1 {
			t.Errorf("%v, %d letters", err, len(w.engine.sent()))
		}
	})
	t.Run("with an error when its input breaks", func(t *testing.T) {
		broken := errors.New("broken")
		err := tools.Serve(t.Context(), newFixture(t).Config, iotest.ErrReader(broken), io.Discard)
		if !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

func messageTo(to dispatch.GardenID) string {
	return `{"target":"` + string(to) + `","intent":"fire-and-forget","message":"hi"}`
}
