package tools_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/runtools"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/tools"
)

func TestRuns(t *testing.T) {
	w := newFixture(t)
	c := w.connect(t)
	var list struct {
		Runs []struct{ RunID, Goal, Status string }
	}
	structured(t, c.call("ratchet_runs", ``), &list)
	if len(list.Runs) != 1 || list.Runs[0].RunID != "r-1" || list.Runs[0].Goal != "g" {
		t.Errorf("%+v", list)
	}
	c.call("ratchet_runs", `{"status":"awaiting_approval","max":3}`)
	if want := []runs.Filter{{Max: 20}, {Status: run.AwaitingApproval, Max: 3}}; !slices.Equal(w.engine.filters, want) {
		t.Errorf("%+v", w.engine.filters)
	}
	res := c.call("ratchet_run", `{"run":"r-"}`)
	if said(t, res) != `{"status":"awaiting_approval"}` || !reflect.DeepEqual(res.StructuredContent, map[string]any{"status": "awaiting_approval"}) || w.engine.names[0] != "r-" {
		t.Errorf("%s, %v, %q", said(t, res), res.StructuredContent, w.engine.names)
	}
}

func TestDecisions(t *testing.T) {
	w := newFixture(t)
	w.AllowDecisions = true
	c := w.connect(t)
	for _, row := range []struct{ tool, arguments, id, result string }{
		{"ratchet_approve", `{"run":"r","approvalId":"apr-1","reason":"fine","session":true}`, "apr-1", "approved"},
		{"ratchet_reject", `{"run":"r","approvalId":"apr-2","reason":"no","final":true}`, "apr-2", "rejected"},
		{"ratchet_answer", `{"run":"r","questionId":"qst-1-1","text":"42"}`, "qst-1-1", "answered"},
	} {
		var got map[string]string
		structured(t, c.call(row.tool, row.arguments), &got)
		if want := map[string]string{"runId": "r-1", "id": row.id, "result": row.result}; !maps.Equal(got, want) {
			t.Errorf("%s: %v", row.tool, got)
		}
	}
	const by = "prober by MCP"
	wantDecided := []run.Decision{
		{ApprovalID: "apr-1", Decision: run.Approve, By: by, Reason: "fine", Session: true},
		{ApprovalID: "apr-2", Decision: run.Reject, By: by, Reason: "no", Final: true},
	}
	wantReplied := []run.Reply{{QuestionID: "qst-1-1", Text: "42", By: by}}
	if e := w.engine; !reflect.DeepEqual(e.decided, wantDecided) || !reflect.DeepEqual(e.replied, wantReplied) || !slices.Equal(e.names, []string{"r", "r", "r"}) {
		t.Errorf("%+v, %+v, %q", e.decided, e.replied, e.names)
	}
}

func TestTheRecordSaysWhichAgentDecided(t *testing.T) {
	w := newFixture(t)
	w.AllowDecisions = true
	c := w.connect(t)
	decide := func() string {
		c.call("ratchet_approve", `{"run":"r","approvalId":"a"}`)
		return w.engine.decided[len(w.engine.decided)-1].By
	}
	w.isClaude(t)
	if by := decide(); by != "meta-session/claude-code "+string(claude) {
		t.Errorf("by %q", by)
	}
	w.vars["PI_SESSION_ID"], w.vars["PI_AGENT_ID"] = string(live), strings.Repeat("é", 99)
	if by := decide(); by != strings.Repeat("é", 50) {
		t.Errorf("by %q", by)
	}
}

func TestWhatARunRefusesIsOneLine(t *testing.T) {
	w := newFixture(t)
	w.AllowDecisions = true
	c := w.connect(t)
	w.engine.err = errors.Join(errors.New("approval \"a\":"), errors.New("nothing with that id is waiting"))
	for tool, arguments := range map[string]string{
		"ratchet_runs": `{}`, "ratchet_run": `{"run":"r"}`, "ratchet_approve": `{"run":"r","approvalId":"a"}`,
		"ratchet_reject": `{"run":"r","approvalId":"a"}`, "ratchet_answer": `{"run":"r","questionId":"q","text":"t"}`,
	} {
		if line := c.refused(tool, arguments); line != `approval "a": nothing with that id is waiting` {
			t.Errorf("%s: %q", tool, line)
		}
	}
}

func TestWaitingForARun(t *testing.T) {
	w := newFixture(t)
	c := w.connect(t)
	var got struct {
		Waits, Over bool
		Summary     string
		Pending     struct{ Approval struct{ ApprovalID string } }
	}
	structured(t, c.call("ratchet_run_wait", `{"run":"slug#1"}`), &got)
	if !got.Waits || got.Over || got.Pending.Approval.ApprovalID != "apr-1" || !strings.Contains(got.Summary, "needs the approval of a patch: put a comma") {
		t.Errorf("%+v", got)
	}
	structured(t, c.call("ratchet_run_wait", `{"run":"busy","seconds":1}`), &got)
	if got.Waits || got.Summary != "it is running and needs nothing" {
		t.Errorf("%+v", got)
	}
}

func TestAllThatWaits(t *testing.T) {
	var got struct{ Waiting []inbox.Entry }
	structured(t, newFixture(t).connect(t).call("ratchet_waiting", `{}`), &got)
	if len(got.Waiting) != 1 || got.Waiting[0].Kind != inbox.Session || got.Waiting[0].Wants != "allow" || got.Waiting[0].Command != "starter review shop-2" {
		t.Errorf("got %+v, want the session that asks", got)
	}
}

func TestTickets(t *testing.T) {
	w := newFixture(t)
	w.AllowDecisions = true
	c := w.connect(t)
	var got struct {
		Tickets []struct{ Name, Step, Question string }
	}
	structured(t, c.call("ratchet_tickets", `{}`), &got)
	if len(got.Tickets) != 1 || got.Tickets[0].Question != "the issue is locked" || got.Tickets[0].Step != "waiting" {
		t.Errorf("got %+v, want the ticket and its question", got)
	}
	c.call("ratchet_ticket_answer", `{"ticket":"git.example/acme/shop#7","text":"continue"}`)
	if want := []string{"git.example/acme/shop#7: continue"}; !reflect.DeepEqual(w.engine.names, want) {
		t.Errorf("got answers %v, want %v", w.engine.names, want)
	}
}

func TestARunIsStarted(t *testing.T) {
	w := newFixture(t)
	const arguments = `{"goal":"g","repository":"/src/slug","provider":"claude","checks":["go test ./..."]}`
	w.AllowStarts = true
	var got runtools.Started
	structured(t, w.connect(t).call("ratchet_run_start", arguments), &got)
	want := []tools.Start{{Goal: "g", Repository: "/src/slug", Provider: "claude", Checks: []string{"go test ./..."}}}
	if got.RunID != "r-2" || got.Name != "slug#2" || !reflect.DeepEqual(w.engine.started, want) {
		t.Errorf("%+v, %+v", got, w.engine.started)
	}
}
