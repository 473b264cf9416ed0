package review_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

// sendAs sends a request by a socket of that user and returns the code of the answer.
func sendAs(t *testing.T, user int, address, request string) int {
	t.Helper()
	type dialed struct {
		conn net.Conn
		err  error
	}
	got := make(chan dialed)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine, and so does its user
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(user), uintptr(user), uintptr(user)); errno != 0 {
			got <- dialed{nil, errno}
			return
		}
		c, err := net.Dial("tcp4", address)
		got <- dialed{c, err}
	}()
	d := <-got
	if d.err != nil {
		t.Fatal(d.err)
	}
	defer d.conn.Close()
	if _, err := d.conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(d.conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func request(host string, headers ...string) string {
	return "GET /runs/r1 HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root has sockets of other users")
	}
}

// A browser sends a cookie to every port of a host: another user who has a port gets the session, and it is of no use.
func TestASessionIsOfOneUser(t *testing.T) {
	onlyRoot(t)
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	address := s.server.Place().Address
	get := request(v.host, "Cookie: "+v.cookie)
	if code := sendAs(t, nobody.ID, address, get); code != http.StatusUnauthorized {
		t.Errorf("another user with the cookie gets %d", code)
	}
	if code := sendAs(t, 0, address, get); code != http.StatusOK {
		t.Errorf("control: the user whose session it is gets %d", code)
	}
}

// A header of the proxy is believed from the proxy alone.
func TestOnlyTheProxyNamesTheUser(t *testing.T) {
	onlyRoot(t)
	s := atGate(t, review.Config{URL: "https://ratchet.example.com", Proxy: &review.Proxy{Header: "X-Forwarded-User", User: nobody.ID}})
	address := s.server.Place().Address
	const host = "ratchet.example.com"
	for name, tc := range map[string]struct {
		user    int
		host    string
		headers []string
		code    int
	}{
		"the proxy":                          {nobody.ID, host, []string{"X-Forwarded-User: kim"}, http.StatusOK},
		"another user":                       {0, host, []string{"X-Forwarded-User: kim"}, http.StatusUnauthorized},
		"a third user":                       {1, host, []string{"X-Forwarded-User: kim"}, http.StatusUnauthorized},
		"the proxy, without a name":          {nobody.ID, host, []string{"X-Forwarded-User: "}, http.StatusUnauthorized},
		"the proxy, with two names":          {nobody.ID, host, []string{"X-Forwarded-User: kim", "X-Forwarded-User: root"}, http.StatusUnauthorized},
		"the proxy, without the header":      {nobody.ID, host, nil, http.StatusUnauthorized},
		"the proxy, by another name":         {nobody.ID, "evil.example", []string{"X-Forwarded-User: kim"}, http.StatusMisdirectedRequest},
		"the proxy, for a page of elsewhere": {nobody.ID, host, []string{"X-Forwarded-User: kim", "Origin: https://evil.example"}, http.StatusForbidden},
		"the proxy, with a name too long":    {nobody.ID, host, []string{"X-Forwarded-User: " + strings.Repeat("k", 200)}, http.StatusUnauthorized},
	} {
		if code := sendAs(t, tc.user, address, request(tc.host, tc.headers...)); code != tc.code {
			t.Errorf("%s gets %d, want %d", name, code, tc.code)
		}
	}
}
