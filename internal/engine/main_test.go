package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// parentVariable makes the test binary a parent that starts an engine on the database it names and then waits for ever.
const parentVariable = "ENGINE_TEST_PARENT_DB"

func TestMain(m *testing.M) {
	if db := os.Getenv(parentVariable); db != "" {
		os.Exit(parent(db))
	}
	if told := os.Getenv(strangerVariable); told != "" {
		os.Exit(strangerMain(told))
	}
	code := m.Run()
	temporaltest.StopShared()
	os.Exit(code)
}

func parent(db string) int {
	e, err := engine.Start(context.Background(), engine.Options{DB: db})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(engine.File{Address: e.Address, API: e.API, PID: e.PID, DB: e.DB})
	<-e.Done()
	return 1
}
