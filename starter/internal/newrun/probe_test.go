package newrun

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// TestWhatIsMissingHereIsToldWithoutAWorkerAlone: a worker behind a slow engine may have what this process lacks.
func TestWhatIsMissingHereIsToldWithoutAWorkerAlone(t *testing.T) {
	const spec = "command:no-such-program-here"
	for name, tt := range map[string]struct {
		err  error
		told bool
	}{
		"no engine is known":          {&temporalclient.Unreachable{Source: temporalclient.Nowhere, Err: errors.New("TEMPORAL_ADDRESS is not set")}, true},
		"the engine has ended":        {&temporalclient.Unreachable{Source: temporalclient.EngineFile, Err: errors.New("connection refused")}, true},
		"the engine is silent":        {&temporalclient.Unreachable{Source: temporalclient.EngineFile, Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}, false},
		"no worker serves":            {runs.ErrNoWorker, true},
		"the worker does not answer":  {fmt.Errorf("ask the worker: %w", context.DeadlineExceeded), false},
		"a configuration is not read": {errors.New("read the temporal client configuration"), false},
	} {
		if got := MissingHere(tt.err, run.Providers{Planner: spec, Dir: t.TempDir()}); (got != nil) != tt.told {
			t.Errorf("%s: %v", name, got)
		}
	}
}
