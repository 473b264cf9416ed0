package review_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
)

// short returns a page, and the code of a short link to its run.
func short(t *testing.T, c review.Config) (s *served, code string) {
	t.Helper()
	s = atGate(t, c)
	link := s.server.Place().Short(t.Context(), s.server.Place().Login("kim", "/runs/r1", time.Now()))
	code, ok := strings.CutPrefix(link, s.server.URL+"/l/")
	if !ok || len(code) != 16 {
		t.Fatalf("the short link is %s", link)
	}
	return s, code
}

// A short link logs in once, by a script and not by being looked at, and leads a browser that is logged in to its page.
func TestAShortLinkLogsInOnce(t *testing.T) {
	s, code := short(t, review.Config{})
	v := s.visitor()
	for range 2 { // as a messenger does that shows what is behind a link
		if r := v.get("/l/" + code); r.code != http.StatusUnauthorized || r.header.Get("Set-Cookie") != "" {
			t.Errorf("a look: %d, cookie %q", r.code, r.header.Get("Set-Cookie"))
		}
	}
	if r := v.redeem("#" + code); r.code != http.StatusOK || r.body != "/runs/r1" {
		t.Errorf("login: %d %s", r.code, r.body)
	}
	if r := v.get("/l/" + code); r.code != http.StatusSeeOther || r.header.Get("Location") != "/runs/r1" {
		t.Errorf("a second tap in the same browser: %d to %s", r.code, r.header.Get("Location"))
	}
	if r := s.visitor().redeem("#" + code); r.code != http.StatusUnauthorized || !strings.Contains(r.body, "already used") {
		t.Errorf("another browser: %d %s", r.code, r.body)
	}
	if r := s.enter("lee").get("/l/" + code + "x"); r.code == http.StatusSeeOther {
		t.Errorf("another code leads to %s", r.header.Get("Location"))
	}
}

// Who has no login link gets no short one.
func TestWhoMayShortenALink(t *testing.T) {
	s, other := atGate(t, review.Config{}), atGate(t, review.Config{})
	good := func() string {
		_, fragment, _ := strings.Cut(s.server.Place().Login("kim", "/", time.Now()), "#")
		return fragment
	}
	ask := func(v *visitor, fragment string) reply {
		return v.send(http.MethodPost, "/links", "text/plain", fragment)
	}
	_, foreign, _ := strings.Cut(other.server.Place().Login("kim", "/", time.Now()), "#")
	_, old, _ := strings.Cut(s.server.Place().Login("kim", "/", time.Now().Add(-time.Hour)), "#")
	for name, fragment := range map[string]string{"nothing": "", "a word": "ABCDEFGHIJKLMNOP/", "a link of another page": foreign, "an old link": old, "another name": strings.Replace(good(), ".", ".1", 1)} {
		if r := ask(s.visitor(), fragment); r.code != http.StatusUnauthorized || strings.Contains(r.body, "/l/") {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
	evil := s.visitor()
	evil.origin = "http://evil.example"
	if r := ask(evil, good()); r.code != http.StatusForbidden {
		t.Errorf("a page of another origin: %d %s", r.code, r.body)
	}
	if r := ask(s.visitor(), good()); r.code != http.StatusOK {
		t.Errorf("control: %d %s", r.code, r.body)
	}
}

// The link of a notice is for a person who may decide, and not for the owner of the engine.
func TestTheLinkOfANotice(t *testing.T) {
	s := failed(t)
	link := s.server.NoticeLink("kim", review.RunPath(runID))
	_, code, _ := strings.Cut(link, "/l/")
	v := s.visitor()
	if r := v.redeem("#" + code); r.code != http.StatusOK || r.body != review.RunPath(runID) {
		t.Fatalf("login by %s: %d %s", link, r.code, r.body)
	}
	token := v.formToken()
	if r := v.post("/start", url.Values{"token": {token}, "once": {"A"}, "goal": {"x"}, "repo": {"/src/greeter"}}); r.code != http.StatusForbidden {
		t.Errorf("it starts a run: %d", r.code)
	}
	if r := v.post("/runs/r1/retry", url.Values{"token": {token}, "once": {"A"}}); r.code != http.StatusSeeOther {
		t.Errorf("control: %d %s", r.code, r.body)
	}
}
