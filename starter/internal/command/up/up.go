// Package up is the command `starter up`.
package up

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/starter/internal/background"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Ports that Temporal's own tools try by default.
const (
	defaultPort   = 7233
	defaultUIPort = 8233
)

type upFlags struct {
	db           string
	port, uiPort int
	open         bool
	forDemo      bool // started by the demo: ends with the standard input, and reports only what its start needs
	background   bool
	unit         bool
	// portChosen and uiPortChosen say that the port is the user's choice: a taken one is an error then.
	portChosen, uiPortChosen bool
	worker                   host.Config
}

func New(c *factory.Factory) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the engine, its Web UI and a worker until interrupted",
		Long: `Runs Temporal's server with its state in one file, its Web UI, and a worker, all
on this machine, until interrupted, or with --background until ` + "`starter stop`" + `.
Interrupt it, kill it, start it again: every run continues where it was. Other
commands find it by engine.json in the runs directory, from every working directory;
only you can read it. They use no other engine unless the Temporal configuration
(TEMPORAL_ADDRESS) names one. Where the engine is up already, the command says so and
ends.

The engine listens on this machine alone, by mutual TLS: starter and worker, and
Temporal's own tools by what ` + "`starter env`" + ` prints, show the certificate in engine.pem.
A browser reaches the review page, and through it the Web UI, by a link. With --open
the engine asks no caller who he is: every user and program of this machine can then
start runs, approve, and so run any command as you.

The engine is built once.`,
		Example: "  starter up\n  starter up --background\n  starter up --unit > ~/.config/systemd/user/ratchet.service\n  starter up --port 0 --ui-port 0 --json   # free ports, one JSON object when ready\n  starter up --runs-dir /srv/ratchet --provider-env OPENAI_API_KEY",
		Args:    usage.Args(0, "no arguments, only flags"),
	}
	flags := cmd.Flags()
	cmd.RunE = c.Handle(func(ctx context.Context, _ []string) error {
		switch {
		case f.unit:
			text, err := background.Unit(c)
			c.Printf("%s", text)
			return err
		case f.background:
			return background.Up(ctx, c)
		}
		f.portChosen, f.uiPortChosen = flags.Changed("port"), flags.Changed("ui-port")
		if !f.forDemo {
			if err := fillNotices(c, flags); err != nil {
				return err
			}
		}
		return runLocally(ctx, c, f)
	})
	flags.StringVar(&f.db, "db", "", "database `file`; default: "+localhost.Database+" in the runs directory")
	flags.IntVar(&f.port, "port", defaultPort, "`port` of the engine on the loopback interface; 0 takes a free one, and so does the default where it is taken")
	flags.IntVar(&f.uiPort, "ui-port", defaultUIPort, "`port` of the HTTP API; 0 takes a free one, and so does the default where it is taken")
	flags.BoolVar(&f.forDemo, localhost.ForDemoFlag, false, "end when the standard input does, and keep quiet about what the demo tells itself")
	_ = flags.MarkHidden(localhost.ForDemoFlag)
	flags.BoolVar(&f.background, background.Flag, false, "return when all is ready; engine and worker run until starter stop")
	flags.BoolVar(&f.unit, "unit", false, "print a user unit for systemd with these flags, and start nothing")
	flags.BoolVar(&f.open, "open", false, "take the lock off: every user and program of this machine can approve and run commands as you")
	ofWorker := flag.NewFlagSet("worker", flag.ContinueOnError)
	f.worker.AddFlags(ofWorker)
	flags.AddGoFlagSet(ofWorker)
	return cmd
}

func runLocally(ctx context.Context, c *factory.Factory, f upFlags) error {
	for name, port := range map[string]int{"--port": f.port, "--ui-port": f.uiPort} {
		if port < 0 || port > 65535 {
			return usage.Errorf("%s %d: want 0 to 65535", name, port)
		}
	}
	f.db = cmp.Or(f.db, filepath.Join(c.RunsDir, localhost.Database))
	started := func() {}
	if !f.forDemo {
		var err error
		if started, err = lockStart(ctx, c); err != nil {
			return err
		}
		defer started()
		if running, err := reportRunning(ctx, c, f.db); running || err != nil {
			return err
		}
	}
	if home, _, err := hosts.ReadHome(c.RunsDir); err == nil {
		return fmt.Errorf("%s belongs to the engine at %s, which this machine has joined as %s: start `worker`, or name another --runs-dir", c.RunsDir, home.Address, home.Name)
	}
	f.port, f.uiPort = freePort(f.port, f.portChosen), freePort(f.uiPort, f.uiPortChosen)
	f.worker.Environ = c.Environ
	if f.worker.Review == nil {
		f.worker.Review = &review.Config{}
	}
	f.worker.Review.Commands = PageCommands{Factory: c, Toolchains: f.worker.Toolchains}
	if f.forDemo {
		f.worker.Review.Address = "127.0.0.1:0"
		f.worker.Warn = func(error) {}
		var stop func()
		ctx, stop = untilEnd(ctx, c.In)
		defer stop()
	}
	var err error
	if f.worker.Sandbox, err = sandboxing.Choose(c, string(f.worker.Sandbox)); err != nil {
		return err
	}
	h, err := localhost.Start(ctx, c, engine.Options{DB: f.db, Port: f.port, UIPort: f.uiPort, Open: f.open}, f.worker)
	if err != nil {
		return err
	}
	defer h.Stop()
	started()
	if err := showReady(c, h, f); err != nil {
		return err
	}
	if f.forDemo {
		return h.Await(ctx)
	}
	if text, _ := runref.AdriftText(ctx, c, c.ClientOf(h.Worker.Client)); text != "" {
		fmt.Fprintln(c.Err, text)
	}
	if !c.JSON {
		telling, stop := context.WithCancel(ctx)
		var waits sync.WaitGroup
		waits.Go(func() { printWaits(telling, c, h.Worker.Client) })
		defer waits.Wait()
		defer stop()
	}
	err = h.Await(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(c.Err, "Stopping. Runs continue at the next `starter up`.")
	}
	return err
}

// untilEnd returns a context that ends when r does. A pipe ends when the process at its other end has
// ended in any way.
func untilEnd(ctx context.Context, r io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx, cancel
}

func showReady(c *factory.Factory, h *localhost.Host, f upFlags) error {
	if f.open && !f.forDemo {
		fmt.Fprintln(c.Err, "starter: "+c.Style().Bad(localhost.OpenWarning))
	}
	if c.JSON {
		shown := struct {
			engine.File
			Review string `json:"review,omitempty"` // opens the review page and the Web UI once
		}{h.File, reviewLink(c, h)}
		return c.PrintJSON(shown)
	}
	c.Printf("ready: engine %s, runs in %s\n", h.File.Address, h.File.RunsDir)
	if link := reviewLink(c, h); link != "" {
		c.Printf("review and approve at %s (once, within ten minutes; `%s` prints another link, `%s` one to Temporal's Web UI)\n", link, c.Hint("page"), c.Hint("ui"))
	}
	return nil
}

// reviewLink returns a link that opens the review page once; empty: none is served.
func reviewLink(c *factory.Factory, h *localhost.Host) string {
	if h.Worker.Review == nil {
		return ""
	}
	return h.Worker.Review.Short(h.Worker.Review.Place().LoginOwner(c.UserName(), "/", time.Now()))
}
