package toolserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

// TestAClientThatReadsNoAnswersIsReadNoFurther has a client ask without end, and read nothing of what it is told. Each call
// that was taken of it would be held in memory.
func TestAnEndlessMessageEndsTheSession(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- toolserver.Serve(t.Context(), toolserver.Config{Log: slog.New(slog.DiscardHandler), Offer: func(*mcp.Server) {}}, server, server)
	}()
	for err := error(nil); err == nil; {
		_, err = client.Write(bytes.Repeat([]byte("["), 1<<16))
	}
	if err := <-ended; err == nil {
		t.Error("the session ended without an error")
	}
}

func TestAClientThatReadsNoAnswersIsReadNoFurther(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- toolserver.Serve(t.Context(), toolserver.Config{Log: slog.New(slog.DiscardHandler), Offer: func(*mcp.Server) {}}, server, server)
	}()
	const many = 20_000
	taken := 0
	for ; taken < many; taken++ {
		if err := client.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil { // it has come to rest, if nothing is taken for so long
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", taken+1); err != nil {
			break
		}
	}
	if taken == many {
		t.Errorf("%d calls were taken", taken)
	}
	client.Close()
	<-ended
}
