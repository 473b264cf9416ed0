package session_test

import (
	"os"
	"testing"

	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

func TestMain(m *testing.M) {
	temporaltest.ObeyCacheVariable()
	code := eventually.RunTests(m, 8)
	temporaltest.StopShared()
	os.Exit(code)
}
