package up

import (
	"net"
	"strconv"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

func TestATakenPortIsNotInsistedOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	clitest.Must(t, err)
	defer l.Close()
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, err := strconv.Atoi(text)
	clitest.Must(t, err)
	if got := freePort(port, false); got != 0 {
		t.Errorf("the default: %d", got)
	}
	if got := freePort(port, true); got != port {
		t.Errorf("a chosen one: %d", got)
	}
}
