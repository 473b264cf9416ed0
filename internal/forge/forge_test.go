package forge_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/forgetest"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

func TestParseRemote(t *testing.T) {
	for text, want := range map[string]string{
		"https://github.com/acme/shop.git":           "github.com/acme/shop",
		"https://github.com/acme/shop":               "github.com/acme/shop",
		"https://kim:secret@GitHub.com/acme/shop/":   "github.com/acme/shop",
		"http://127.0.0.1:3000/acme/shop.git":        "127.0.0.1:3000/acme/shop",
		"git@github.com:acme/shop.git":               "github.com/acme/shop",
		"ssh://git@git.example.com:2222/acme/shop":   "git.example.com/acme/shop",
		"github.com:acme/shop":                       "github.com/acme/shop",
		"/srv/git/shop.git":                          "",
		"../shop":                                    "",
		"file:///srv/git/shop.git":                   "",
		"https://github.com/acme":                    "",
		"https://gitlab.com/group/sub/shop.git":      "",
		"https://github.com/acme/shop%0aHost: evil":  "",
		"ext::sh -c touch% /tmp/x":                   "",
		"https://github.com/-x/shop.git":             "",
		"git@github.com:../../etc/passwd":            "",
		"https://github.com/acme/shop?x=1#fragment":  "github.com/acme/shop",
		"https://evil.example/github.com/acme/x.git": "",
	} {
		got, err := forge.ParseRemote(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("ParseRemote(%q): got %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseIssue(t *testing.T) {
	for text, want := range map[string]string{
		"https://github.com/acme/shop/issues/7":  "",
		"https://github.com/acme/shop/pull/7":    "is a pull request",
		"https://git.example/acme/shop/pulls/7":  "is a pull request",
		"https://github.com/acme/shop":           "invalid URL of an issue",
		"acme/shop#7":                            "invalid URL of an issue",
		"https://github.com/acme/shop/issues/0":  "invalid issue number",
		"https://github.com/acme/shop/issues/x7": "invalid issue number",
	} {
		repo, n, err := forge.ParseIssue(text)
		switch {
		case want == "" && (err != nil || n != 7 || repo.String() != "github.com/acme/shop"):
			t.Errorf("ParseIssue(%q): got %v, %d, %v; want issue 7 of github.com/acme/shop", text, repo, n, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("ParseIssue(%q): got error %v, want %q", text, err, want)
		}
	}
}

func TestServersThatAreRefused(t *testing.T) {
	good := forge.Server{Kind: forge.GitHub, URL: "https://github.com", Token: "0123456789"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*forge.Server){
		"unknown kind":  func(s *forge.Server) { s.Kind = "gitlab" },
		"invalid URL":   func(s *forge.Server) { s.URL = "https://github.com/acme" },
		"not encrypted": func(s *forge.Server) { s.URL = "http://git.example.com" },
		"malformed":     func(s *forge.Server) { s.Token = "two\r\nlines-of-a-token" },
		"empty":         func(s *forge.Server) { s.Token = "" },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want %q", s, err, want)
		}
	}
}

// open returns a client of a server that has branch main and a branch to merge, and the commit of that.
func open(t *testing.T, kind forge.Kind) (*forgetest.Server, *forge.Client, string) {
	t.Helper()
	s := forgetest.New(t, kind)
	dir := filepath.Join(t.TempDir(), "shop")
	gittest.Run(t, ".", "init", "-q", "-b", "main", dir)
	for _, branch := range []string{"main", "ratchet/1"} {
		gittest.Run(t, dir, "commit", "-q", "--allow-empty", "-m", branch)
		gittest.Run(t, dir, "push", "-q", s.Dir, "HEAD:refs/heads/"+branch)
	}
	repo, err := forge.ParseRemote(s.Remote())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Forge().Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, s.Branch("ratchet/1")
}

var kinds = []forge.Kind{forge.GitHub, forge.Gitea}

var pull = forge.NewPull{Branch: "ratchet/1", Base: "main", Title: "Trim titles", Body: "the goal", Draft: true}

func TestOnePullRequest(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			s, c, head := open(t, kind)
			ctx := t.Context()
			first, created, err := c.OpenPull(ctx, pull)
			if err != nil || !created || !first.Draft || !first.Open || first.Title != pull.Title || first.Head != head {
				t.Fatalf("got %+v, created %v, %v; want a new open draft at %s", first, created, err, head)
			}
			again, created, err := c.OpenPull(ctx, pull)
			if err != nil || created || again != first {
				t.Errorf("again: got %+v, created %v, %v; want %+v", again, created, err, first)
			}
			if err := c.SetReady(ctx, first); err != nil {
				t.Fatal(err)
			}
			if err := c.SetBody(ctx, first.Number, "another"); err != nil {
				t.Fatal(err)
			}
			found, err := c.FindPull(ctx, pull.Branch)
			if err != nil || found == nil || found.Draft || found.Title != pull.Title || found.Body != "another" {
				t.Errorf("got %+v, %v; want it ready, with the same title and another body", found, err)
			}
			s.Change(1, func(p *forgetest.Pull) { p.State, p.Merged = "closed", true })
			if found, err = c.FindPull(ctx, pull.Branch); err != nil || found == nil || found.Open || !found.Merged {
				t.Errorf("got %+v, %v; want it merged", found, err)
			}
			if found, err = c.FindPull(ctx, "ratchet/2"); err != nil || found != nil {
				t.Errorf("got %+v, %v; want none for another branch", found, err)
			}
			if n := len(s.Pulls()); n != 1 {
				t.Errorf("got %d pull requests, want 1", n)
			}
		})
	}
}

// An answer that is lost on the way, at any call, leaves one pull request and one status after the same call again.
func TestLostAnswersDoubleNothing(t *testing.T) {
	status := forge.Status{State: forge.Success, Context: "ratchet", Description: "1 commit"}
	for _, kind := range kinds {
		for _, call := range []string{"GET pulls", "POST pulls", "GET commits", "POST statuses"} {
			t.Run(string(kind)+" "+call, func(t *testing.T) {
				s, c, head := open(t, kind)
				s.Fail(call, forgetest.Fault{Lose: true})
				act := func() error {
					if _, _, err := c.OpenPull(t.Context(), pull); err != nil {
						return err
					}
					return c.SetStatus(t.Context(), head, status)
				}
				err := act()
				if e, ok := errors.AsType[*forge.Error](err); !ok || !e.Retriable() {
					if err != nil || strings.HasPrefix(call, "POST") { // net/http repeats a GET by itself
						t.Fatalf("got %v, want an error that is retriable", err)
					}
				}
				if err := act(); err != nil {
					t.Fatal(err)
				}
				if n, m := len(s.Pulls()), len(s.Statuses(head)); n != 1 || m != 1 {
					t.Errorf("got %d pull requests and %d statuses, want 1 and 1", n, m)
				}
			})
		}
	}
}

// Two workers open at the same moment: neither has found a pull request, and one of them is told that there is one.
func TestOpenedByAnotherMeanwhile(t *testing.T) {
	for _, kind := range kinds {
		s, c, _ := open(t, kind)
		if _, _, err := c.OpenPull(t.Context(), pull); err != nil {
			t.Fatal(err)
		}
		first, created, err := c.OpenAnyway(t.Context(), pull)
		if err != nil || created || first.Number != 1 {
			t.Errorf("%s: got %+v, created %v, %v; want number 1", kind, first, created, err)
		}
		if n := len(s.Pulls()); n != 1 {
			t.Errorf("%s: got %d pull requests, want 1", kind, n)
		}
	}
}

// A status is set anew only where it says something else.
func TestStatusesAreNotRepeated(t *testing.T) {
	for _, kind := range kinds {
		s, c, head := open(t, kind)
		a := forge.Status{State: forge.Pending, Context: "ratchet", Description: "runs", TargetURL: "https://example.com/r"}
		b := forge.Status{State: forge.Success, Context: "ratchet", Description: "done"}
		other := forge.Status{State: forge.Failure, Context: "ci", Description: "done"}
		for _, next := range []forge.Status{a, a, other, a, b, b} {
			if err := c.SetStatus(t.Context(), head, next); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.Statuses(head); len(got) != 3 || got[0] != b || got[1] != other || got[2] != a {
			t.Errorf("%s: got %v, want %v", kind, got, []forge.Status{b, other, a})
		}
	}
}

func TestRefusals(t *testing.T) {
	s, c, _ := open(t, forge.GitHub)
	reset := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1"}}
	for _, tc := range []struct {
		fault     forgetest.Fault
		retriable bool
		wait      time.Duration
	}{
		{forgetest.Fault{Code: 500}, true, 0},
		{forgetest.Fault{Code: 502}, true, 0},
		{forgetest.Fault{Code: 403}, false, 0},
		{forgetest.Fault{Code: 422}, false, 0},
		{forgetest.Fault{Code: 404}, false, 0},
		{forgetest.Fault{Code: 429, Header: http.Header{"Retry-After": {"7"}}}, true, 7 * time.Second},
		{forgetest.Fault{Code: 403, Header: http.Header{"Retry-After": {"60"}}}, true, time.Minute},
		{forgetest.Fault{Code: 403, Header: reset}, true, time.Second}, // a reset that has passed
		{forgetest.Fault{Code: 429, Header: http.Header{"Retry-After": {"999999999"}}}, true, time.Hour},
	} {
		s.Fail("GET", tc.fault)
		_, err := c.Info(t.Context())
		e, ok := errors.AsType[*forge.Error](err)
		if !ok || e.Code != tc.fault.Code || e.Retriable() != tc.retriable || e.Wait != tc.wait {
			t.Errorf("%+v: got %v (%+v), want code %d, retriable %v, wait %v", tc.fault, err, e, tc.fault.Code, tc.retriable, tc.wait)
		}
	}
	wrong := s.Forge()
	wrong.Token = "another-token-0123456789"
	repo, _ := forge.ParseRemote(s.Remote())
	stranger, err := wrong.Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Info(t.Context())
	if e, ok := errors.AsType[*forge.Error](err); !ok || e.Code != 401 || strings.Contains(err.Error(), wrong.Token) {
		t.Errorf("got %v, want 401 without the token", err)
	}
}

// A server that leads elsewhere does not get the token there.
func TestRedirectsAreNotFollowed(t *testing.T) {
	s, c, _ := open(t, forge.GitHub)
	s.Fail("GET", forgetest.Fault{Code: 301, Header: http.Header{"Location": {s.URL + "/api/v3/repos/evil/shop"}}})
	_, err := c.Info(t.Context())
	if e, ok := errors.AsType[*forge.Error](err); !ok || e.Code != 301 {
		t.Errorf("got %v, want code 301", err)
	}
	if n := len(s.Calls()); n != 1 {
		t.Errorf("got %d calls, want 1: %v", n, s.Calls())
	}
}
