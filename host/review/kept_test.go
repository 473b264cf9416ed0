package review_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// refuse rejects the pending patch and ends its phase.
func (e *engine) refuse(final bool) {
	e.emit(run.ApprovalRejected{ApprovalID: e.pending(), Final: final})
	if e.s.Outcome == "" {
		e.emit(run.PhaseFailed{Error: e.s.Problem})
		return
	}
	e.emit(run.PhaseCompleted{Result: e.s.Outcome})
}

// A browser sends a line feed as two characters, of which a terminal and a prompt would show the first.
func TestLinesOfAFormEndAsAPersonWroteThem(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	form := v.yes()
	form.Set("verb", "reject")
	form.Set("text", "split it\r\nin two")
	note := url.Values{"token": {v.token()}, "once": {"ABCDEFGHIJ"}, "text": {"one\r\ntwo"}}
	if code, other := v.post(decidePath, form).code, v.post("/runs/r1/note", note).code; code != http.StatusSeeOther || other != http.StatusSeeOther {
		t.Fatalf("answered with %d and %d", code, other)
	}
	if took := strings.Join(s.engine.messages(), "|"); strings.Contains(took, "\r") || !strings.Contains(took, "split it\nin two") || !strings.Contains(took, "one\ntwo") {
		t.Errorf("the run has taken %q", took)
	}
}

// What a person has written into a form that is not taken is in the answer: the browser keeps nothing of a page that is
// not to be stored, and where the page has a field for it, it is there once.
func TestTheWordsOfAFormThatIsNotTakenAreShown(t *testing.T) {
	const words, remark = "split it in two", "why a comma"
	for name, tt := range map[string]struct {
		before func(s *served, v *visitor)
		code   int
	}{
		"the session ended with the page's process": {func(_ *served, v *visitor) { v.cookie = "" }, http.StatusUnauthorized},
		"the form is of another session":            {func(s *served, v *visitor) { v.cookie = s.enter("kim").cookie }, http.StatusForbidden},
		"another has approved meanwhile": {func(s *served, _ *visitor) {
			s.engine.emit(run.ApprovalGranted{ApprovalID: s.engine.pending(), By: "lee"})
		}, http.StatusConflict},
		"the run is over": {func(s *served, _ *visitor) {
			s.engine.refuse(true)
			s.engine.emit(run.RunCanceled{})
		}, http.StatusConflict},
		"another patch waits": {func(s *served, _ *visitor) {
			s.engine.refuse(false)
			s.engine.emit(run.PhaseStarted{Role: run.Fixer})
			s.engine.propose("put a dash", patchText)
		}, http.StatusConflict},
		"nobody knows": {func(s *served, _ *visitor) { s.engine.lost = errors.New("the answer was lost") }, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			s := atGate(t, review.Config{})
			v := s.enter("kim")
			form := v.yes()
			form.Set("verb", "reject")
			form.Set("text", words)
			form.Set("remark:new:4:greet.go", remark)
			tt.before(s, v)
			r := v.post(decidePath, form)
			if r.code != tt.code || strings.Count(r.body, words) != 1 || strings.Count(r.body, remark) != 1 {
				t.Errorf("%d: %s", r.code, r.body)
			}
			if known := strings.Contains(r.body, "Nothing was changed"); known != (tt.code != http.StatusInternalServerError) {
				t.Errorf("that nothing was changed is said: %v: %s", known, r.body)
			}
		})
	}
}

// The link to a patch never leads to another: who follows it looks at what the page beside it is about.
func TestALinkToAPatchLeadsToNoOther(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	of := url.Values{"approval": {s.engine.pending()}, "file": {"0"}}.Encode()
	for _, path := range []string{"/runs/r1/patch?" + of, "/runs/r1/file?" + of} {
		if r := v.get(path); r.code != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
	s.engine.refuse(false)
	s.engine.emit(run.PhaseStarted{Role: run.Fixer})
	s.engine.propose("put a dash", patchText+"\n")
	for _, path := range []string{"/runs/r1/patch?" + of, "/runs/r1/file?" + of} {
		if r := v.get(path); r.code != http.StatusNotFound || strings.Contains(r.body, "Hello") {
			t.Errorf("of the earlier patch: %s: %d %s", path, r.code, r.body)
		}
	}
	if r := v.get("/runs/r1/patch"); r.code != http.StatusOK {
		t.Errorf("control: %d %s", r.code, r.body)
	}
}
