package workflows_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// counted is a metrics handler that keeps sums by name and labels: of a timer, how often it recorded.
type counted struct {
	sums   map[string]int64
	labels map[string]string
}

func (c counted) WithTags(more map[string]string) client.MetricsHandler {
	all := maps.Clone(c.labels)
	maps.Copy(all, more)
	return counted{c.sums, all}
}

func (c counted) add(name string, n int64) {
	if !strings.HasPrefix(name, "ratchet_") {
		return
	}
	var own []string
	for k, v := range c.labels {
		if !slices.Contains([]string{"namespace", "task_queue", "workflow_type", "client_name", "worker_type"}, k) {
			own = append(own, k+"="+v)
		}
	}
	slices.Sort(own)
	c.sums[strings.TrimSpace(name+" "+strings.Join(own, " "))] += n
}

type counter struct{ add func(int64) }

func (c counter) Inc(n int64)            { c.add(n) }
func (c counter) Record(_ time.Duration) { c.add(1) }

func (c counted) Counter(name string) client.MetricsCounter {
	return counter{func(n int64) { c.add(name, n) }}
}
func (c counted) Timer(name string) client.MetricsTimer {
	return counter{func(n int64) { c.add(name, n) }}
}
func (c counted) Gauge(string) client.MetricsGauge { return gauge{} }

type gauge struct{}

func (gauge) Update(float64) {}

// A run that is fixed once is counted step by step, and the usage in the metrics is that of its events.
func TestMetricsOfARun(t *testing.T) {
	c := counted{map[string]int64{}, map[string]string{}}
	answer := patch("one")
	answer.Usage = run.Usage{InputTokens: 30, OutputTokens: 10, TotalTokens: 45, Cost: 7}
	w := &fakeActivities{verdicts: []activities.Judgement{fixable, pass}, answers: []activities.ProposeResult{answer}}
	e := env(t, w, func(s *testsuite.WorkflowTestSuite) { s.SetMetricsHandler(c) })
	approveAll(t, e)
	start(e, input(run.Always, 3))
	if err := e.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"ratchet_runs_started":                                                1,
		"ratchet_runs_ended status=completed":                                 1,
		"ratchet_run_duration status=completed":                               1,
		"ratchet_phases_started phase=plan":                                   1,
		"ratchet_phases_started phase=execute":                                1,
		"ratchet_phases_started phase=evaluate":                               2,
		"ratchet_phases_started phase=fix":                                    1,
		"ratchet_provider_calls outcome=patch provider=replay role=developer": 1,
		"ratchet_provider_calls outcome=patch provider=replay role=fixer":     1,
		"ratchet_patches outcome=proposed":                                    2,
		"ratchet_patches outcome=approved":                                    2,
		"ratchet_patches outcome=applied":                                     2,
		"ratchet_evaluations outcome=fixable":                                 1,
		"ratchet_evaluations outcome=passed":                                  1,
		"ratchet_tokens direction=input provider=replay role=fixer":           30,
		"ratchet_tokens direction=output provider=replay role=developer":      10,
		"ratchet_tokens direction=total provider=replay role=developer":       5,
		"ratchet_cost_micros provider=replay role=developer":                  7,
		"ratchet_cost_micros provider=replay role=fixer":                      7,
		"ratchet_wait_for_people kind=patch":                                  2,
	}
	for name, n := range want {
		if c.sums[name] != n {
			t.Errorf("%s: got %d, want %d; all: %v", name, c.sums[name], n, c.sums)
		}
	}
}
