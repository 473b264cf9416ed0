package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/temporal"
)

const (
	loopback  = "127.0.0.1"
	readyPoll = 10 * time.Millisecond
)

// engine is the server and the Web UI.
type engine struct {
	address   string
	uiAddress string
	temporal  temporal.Server
	ui        *server.Server
}

func newServer(s settings, db *config.SQL) (*engine, error) {
	address, err := claim("frontend", "--port", s.port)
	if err != nil {
		return nil, err
	}
	uiAddress, err := claim("Web UI", "--ui-port", s.uiPort)
	if err != nil {
		return nil, err
	}
	cfg := serverConfig(portOf(address), db)
	srv, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts(cfg)),
		temporal.WithDynamicConfigClient(dynamicConfig()),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.level}))),
	)
	if err != nil {
		return nil, fmt.Errorf("set up the server: %w", err)
	}
	ui := server.NewServer(server_options.WithConfigProvider(uiConfig(address, portOf(uiAddress))))
	return &engine{address: address, uiAddress: uiAddress, temporal: srv, ui: ui}, nil
}

// claim finds that a port can be listened on, or a free one for 0.
func claim(what, flag string, port int) (address string, err error) {
	if port == 0 {
		port = freeport.MustGetFreePort()
	}
	address = addressOf(port)
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return "", fmt.Errorf("port %d of the %s is taken: name another with %s, or 0 for a free one", port, what, flag)
	}
	if err != nil {
		return "", fmt.Errorf("port %d of the %s: %w", port, what, err)
	}
	return address, l.Close()
}

func addressOf(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func portOf(address string) int {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.Atoi(port)
	return n
}

func hosts(cfg *config.Config) map[primitives.ServiceName]static.Hosts {
	h := map[primitives.ServiceName]static.Hosts{}
	for name, service := range cfg.Services {
		h[primitives.ServiceName(name)] = static.SingleLocalHost(addressOf(service.RPC.GRPCPort))
	}
	return h
}

// start returns when frontend, namespace and Web UI answer.
func (e *engine) start(ctx context.Context) error {
	go func() { _ = e.ui.Start() }()
	if err := e.temporal.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	if err := e.awaitNamespace(ctx); err != nil {
		return fmt.Errorf("wait for namespace %s: %w", namespace, err)
	}
	return e.awaitUI(ctx)
}

func (e *engine) awaitNamespace(ctx context.Context) error {
	c, err := client.DialContext(ctx, client.Options{
		HostPort: e.address,
		Logger:   sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

func (e *engine) awaitUI(ctx context.Context) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.uiAddress+"/healthz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			return response.Body.Close()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the Web UI: %w", err)
		}
		time.Sleep(readyPoll)
	}
}

func (e *engine) stop() error {
	e.ui.Stop()
	return e.temporal.Stop()
}

func uiConfig(address string, port int) *uiconfig.Config {
	return &uiconfig.Config{
		TemporalGRPCAddress: address,
		Host:                loopback,
		Port:                port,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// Plain HTTP on loopback: a browser drops a secure cookie there, and with it the token that every form needs.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}
}
