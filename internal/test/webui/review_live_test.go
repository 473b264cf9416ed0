package webui_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// TestEventsReachThePage has a run go through rejections while its page is open, and holds that each event that a page
// shows comes to it by itself. It prints how long after the event that was.
func TestEventsReachThePage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1400, 1000)
	s := newFixture(t, greetGo)
	server := reviewOf(s)
	client := runs.New(s.client, temporalclient.TaskQueue)
	b.enterReview(server, "/")
	answers := map[string]string{"plan-1": plan, "execute-1": greeting("put a comma after Hello", `"Hello " + name`, `"Hello, " + name`)}
	const rounds = 12
	for i := range rounds {
		answers[fmt.Sprintf("fix-%d", i+2)] = greeting(fmt.Sprintf("fix %d", i+2), `"Hello " + name`, fmt.Sprintf(`"Hello, " + name + "%d"`, i))
	}
	in := s.input("Greet people politely", s.replay(answers), "true")
	s.begin(in)
	await(t, "the run asks", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
	b.open(server.URL + review.RunPath(in.RunID))
	b.awaitText("put a comma")
	eval[any](b, `window.seen = {};
		new MutationObserver(() => { for (const e of document.querySelectorAll("[data-event]")) window.seen[e.dataset.event] ??= Date.now(); })
			.observe(document.body, {childList: true, subtree: true})`)
	first := *s.state(in.RunID).LastEventID
	for i := range rounds {
		id := s.state(in.RunID).PendingApprovalID
		if err := client.Decide(t.Context(), in.RunID, run.Decision{ApprovalID: id, Decision: run.Reject, Reason: "again"}); err != nil {
			t.Fatal(err)
		}
		await(t, "the next patch waits", func() bool {
			st := s.state(in.RunID)
			return st.Status == run.AwaitingApproval && st.Iteration == i+2
		})
		b.awaitText(fmt.Sprintf("fix %d", i+2))
	}
	events, err := client.Events(t.Context(), in.RunID, first)
	if err != nil {
		t.Fatal(err)
	}
	seen := eval[map[string]float64](b, "return window.seen")
	var late []time.Duration
	for _, e := range events {
		if e.Type == run.PhaseCompletedEvent { // the page has no line for it
			continue
		}
		at, ok := seen[e.ID]
		if !ok {
			t.Errorf("%s, %s, did not come to the page", e.ID, e.Type)
			continue
		}
		late = append(late, time.UnixMilli(int64(at)).Sub(e.TS))
	}
	slices.Sort(late)
	if len(late) < rounds*3 {
		t.Fatalf("only %d events", len(late))
	}
	t.Logf("%d events came to the page: p50 %v, p95 %v, worst %v after the event", len(late), late[len(late)/2].Round(time.Millisecond), late[len(late)*95/100].Round(time.Millisecond), late[len(late)-1].Round(time.Millisecond))
}

// TestANoteThatIsWrittenStays has a run end while a person writes a note: neither the page nor the answer drops the words.
func TestANoteThatIsWrittenStays(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 390, 844)
	s := newFixture(t, greetGo)
	server := reviewOf(s)
	b.enterReview(server, "/")
	in := s.input("Greet people politely", s.replay(map[string]string{"plan-1": plan, "execute-1": greeting("put a comma", `"Hello " + name`, `"Hello, " + name`)}), "true")
	s.begin(in)
	await(t, "the run asks", func() bool { return s.state(in.RunID).Status == run.AwaitingApproval })
	b.open(server.URL + review.RunPath(in.RunID))
	b.awaitText("put a comma")
	b.paste("//textarea[@id='note']", "prefer a colon")
	if err := runs.New(s.client, temporalclient.TaskQueue).Cancel(t.Context(), in.RunID); err != nil {
		t.Fatal(err)
	}
	await(t, "the page tells of the end", func() bool { return !eval[bool](b, `return !!document.getElementById("decide")`) })
	if note := eval[string](b, `const note = document.getElementById("note"); return note ? note.value : ""`); note != "prefer a colon" {
		t.Errorf("the note is now %q", note)
	}
	b.click("//form[contains(@action,'/note')]//button")
	b.awaitText("What you wrote")
	b.awaitText("prefer a colon")
}
