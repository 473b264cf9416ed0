package temporaltest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// shared is the engine of a test process.
var shared struct {
	sync.Mutex
	dir    string
	engine *Engine
}

// Shared returns an engine that all tests of a process share, and starts it for the first of them. A test that shares it
// has a task queue of its own and ids that no other test has, and does not stop or kill the engine. TestMain calls
// [StopShared] at the end.
func Shared(t testing.TB) *Engine {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.engine != nil {
		return shared.engine
	}
	var err error
	if shared.dir, err = os.MkdirTemp("", "engine"); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	e, err := engine.Start(ctx, engine.Options{DB: filepath.Join(shared.dir, "engine.db"), Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(ctx, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	shared.engine = &Engine{e, c}
	return shared.engine
}

// StopShared stops the engine that tests have shared, if one was started.
func StopShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.engine != nil {
		shared.engine.Client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = shared.engine.Stop(ctx) // it ends with this process in any case
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}
