package runs_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// failing is a Temporal whose worker fails so many queries before it answers.
type failing struct {
	client.Client
	fails, asked int
}

func (f *failing) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	f.asked++
	if f.asked <= f.fails {
		return nil, serviceerror.NewQueryFailed("[TMPRL1100] invalid state transition")
	}
	return answer(`{"status":"running"}`), nil
}

// answer is the answer to a query, in JSON.
type answer string

func (a answer) HasValue() bool    { return true }
func (a answer) Get(out any) error { return json.Unmarshal([]byte(a), out) }

// TestAQueryThatFailsIsAskedOnceMore, because a worker whose task came too late fails one.
func TestAQueryThatFailsIsAskedOnceMore(t *testing.T) {
	id := run.ID("20260612T090000-0a1b2c")
	if state, err := runs.New(&failing{fails: 1}, "q").State(t.Context(), id); err != nil || state.Status != "running" {
		t.Errorf("%+v, %v", state, err)
	}
	ever := &failing{fails: 99}
	if _, err := runs.New(ever, "q").State(t.Context(), id); err == nil || ever.asked != 2 {
		t.Errorf("asked %d times, %v", ever.asked, err)
	}
}
