package host_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/telemetry"
)

func none(string) (string, bool) { return "", false }

// Without a wish there is no handler, so that the worker measures nothing.
func TestOffByDefault(t *testing.T) {
	m, err := telemetry.Open(t.Context(), telemetry.Config{Lookup: none})
	if err != nil || m.Handler != nil || m.Address != "" {
		t.Errorf("got %+v, %v, want nothing", m, err)
	}
	m.Stop()
}

func TestPrometheusText(t *testing.T) {
	m, err := telemetry.Open(t.Context(), telemetry.Config{Listen: "127.0.0.1:0", Version: "1.2.3", Lookup: none, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Stop()
	h := m.Handler.WithTags(map[string]string{"status": "completed"})
	h.Counter("ratchet_runs_ended").Inc(2)
	h.Timer("ratchet_run_duration").Record(90e9)
	text := get(t, "http://"+m.Address+"/metrics")
	for _, want := range []string{
		`ratchet_runs_ended_total{status="completed"} 2`,
		`ratchet_run_duration_seconds_bucket{status="completed",le="300"} 1`,
		`ratchet_run_duration_seconds_bucket{status="completed",le="60"} 0`,
		`service_version="1.2.3"`,
		"go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %s in\n%s", want, text)
		}
	}
}

// The standard variable alone turns OTLP on, and Stop exports what is due.
func TestOTLP(t *testing.T) {
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case got <- r.URL.Path + " " + string(body):
		default:
		}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	m, err := telemetry.Open(t.Context(), telemetry.Config{Lookup: func(name string) (string, bool) {
		return receiver.URL, name == "OTEL_EXPORTER_OTLP_ENDPOINT"
	}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m.Handler.Counter("ratchet_runs_started").Inc(1)
	m.Stop()
	if sent := <-got; !strings.HasPrefix(sent, "/v1/metrics ") || !strings.Contains(sent, "ratchet_runs_started") {
		t.Errorf("got %q, want the counter at /v1/metrics", sent)
	}
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:9464": true, ":9464": true, "[::1]:0": true, "9464": false, "host": false, "host:": false} {
		if err := telemetry.CheckListen(address); (err == nil) != ok {
			t.Errorf("%s: got %v, want it to be accepted: %v", address, err, ok)
		}
	}
	taken, err := telemetry.Open(t.Context(), telemetry.Config{Listen: "127.0.0.1:0", Lookup: none, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Stop()
	if m, err := telemetry.Open(t.Context(), telemetry.Config{Listen: taken.Address, Lookup: none}); err == nil {
		m.Stop()
		t.Errorf("a second listener at %s: got no error", taken.Address)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("got %s, %v", answer.Status, err)
	}
	return string(body)
}
