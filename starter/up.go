package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/workflows"
)

// Ports that Temporal's own tools try by default.
const (
	defaultPort   = 7233
	defaultUIPort = 8233
)

// databaseName is the name of the file with the engine's state in the runs directory.
const databaseName = "engine.db"

type upFlags struct {
	db           string
	port, uiPort int
	providerEnv  []string
}

func (c *cli) upCommand() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the engine, its Web UI and a worker until interrupted",
		Long: `Runs Temporal's server with its state in one file, its Web UI, and a worker, all
on this machine, until interrupted. Interrupt it, kill it, start it again: every
run goes on where it was. Other commands find it by engine.json in the runs
directory, which only you can read; they use no other engine unless the Temporal
configuration (TEMPORAL_ADDRESS) names one.

The engine and its Web UI listen on this machine alone, and ask no caller who he
is: whoever reaches a port, every user of this machine included, can start runs,
approve, and so run any command as you.`,
		Example: "  starter up\n  starter up --port 0 --ui-port 0 --json   # free ports, one JSON object when ready\n  starter up --runs-dir /srv/ratchet --provider-env OPENAI_API_KEY",
		Args:    exactly(0, "no arguments, only flags"),
		RunE:    c.do(func(ctx context.Context, _ []string) error { return c.up(ctx, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.db, "db", "", "database `file`; default: "+databaseName+" in the runs directory")
	flags.IntVar(&f.port, "port", defaultPort, "`port` of the engine on the loopback interface; 0 takes a free one")
	flags.IntVar(&f.uiPort, "ui-port", defaultUIPort, "`port` of the Web UI; 0 takes a free one")
	flags.StringArrayVar(&f.providerEnv, "provider-env", nil, "`name` of a variable that provider programs may see; repeat it for more")
	return cmd
}

func (c *cli) up(ctx context.Context, f upFlags) error {
	for name, port := range map[string]int{"--port": f.port, "--ui-port": f.uiPort} {
		if port < 0 || port > 65535 {
			return usagef("%s %d: want 0 to 65535", name, port)
		}
	}
	if f.db == "" {
		f.db = filepath.Join(c.runsDir, databaseName)
	}
	h, err := c.startHost(ctx, hostOptions{
		engine: engine.Options{DB: f.db, Port: f.port, UIPort: f.uiPort, Token: c.knownToken()},
		local:  activities.Local{RunsDir: c.runsDir, Environ: c.environ, ProviderEnv: f.providerEnv},
	})
	if err != nil {
		return err
	}
	defer h.stop()
	if c.json {
		shown := h.file
		shown.Token = ""
		err = c.printJSON(shown)
	} else {
		c.printf("ready: engine %s, Web UI %s, runs in %s\n", h.file.Address, h.file.UI, h.file.RunsDir)
	}
	if err != nil {
		return err
	}
	if ids, err := c.adrift(ctx, c.clientOf(h.client)); err == nil && len(ids) > 0 {
		fmt.Fprintln(c.err, c.adriftText(ids))
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.err, "stopping; runs go on at the next start, turns that dispatches own are cut off")
		return nil
	case <-h.engine.Done():
		return h.engine.Err()
	}
}

// knownToken returns the token of the engine that ran on this runs directory before. A worker
// that knows the token can then continue with the next engine. The token is empty when there is
// none, or when another user may know it too.
func (c *cli) knownToken() engine.Token {
	f, err := engine.ReadFile(c.runsDir)
	if err != nil {
		return ""
	}
	return f.Token
}

// host holds the engine and the worker of this process.
type host struct {
	engine *engine.Engine
	client client.Client
	worker worker.Worker
	quiet  func() // ends the reports of dead workers and the ringing of doorbells
	log    *os.File
	file   engine.File
}

type hostOptions struct {
	engine engine.Options
	local  activities.Local
}

// stopTimeout bounds the end of the engine. A killed engine loses nothing.
const stopTimeout = 10 * time.Second

// startHost starts the engine and the worker, and writes engine.json when
// both are ready.
func (c *cli) startHost(ctx context.Context, o hostOptions) (_ *host, err error) {
	acts, err := o.local.Open()
	if err != nil {
		return nil, err
	}
	desk, err := o.local.NewDispatchActivities()
	if errors.Is(err, activities.ErrNoRegistry) {
		fmt.Fprintf(c.err, "starter: no dispatches are served: %v\n", err)
	} else if err != nil {
		return nil, err
	}
	h := &host{}
	defer func() {
		if err != nil {
			h.stop()
		}
	}()
	o.engine.Progress = func(line string) { fmt.Fprintln(c.err, line) }
	if h.engine, err = engine.Start(ctx, o.engine); err != nil {
		return nil, err
	}
	if h.log, err = os.OpenFile(filepath.Join(o.local.RunsDir, "worker.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("log of the worker: %w", err)
	}
	if err := h.serve(ctx, o.local, acts, desk, c.queue); err != nil {
		return nil, err
	}
	runsDir, err := filepath.Abs(o.local.RunsDir)
	if err != nil {
		return nil, err
	}
	h.file = engine.File{Address: h.engine.Address, UI: h.engine.UI, RunsDir: runsDir, PID: h.engine.PID, DB: h.engine.DB, Token: h.engine.Token}
	return h, engine.WriteFile(runsDir, h.file)
}

// serve starts a worker on the engine.
func (h *host) serve(ctx context.Context, local activities.Local, acts *activities.Activities, desk *activities.DispatchActivities, queue string) error {
	log := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	where := temporalclient.Options{Engine: h.engine.Address, Token: h.engine.Token, Logger: log}
	target, err := temporalclient.Resolve(where)
	if err != nil {
		return err
	}
	if h.client, err = temporalclient.Dial(ctx, where); err != nil {
		return err
	}
	if err := temporalclient.EnsureSearchAttributes(ctx, h.client, target.Namespace); err != nil {
		return err
	}
	liveness, err := local.OpenLiveness(ctx, h.client, target.Namespace, log)
	if err != nil {
		return err
	}
	w := worker.New(h.client, queue, temporalclient.WorkerOptions("", liveness))
	workflows.Register(w, acts, desk)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	h.worker = w
	noReports, quiet := liveness.Start(ctx), activities.Doorbells{Dispatch: desk, Log: log}.Start(ctx)
	h.quiet = func() { noReports(); quiet() }
	return nil
}

// stop ends the started parts of the host, the engine last.
func (h *host) stop() {
	if h.worker != nil {
		h.quiet()
		h.worker.Stop()
	}
	if h.client != nil {
		h.client.Close()
	}
	if h.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		_ = h.engine.Stop(ctx)
	}
	if h.log != nil {
		_ = h.log.Close()
	}
}
