package review_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/ticket"
	flow "github.com/ratchet-dev/ratchet/workflows/forge"
)

// A ticket that asks is in the queue, and is answered on its page. An answer to another question changes nothing.
func TestATicketIsAnswered(t *testing.T) {
	s := atGate(t, review.Config{})
	s.engine.ticket = &runs.TicketView{Name: "git.example/acme/shop#7", Open: true, State: ticket.State{
		Step: ticket.Waiting, Title: "Trim <b>titles</b>", Run: runID, Pull: 3, URL: "javascript:alert(1)", Question: &ticket.Question{Key: "locked", Text: "the issue is locked"},
	}}
	v := s.enter("kim")
	path := "/tickets/" + url.PathEscape(s.engine.ticket.Name)
	if r := v.get("/"); !strings.Contains(r.body, path) || !strings.Contains(r.body, "the issue is locked") {
		t.Errorf("the queue has no ticket: %s", r.body)
	}
	page := v.get(path)
	if page.code != http.StatusOK || !strings.Contains(page.body, "the issue is locked") || !strings.Contains(page.body, "Trim &lt;b&gt;") || strings.Contains(page.body, "javascript:") {
		t.Errorf("got %d %s, want the question, and no script", page.code, page.body)
	}
	if r := v.get("/tickets/none%231"); r.code != http.StatusNotFound {
		t.Errorf("a ticket that is not there: got %d", r.code)
	}
	for _, row := range []struct {
		id, verb, text string
		code, took     int
	}{
		{"another", "continue", "", http.StatusConflict, 0},
		{"locked", "", " ", http.StatusConflict, 0},
		{"locked", "", "leave the API alone", http.StatusSeeOther, 1},
		{"locked", "continue", "", http.StatusConflict, 1},
	} {
		r := v.post(path+"/answer", url.Values{"token": {v.token()}, "id": {row.id}, "verb": {row.verb}, "text": {row.text}})
		if r.code != row.code || len(s.engine.messages()) != row.took {
			t.Errorf("%+v: got %d and messages %v", row, r.code, s.engine.messages())
		}
	}
	if got := fmt.Sprint(s.engine.messages()); got != "[git.example/acme/shop#7: leave the API alone]" {
		t.Errorf("got %s", got)
	}
}

// The page of a run leads to its pull request and its checks on the server.
func TestARunLeadsToItsPullRequest(t *testing.T) {
	s := atGate(t, review.Config{})
	s.engine.pull = &flow.Result{}
	s.engine.pull.Number, s.engine.pull.URL, s.engine.pull.Opened.Checks = 3, "https://git.example/acme/shop/pull/3", "https://git.example/acme/shop/pull/3/checks"
	if body := s.enter("kim").get("/runs/r1").body; !strings.Contains(body, `href="https://git.example/acme/shop/pull/3" rel="noreferrer">Pull request #3`) || !strings.Contains(body, "pull/3/checks") {
		t.Errorf("got %s, want the links", body)
	}
}

// A run, a session and a ticket that wait are one queue: each page leads to the next, and a decision, too.
func TestTheQueueIsWalked(t *testing.T) {
	s := asksForTool(t)
	s.engine.ticket = &runs.TicketView{Name: "git.example/acme/shop#7", Since: time.Now().Add(-2 * time.Hour), Open: true, State: ticket.State{Step: ticket.Waiting, Title: "Cents", Question: &ticket.Question{Key: "locked", Text: "the issue is locked"}}}
	v := s.enter("kim")
	queue, at := v.get("/").body, -1
	paths := []string{"/tickets/git.example%2Facme%2Fshop%237", "/sessions/s1", "/runs/r1"}
	for i, path := range paths {
		next := strings.Index(queue, `class="row" href="`+path+`"`)
		if next < at || next < 0 {
			t.Errorf("%s has no row, or a wrong place", path)
		}
		at = next
		page := v.get(path).body
		if !strings.Contains(page, fmt.Sprintf("%d of 3", i+1)) || !strings.Contains(page, "<title>(3) ") || strings.Contains(page, `rel="next"`) != (i < 2) || strings.Contains(page, `rel="prev"`) != (i > 0) {
			t.Errorf("%s is not at place %d", path, i+1)
		}
	}
	token := v.formToken()
	for i, form := range []url.Values{{"id": {"locked"}, "verb": {"retry"}}, {"id": {"apr-1"}, "verb": {"approve"}}} {
		form.Set("token", token)
		r := v.post(paths[i]+[]string{"/answer", "/decide"}[i], form)
		if to, _, _ := strings.Cut(r.header.Get("Location"), "?"); r.code != http.StatusSeeOther || to != paths[i+1] {
			t.Errorf("a decision at %s leads to %d %s, want %s", paths[i], r.code, to, paths[i+1])
		}
	}
}
