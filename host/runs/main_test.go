package runs_test

import (
	"os"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	temporaltest.StopShared()
	os.Exit(code)
}
