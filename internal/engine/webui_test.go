package engine_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// ask sends a request as it is written, with the Web UI's own PORT, and returns the answer with its header.
func ask(t *testing.T, e *engine.Engine, raw string) (status int, answer string) {
	t.Helper()
	host := strings.TrimPrefix(e.UI, "http://")
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		t.Fatal(err)
	}
	raw = strings.NewReplacer("PORT", port, "\n", "\r\n").Replace(raw)
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	defer response.Body.Close()
	b, err := httputil.DumpResponse(response, true)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(b)
}

// TestTheWebUIAnswersUnderItsOwnNamesOnly: a page whose name points at this machine is of another site. Finding B5.
func TestTheWebUIAnswersUnderItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	e := start(t, engine.Options{DB: newDB(t)})
	paths := []string{"/", "/healthz", "/favicon.ico", "/render", "/api/v1/settings", "/api/v1/namespaces/default/workflows",
		"/namespaces/default/workflows"}
	for _, host := range []string{
		"127.0.0.1:PORT", "localhost:PORT", "LocalHost:PORT", "[::1]:PORT",
	} {
		for _, path := range paths {
			status, body := ask(t, e, fmt.Sprintf("GET %s HTTP/1.1\nHost: %s\nConnection: close\n\n", path, host))
			if status == http.StatusMisdirectedRequest || status == http.StatusForbidden || strings.Contains(body, "not at") {
				t.Errorf("%s at its own name %s: %d %s", path, host, status, body)
			}
		}
	}
	for _, host := range []string{
		"evil.example", "evil.example:PORT", "localhost.evil.example:PORT", "127.0.0.1.evil.example:PORT",
		"127.0.0.1", "localhost", "[::1]", "127.0.0.1:1", "localhost:1", "localhost.:PORT", "127.1:PORT", "2130706433:PORT",
		"0.0.0.0:PORT", "[::]:PORT", "[::ffff:127.0.0.1]:PORT", "::1:PORT", "127.0.0.1:0PORT", "", "null", "xn--lcalhost-65a:PORT",
	} {
		for _, path := range paths {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				status, body := ask(t, e, fmt.Sprintf("%s %s HTTP/1.1\nHost: %s\nConnection: close\nContent-Length: 0\n\n", method, path, host))
				if status != http.StatusMisdirectedRequest || !strings.Contains(body, "Ratchet's Web UI answers at http://127.0.0.1:") {
					t.Errorf("%s %s for host %q: %d %s", method, path, host, status, body)
				}
			}
		}
	}
	for name, raw := range map[string]string{
		"a foreign name in the request line": "GET http://evil.example/api/v1/settings HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\n\n",
		"no host at all":                     "GET /api/v1/settings HTTP/1.0\n\n",
	} {
		if status, body := ask(t, e, raw); status != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for name, raw := range map[string]string{
		"two hosts":    "GET / HTTP/1.1\nHost: 127.0.0.1:PORT\nHost: evil.example\n\n",
		"CONNECT":      "CONNECT evil.example:80 HTTP/1.1\nHost: evil.example:80\n\n",
		"a host twice": "GET / HTTP/1.1\nHost: 127.0.0.1:PORT, evil.example\nConnection: close\n\n",
	} {
		if status, body := ask(t, e, raw); status < 400 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// TestTheWebUITakesOrdersFromItsOwnPagesOnly looks at the checks that ui-server brings.
func TestTheWebUITakesOrdersFromItsOwnPagesOnly(t *testing.T) {
	e := start(t, engine.Options{DB: newDB(t)})
	const signal = "POST /api/v1/namespaces/default/workflows/none/signal/approval HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\n" +
		"Content-Type: application/json\nContent-Length: 2\n"
	session := "Cookie: " + login(t, e, "/")
	for name, header := range map[string]string{
		"no token":                 session + "\n",
		"a token without a cookie": "X-CSRF-Token: abc\n" + session + "\n",
		"a page of another site":   "Origin: http://evil.example\nSec-Fetch-Site: cross-site\nX-CSRF-Token: abc\n" + session + "; _csrf=abc\n",
	} {
		if status, body := ask(t, e, signal+header+"\n{}"); status != http.StatusBadRequest && status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	own := "Origin: http://127.0.0.1:PORT\nSec-Fetch-Site: same-origin\nX-CSRF-Token: abc\n" + session + "; _csrf=abc\n"
	if status, body := ask(t, e, signal+own+"\n{}"); status != http.StatusNotFound || !strings.Contains(body, "workflow") {
		t.Errorf("a page of its own, for a workflow that is not there: %d %s", status, body)
	}
	preflight := "OPTIONS /api/v1/namespaces/default/workflows HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\n" +
		"Origin: http://evil.example\nAccess-Control-Request-Method: POST\n\n"
	if _, answer := ask(t, e, preflight); strings.Contains(answer, "Access-Control-Allow") {
		t.Errorf("preflight: %s", answer)
	}
}
