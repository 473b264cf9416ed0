package activities_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// warner is a provider that has something to tell of its session.
type warner struct{ scriptedProvider }

func (*warner) Generate(_ context.Context, req provider.Request, _ func(provider.Progress)) (provider.Response, error) {
	req.Work.Site.Warn("message lost", map[string]string{"from": "pi", "input": "the key is " + secret})
	return provider.Response{RawText: "NOOP", FinishReason: provider.Stop}, nil
}

// warnings keeps the warnings of a worker's log.
type warnings struct {
	temporaltest.Quiet
	mu    sync.Mutex
	lines []string
}

func (w *warnings) Warn(msg string, fields ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintln(append([]any{msg}, fields...)...))
}

// Finding D10.
func TestWarningIsInTheRunsLogAndInTheWorkers(t *testing.T) {
	s := newFixture(t)
	s.agent = &warner{}
	var worker warnings
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(&worker)
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(s.acts)
	if _, err := env.ExecuteActivity(s.acts.Propose, s.developing()); err != nil {
		t.Fatal(err)
	}
	ofTheRun, err := os.ReadFile(filepath.Join(s.dir().Path(), "logs", "provider-execute.log"))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"run": string(ofTheRun), "worker": strings.Join(worker.lines, "")} {
		if !strings.Contains(text, "message lost") || !strings.Contains(text, "the key is") || strings.Contains(text, secret) {
			t.Errorf("the log of the %s says %q", where, text)
		}
	}
	if !strings.Contains(strings.Join(worker.lines, ""), "r1") {
		t.Errorf("the worker's log does not say of which run: %q", worker.lines)
	}
}
