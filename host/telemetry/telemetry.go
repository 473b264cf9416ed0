// Package telemetry sends the metrics of a worker to those who operate it: as Prometheus text at an address of the
// worker's own, and by OTLP where the standard variables of OpenTelemetry name a receiver. docs/observing.md lists the
// metrics.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Config says where the metrics go. The zero Config sends them nowhere.
type Config struct {
	Listen  string // host:port of the Prometheus text; empty: none
	Version string // of this program
	// Lookup returns a variable of the worker's environment. OTLP is on if one of endpointVariables is set; the exporter
	// reads the other standard variables (OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES, ...) by itself.
	Lookup func(name string) (string, bool)
	Log    *slog.Logger
}

// endpointVariables name an OTLP receiver (OpenTelemetry specification, "OpenTelemetry Protocol Exporter").
var endpointVariables = []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"}

// Metrics is the running export of a worker's metrics.
type Metrics struct {
	Handler client.MetricsHandler // of the Temporal client; nil: the metrics go nowhere
	Address string                // host:port at which Prometheus text is served; empty: nowhere

	provider *sdkmetric.MeterProvider
	server   *http.Server
}

// CheckListen refuses an address that Open could not listen at.
func CheckListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return errors.New("want host:port, such as 127.0.0.1:9464")
	}
	return nil
}

// Open starts the export that the configuration asks for. It fails if the address is taken or a standard variable is
// invalid.
func Open(ctx context.Context, c Config) (*Metrics, error) {
	var readers []sdkmetric.Option
	if c.wantsOTLP() {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("send metrics by OTLP: %w", err)
		}
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	m := &Metrics{}
	if c.Listen != "" {
		reader, err := m.serve(c.Listen)
		if err != nil {
			return nil, err
		}
		readers = append(readers, sdkmetric.WithReader(reader))
	}
	if len(readers) == 0 {
		return m, nil
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "ratchet-worker"), attribute.String("service.version", c.Version)),
		resource.WithFromEnv())
	if err != nil {
		m.Stop()
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	m.provider = sdkmetric.NewMeterProvider(append(readers, sdkmetric.WithResource(about), sdkmetric.WithView(histogramViews()...))...)
	m.Handler = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter:                m.provider.Meter("ratchet"),
		OnError:              func(err error) { c.Log.Warn("metric", "error", err) },
		UseMonotonicCounters: true,
	})
	return m, nil
}

func (c Config) wantsOTLP() bool {
	for _, name := range endpointVariables {
		if value, _ := c.Lookup(name); value != "" {
			return true
		}
	}
	return false
}

// histogramViews gives the histograms bounds in seconds: calls of the SDK take milliseconds, runs and people take
// minutes to days.
func histogramViews() []sdkmetric.View {
	bounds := func(name string, seconds ...float64) sdkmetric.View {
		return sdkmetric.NewView(sdkmetric.Instrument{Name: name, Unit: "s"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: seconds}})
	}
	return []sdkmetric.View{
		bounds("temporal_*", .001, .005, .01, .05, .1, .5, 1, 5, 10, 60, 300, 1800, 7200),
		bounds("ratchet_*", 1, 5, 15, 60, 300, 900, 1800, 3600, 4*3600, 12*3600, 24*3600, 7*24*3600),
	}
}

// serve serves the metrics as Prometheus text at the address, and returns the reader that collects them.
func (m *Metrics) serve(address string) (sdkmetric.Reader, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: readTimeout}
	m.Address = listener.Addr().String()
	go func() { _ = m.server.Serve(listener) }()
	return reader, nil
}

const (
	readTimeout = 10 * time.Second
	// stopLimit bounds the last export.
	stopLimit = 2 * time.Second
)

// Stop exports the last values and ends the export.
func (m *Metrics) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if m.provider != nil {
		_ = m.provider.Shutdown(ctx)
	}
	if m.server != nil {
		_ = m.server.Close()
	}
}
