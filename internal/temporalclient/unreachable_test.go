package temporalclient_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

func TestADirectoryOfAnotherUserIsNoHostThatJoined(t *testing.T) {
	err := &temporalclient.Unreachable{Source: temporalclient.Joined, Err: fmt.Errorf("open home.json: %w", engine.ErrNotOurs)}
	if got := err.Error(); !strings.Contains(got, "`starter up`") || strings.Contains(got, "join again") {
		t.Errorf("got %q, want the remedy of a directory that is not ours", got)
	}
}
