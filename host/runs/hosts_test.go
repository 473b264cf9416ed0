package runs_test

import (
	"errors"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// The server is asked about the workers of the connection's namespace, and not of the default one.
func TestHostsAreThoseOfTheNamespace(t *testing.T) {
	c := runs.New(temporaltest.Shared(t).Client, "q")
	if _, err := c.Hosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Namespace = "nowhere"
	if _, err := c.Hosts(t.Context()); !errors.As(err, new(*serviceerror.NamespaceNotFound)) {
		t.Errorf("got %v, want that the server has no such namespace", err)
	}
}
