package review_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/notify"
)

var replyKey = notify.Secret(strings.Repeat("k", 32))

// direct is a caller that is no browser.
func (s *served) direct() *visitor {
	v := s.visitor()
	v.origin = ""
	return v
}

func (v *visitor) answer(path string) reply { return v.send(http.MethodPost, path, "", "") }

// answersOf returns the paths that a notice offers.
func answersOf(s *served, kind notify.Kind) (paths []string) {
	for _, a := range s.server.NoticeAnswers("kim", notify.Notice{Kind: kind, RunID: runID, About: s.engine.pending()}) {
		paths = append(paths, strings.TrimPrefix(a.URL, s.server.URL))
	}
	return paths
}

// An answer of a notice decides once, about the patch that the notice was of, and by nobody who only looks at it.
func TestAnAnswerOfANotice(t *testing.T) {
	s := atGate(t, review.Config{})
	paths := answersOf(s, notify.Approval)
	if len(paths) != 1 || len(answersOf(s, notify.Completed)) != 0 {
		t.Fatalf("a patch has the answers %q", paths)
	}
	evil := s.visitor()
	evil.origin = "http://evil.example"
	for name, r := range map[string]reply{
		"a look":                      s.direct().get(paths[0]),
		"a page of another origin":    evil.answer(paths[0]),
		"a page of this origin":       s.visitor().answer(paths[0]),
		"another code":                s.direct().answer("/answer/ABCDEFGHIJKLMNOP"),
		"no code":                     s.direct().answer("/answer/"),
		"a form of the page directly": s.direct().answer("/runs/r1/decide"),
	} {
		if got := s.engine.messages(); r.code < 400 || len(got) > 0 {
			t.Fatalf("%s: %d, and the run took %q", name, r.code, got)
		}
	}
	if r := s.direct().answer(paths[0]); r.code != http.StatusOK {
		t.Fatalf("control: %d %s", r.code, r.body)
	}
	got := s.engine.messages()
	if len(got) != 1 || !strings.HasPrefix(got[0], "approve apr-") || !strings.Contains(got[0], " by kim ") {
		t.Errorf("the run took %q", got)
	}
	if r := s.direct().answer(paths[0]); r.code != http.StatusNotFound || len(s.engine.messages()) != 1 {
		t.Errorf("a second use: %d, the run took %q", r.code, s.engine.messages())
	}
}

// An answer to a patch that no longer waits is refused, and does not meet the one that waits now.
func TestAnAnswerToAStalePatch(t *testing.T) {
	s := atGate(t, review.Config{})
	paths := answersOf(s, notify.Permission)
	if len(paths) != 2 {
		t.Fatalf("a tool has the answers %q", paths)
	}
	s.engine.refuse(false)
	for _, path := range paths {
		if r := s.direct().answer(path); r.code != http.StatusConflict {
			t.Errorf("a stale answer: %d %s", r.code, r.body)
		}
	}
	if got := s.engine.messages(); len(got) > 0 {
		t.Errorf("the run took %q", got)
	}
}

// signed sends a reply to the webhook that is signed by a key.
func (s *served) signed(id string, at time.Time, key notify.Secret, body string) reply {
	v := s.direct()
	v.header = http.Header{notify.HeaderID: {id}, notify.HeaderTimestamp: {notify.Timestamp(at)}, notify.HeaderSignature: {key.Sign(id, at, []byte(body))}}
	return v.send(http.MethodPost, "/reply", "application/json", body)
}

// TestWhoMayReply attacks by replies, and approves afterwards with the same body.
func TestWhoMayReply(t *testing.T) {
	s := atGate(t, review.Config{ReplySecret: replyKey})
	now, approval := time.Now(), s.engine.pending()
	good := fmt.Sprintf(`{"runId":"r1","approvalId":%q,"decision":"approve","by":"kim"}`, approval)
	notice, err := notify.Notice{ID: "n1", Kind: notify.Approval, RunID: runID, About: approval}.Body("")
	if err != nil {
		t.Fatal(err)
	}
	unsigned := s.direct().send(http.MethodPost, "/reply", "application/json", good)
	altered := s.direct()
	altered.header = http.Header{notify.HeaderID: {"a1"}, notify.HeaderTimestamp: {notify.Timestamp(now)}, notify.HeaderSignature: {replyKey.Sign("a1", now, []byte(strings.Replace(good, "approve", "reject", 1)))}}
	browser := s.visitor()
	browser.header = http.Header{notify.HeaderID: {"a2"}, notify.HeaderTimestamp: {notify.Timestamp(now)}, notify.HeaderSignature: {replyKey.Sign("a2", now, []byte(good))}}
	for name, r := range map[string]reply{
		"no signature":                unsigned,
		"another key":                 s.signed("m1", now, notify.Secret(strings.Repeat("x", 32)), good),
		"an altered body":             altered.send(http.MethodPost, "/reply", "application/json", good),
		"a request of a browser":      browser.send(http.MethodPost, "/reply", "application/json", good),
		"an old timestamp":            s.signed("m2", now.Add(-time.Hour), replyKey, good),
		"a timestamp of the future":   s.signed("m3", now.Add(time.Hour), replyKey, good),
		"no id":                       s.signed("", now, replyKey, good),
		"a notice of ours":            s.signed("m4", now, replyKey, string(notice)),
		"another run":                 s.signed("m5", now, replyKey, strings.Replace(good, `"r1"`, `"r2"`, 1)),
		"a stale patch":               s.signed("m6", now, replyKey, strings.Replace(good, "apr-", "apr-0", 1)),
		"an unknown decision":         s.signed("m7", now, replyKey, strings.Replace(good, "approve", "merge", 1)),
		"no decision":                 s.signed("m8", now, replyKey, strings.Replace(good, "approve", "", 1)),
		"a name with a line feed":     s.signed("m9", now, replyKey, strings.Replace(good, "kim", `kim\nroot`, 1)),
		"a decision about a question": s.signed("m10", now, replyKey, `{"runId":"r1","questionId":"qst-1","decision":"approve"}`),
		"too long a body":             s.signed("m11", now, replyKey, good+strings.Repeat(" ", 20<<10)),
	} {
		if got := s.engine.messages(); r.code < 400 || len(got) > 0 {
			t.Fatalf("%s: %d, and the run took %q", name, r.code, got)
		}
	}
	if r := s.signed("good", now, replyKey, good); r.code != http.StatusOK {
		t.Fatalf("control: %d %s", r.code, r.body)
	}
	if got := s.engine.messages(); len(got) != 1 || !strings.Contains(got[0], " by kim (webhook) ") {
		t.Errorf("the run took %q", got)
	}
	if r := s.signed("good", now, replyKey, good); len(s.engine.messages()) != 1 {
		t.Errorf("a replay: got %d %s and %q, want no second message", r.code, r.body, s.engine.messages())
	}
	off := atGate(t, review.Config{})
	if r := off.signed("m1", now, nil, good); r.code != http.StatusUnauthorized {
		t.Errorf("a page without a webhook: %d %s", r.code, r.body)
	}
}

// A reply of which nobody knows whether it arrived is taken when it is sent again.
func TestAReplyIsSentAgain(t *testing.T) {
	s := atGate(t, review.Config{ReplySecret: replyKey})
	body := fmt.Sprintf(`{"runId":"r1","approvalId":%q,"decision":"approve","by":"kim"}`, s.engine.pending())
	now := time.Now()
	s.engine.lost = errors.New("the answer was lost")
	if r := s.signed("m1", now, replyKey, body); r.code != http.StatusInternalServerError {
		t.Fatalf("the answer is lost: got %d %s, want 500", r.code, r.body)
	}
	s.engine.lost = nil
	if r := s.signed("m1", now, replyKey, body); r.code == http.StatusUnauthorized {
		t.Errorf("sent again: got %d %s, want it to be taken or to be settled", r.code, r.body)
	}
}

// The notice of a session that asks for a tool is answered as that of a run.
func TestAnAnswerOfASession(t *testing.T) {
	s := asksForTool(t)
	n := notify.Notice{Kind: notify.SessionAsks, Session: "s1", About: "apr-1", Tool: true}
	list := s.server.NoticeAnswers("kim", n)
	if n.Tool = false; len(list) != 2 || len(s.server.NoticeAnswers("kim", n)) > 0 {
		t.Fatalf("a tool has the answers %+v", list)
	}
	path := strings.TrimPrefix(list[1].URL, s.server.URL)
	if r := s.direct().answer(path); r.code != http.StatusOK {
		t.Fatalf("%d %s", r.code, r.body)
	}
	if r := s.direct().answer(path); r.code != http.StatusNotFound {
		t.Errorf("a second time: %d %s", r.code, r.body)
	}
	if got := s.engine.messages(); len(got) != 1 || !strings.HasPrefix(got[0], "s1 approval: ") || !strings.Contains(got[0], "Decision:reject") || !strings.Contains(got[0], "By:kim") {
		t.Errorf("it took %q", got)
	}
	if to := review.NoticePath(n); to != "/sessions/s1" {
		t.Errorf("the link leads to %s", to)
	}
}
