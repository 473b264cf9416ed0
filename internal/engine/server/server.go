package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"syscall"

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
	"go.uber.org/dig"
)

const loopback = "127.0.0.1"

// engine is the server and the Web UI.
type engine struct {
	address  string
	tls      *tls.Config // of a client of the frontend; nil: the engine is open
	temporal temporal.Server
	ui       *webUI
}

func newServer(s settings, k key, db *config.SQL) (*engine, error) {
	frontend, err := listen("frontend", "--port", s.port)
	if err != nil {
		return nil, err
	}
	address := frontend.Addr().String()
	if err := frontend.Close(); err != nil { // the server opens it itself
		return nil, err
	}
	l, err := listen("Web UI", "--ui-port", s.uiPort)
	if err != nil {
		return nil, err
	}
	cfg := serverConfig(portOf(address), db)
	srv, err := temporal.NewServer(append(k.locks(s.open),
		temporal.WithConfig(cfg),
		temporal.ForServices(slices.Collect(maps.Keys(cfg.Services))),
		temporal.WithStaticHosts(hosts(cfg)),
		temporal.WithDynamicConfigClient(dynamicConfig()),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: s.level}))),
	)...)
	if err != nil {
		// The rest of the error says which constructor called which.
		return nil, fmt.Errorf("set up the server on database %s: %w", s.db, dig.RootCause(err))
	}
	e := &engine{address: address, temporal: srv}
	if !s.open {
		e.tls = k.client()
	}
	e.ui, err = newWebUI(address, k, s.open, l)
	return e, err
}

// listen opens a listener at a port of the loopback interface. Port 0 means a free one.
func listen(what, flag string, port int) (net.Listener, error) {
	if port == 0 {
		port = freeport.MustGetFreePort()
	}
	l, err := net.Listen("tcp", addressOf(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d of the %s is taken: name another with %s, or 0 for a free one", port, what, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("port %d of the %s: %w", port, what, err)
	}
	return l, nil
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

// start returns when the frontend and the namespace answer. The Web UI's port is open from the
// beginning.
func (e *engine) start(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- e.ui.serve() }()
	if err := e.temporal.Start(); err != nil {
		return fmt.Errorf("start the server: %w", dig.RootCause(err))
	}
	if err := e.awaitNamespace(ctx); err != nil {
		return fmt.Errorf("wait for namespace %s: %w", namespace, err)
	}
	select {
	case err := <-served:
		return err
	default:
		return nil
	}
}

func (e *engine) awaitNamespace(ctx context.Context) error {
	c, err := client.DialContext(ctx, client.Options{
		HostPort:          e.address,
		Logger:            sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
		ConnectionOptions: client.ConnectionOptions{TLS: e.tls},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

func (e *engine) stop() error {
	return errors.Join(e.ui.close(), e.temporal.Stop())
}
