package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/workflows"
)

// A worker serves the metrics that docs/observing.md lists, and those of the SDK that its queries name. None of them
// tells which run, goal or repository it was.
func TestMetricsOfAWorker(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.flags = []string{"-metrics-listen", "127.0.0.1:0"}
	w := s.spawn()
	in := s.input(s.replay(map[string]string{"plan-1": planText, "execute-1": appending("", "one"), "fix-2": appending("one", "two")}))
	in.Checks = []string{"grep -q two log.txt"}
	var res workflows.RunResult
	if err := s.start(in).Get(t.Context(), &res); err != nil || res.Status != run.Completed {
		t.Fatalf("%v, %+v\n%s", err, res, w.out)
	}
	text := scrape(t, regexp.MustCompile(`http://\S+/metrics`).FindString(w.out.String()))
	for _, want := range []string{
		`ratchet_runs_ended_total{status="completed"} 1`,
		`ratchet_phases_started_total{phase="fix"} 1`,
		`ratchet_provider_calls_total{outcome="patch",provider="replay",role="developer"} 1`,
		`ratchet_patches_total{outcome="applied"} 2`,
		`ratchet_evaluations_total{outcome="fixable"} 1`,
	} {
		if own := ownSamples(text); !strings.Contains(own, want+"\n") {
			t.Errorf("got no %s in\n%s", want, own)
		}
	}
	for _, secret := range []string{string(in.RunID), in.Goal, s.repo} {
		if strings.Contains(text, secret) {
			t.Errorf("the metrics name %q", secret)
		}
	}
	doc, err := os.ReadFile("../docs/observing.md")
	if err != nil {
		t.Fatal(err)
	}
	later := map[string]bool{ // of things that this run has not: usage, people, failures, a forge
		"ratchet_forge_calls_total": true, "ratchet_forge_calls_left": true,
		"ratchet_tokens_total": true, "ratchet_cost_micros_total": true, "ratchet_wait_for_people_seconds": true,
		"temporal_activity_execution_failed_total": true, "temporal_workflow_task_execution_failed_total": true,
	}
	for _, name := range regexp.MustCompile(`\b(ratchet|temporal)_[a-z_]+`).FindAllString(string(doc), -1) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_")
		if !strings.Contains(text, "# TYPE "+base+" ") && !later[base] {
			t.Errorf("docs/observing.md names %s, which the worker does not serve", name)
		}
	}
}

// ownSamples returns the samples of our own metrics, without the labels of the SDK.
func ownSamples(text string) string {
	var own []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ratchet_") {
			line = regexp.MustCompile(`(activity_type|client_name|namespace|task_queue|workflow_type|worker_type)="[^"]*",?`).ReplaceAllString(line, "")
			own = append(own, strings.Replace(line, ",}", "}", 1))
		}
	}
	return strings.Join(own, "")
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
