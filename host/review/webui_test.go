package review_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/host/review"
)

// webUI is the Web UI of an engine. It notes what it is asked.
type webUI struct {
	asked []string
	lost  bool
}

func (u *webUI) RoundTrip(r *http.Request) (*http.Response, error) {
	u.asked = append(u.asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Cookie")+r.Header.Get("Origin"))
	if u.lost {
		return nil, errors.New("connection refused")
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Security-Policy", "frame-src 'self'")
	_, _ = answer.WriteString("the Web UI")
	return answer.Result(), nil
}

// TestTheWebUIIsServedToTheOwner of the engine, by the same login as the page, and to nobody who may only decide.
func TestTheWebUIIsServedToTheOwner(t *testing.T) {
	ui := &webUI{}
	s := serve(t, review.Config{WebUI: ui}, newEngine(t, "be polite"))
	place := s.server.Place()
	enter := func(link string) *visitor {
		v := s.visitor()
		if r := v.redeem(link); r.code != http.StatusNoContent {
			t.Fatalf("%s: %d %s", link, r.code, r.body)
		}
		return v
	}
	owner, guest := enter(place.LoginOwner("kim", "/", time.Now())), enter(place.Login("lee", "/", time.Now()))

	r := owner.get("/temporal/namespaces/default/workflows/a%2Fb?x=1")
	if r.code != http.StatusOK || r.body != "the Web UI" || r.header.Get("Content-Security-Policy") != "frame-src 'self'" {
		t.Errorf("the owner gets %d %s, %v", r.code, r.body, r.header)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		owner.header.Set("Origin", s.server.URL)
		if r := owner.send(method, "/temporal/api/v1/x", "application/json", "{}"); r.code != http.StatusOK {
			t.Errorf("%s of its own page: %d %s", method, r.code, r.body)
		}
	}
	want := []string{"GET /namespaces/default/workflows/a%2Fb ", "POST /api/v1/x ", "PUT /api/v1/x ", "DELETE /api/v1/x "}
	if got := strings.Join(ui.asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the engine was asked\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if r := owner.get("/"); r.code != http.StatusOK || !strings.Contains(r.body, ">kim<") {
		t.Errorf("the page for the owner: %d %s", r.code, r.body)
	}

	ui.asked = nil
	attack := func(name string, code int, v *visitor, method, path string, header ...string) {
		t.Helper()
		v.header = http.Header{}
		for i := 0; i < len(header); i += 2 {
			v.header.Set(header[i], header[i+1])
		}
		if r := v.send(method, path, "", ""); r.code != code {
			t.Errorf("%s: %d %s, want %d", name, r.code, r.body, code)
		}
	}
	attack("a person who may decide", http.StatusForbidden, guest, http.MethodGet, "/temporal/")
	attack("a stranger", http.StatusUnauthorized, s.visitor(), http.MethodGet, "/temporal/api/v1/namespaces")
	owner.origin = ""
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		attack(method+" without an origin", http.StatusForbidden, owner, method, "/temporal/api/v1/x")
		attack(method+" of another origin", http.StatusForbidden, owner, method, "/temporal/api/v1/x", "Origin", "http://127.0.0.1:1")
		attack(method+" of another site", http.StatusForbidden, owner, method, "/temporal/api/v1/x", "Origin", s.server.URL, "Sec-Fetch-Site", "cross-site")
	}
	attack("a read of another site", http.StatusForbidden, owner, http.MethodGet, "/temporal/api/v1/x", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors")
	attack("PUT to the page", http.StatusMethodNotAllowed, owner, http.MethodPut, "/temporalx", "Origin", s.server.URL)
	owner.host = "evil.example:" + s.port()
	attack("a name that leads here", http.StatusMisdirectedRequest, owner, http.MethodGet, "/temporal/")
	if len(ui.asked) > 0 {
		t.Errorf("the engine was asked %q", ui.asked)
	}

	owner.host, ui.lost = "127.0.0.1:"+s.port(), true
	attack("an engine that is away", http.StatusBadGateway, owner, http.MethodGet, "/temporal/")
}

// TestAPageWithoutAWebUI is that of a worker on a server of the user's own.
func TestAPageWithoutAWebUI(t *testing.T) {
	s := serve(t, review.Config{}, newEngine(t, "be polite"))
	v := s.visitor()
	v.redeem(s.server.Place().LoginOwner("kim", "/", time.Now()))
	if r := v.get("/temporal/"); r.code != http.StatusNotFound || s.server.Place().WebUI {
		t.Errorf("%d %s, %v", r.code, r.body, s.server.Place().WebUI)
	}
}
