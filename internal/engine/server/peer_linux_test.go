package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// A socket that was closed has no owner any more, and root least of all.
func TestAClosedConnectionIsNobodys(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	owner := func() int {
		return ownerOf(server.RemoteAddr().(*net.TCPAddr), server.LocalAddr().(*net.TCPAddr))
	}
	if got := owner(); got != os.Getuid() {
		t.Errorf("while it is open: %d", got)
	}
	client.Close()
	if _, err := server.Read(make([]byte, 1)); err == nil {
		t.Fatal("it is not closed")
	}
	if got := owner(); got != unknownUser {
		t.Errorf("when it is closed: %d", got)
	}
}

// A session that began for nobody in particular is of no use to a user who is not known.
func TestASessionIsOfAKnownUser(t *testing.T) {
	u := newUIDoor(newDoor("token", "127.0.0.1:7233", false), 8233, nil)
	r := httptest.NewRequest(http.MethodGet, "/", nil) // it has no connection, and so no user
	r.AddCookie(&http.Cookie{Name: u.cookieName(), Value: u.session("id", unknownUser)})
	if u.hasSession(r) {
		t.Error("it opens the Web UI")
	}
}
