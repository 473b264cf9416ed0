package webui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestALoginLinkOpensTheWebUI once, in the browser that opens it.
func TestALoginLinkOpensTheWebUI(t *testing.T) {
	t.Parallel()
	mine, other := openBrowser(t, 1000, 800), openBrowser(t, 1000, 800)
	s := newFixture(t, greetGo)
	const page = "/namespaces/default/workflows"
	link := s.login(page)

	mine.open(s.ui + page)
	mine.awaitText("This page is locked")
	mine.keep("1-locked")
	mine.open(link)
	mine.awaitAddress(s.ui + page)
	if shown := mine.text(); strings.Contains(shown, "locked") {
		t.Errorf("with a session: %s", shown)
	}
	other.open(link)
	other.awaitText("this link was already used")
	other.open(s.ui + page)
	other.awaitText("This page is locked")
	// Who is in may use a link again.
	mine.open("about:blank")
	mine.open(link)
	mine.awaitAddress(s.ui + page)
}

// TestAPageOfAnotherPortCannotUseASession: for a browser it is the same fixture, and gets the cookie.
func TestAPageOfAnotherPortCannotUseASession(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1000, 800)
	s := newFixture(t, greetGo)
	b.enter(s)
	var stolen string
	theirs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			stolen = r.Header.Get("Cookie")
		}
		w.Header().Set("Content-Type", "text/html")
	}))
	defer theirs.Close()
	const read = `return fetch(arguments[0], {credentials: "include"}).then(r => r.text()).catch(e => "nothing")`
	namespaces := s.ui + "/api/v1/namespaces"
	if got := eval[string](b, read, namespaces); !strings.Contains(got, "default") {
		t.Fatalf("its own page reads %s", got)
	}
	b.open(theirs.URL)
	if !strings.Contains(stolen, "ratchet_review_") {
		t.Errorf("the cookie did not come along, and the test shows nothing: %q", stolen)
	}
	if got := eval[string](b, read, namespaces); got != "nothing" {
		t.Errorf("it reads %s", got)
	}
}
