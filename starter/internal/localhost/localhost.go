// Package localhost runs an engine and a worker in this process.
package localhost

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Database is the name of the file with the engine's state in the runs directory.
const Database = "engine.db"

// ForDemoFlag is the flag by which the demo starts an engine and a worker of its own.
const ForDemoFlag = "for-demo"

// Await waits for the end of ctx, or of the engine by itself, which is an error.
func (l *Host) Await(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.engine.Done():
		return l.engine.Err()
	}
}

// OpenWarning is the warning that everyone who meets an open engine reads.
const OpenWarning = "OPEN: this engine asks no caller who he is: every user and program of this machine can approve and run commands as you"

// Host holds the engine and the worker of this process.
type Host struct {
	engine *engine.Engine
	door   *hosts.Door // for other hosts
	Worker *host.Worker
	log    *os.File
	File   engine.File
}

const StartsEngine = "starts the engine"

// StopTimeout bounds the end of the engine. A killed engine loses nothing.
const StopTimeout = 10 * time.Second

// Start starts the engine and the worker, and writes engine.json when
// both are ready. The worker has the runs directory and the task queue of the command line.
func Start(ctx context.Context, c *factory.Factory, e engine.Options, w host.Config) (_ *Host, err error) {
	screen := c.ErrorScreen()
	work := screen.Work("tests the sandbox")
	defer work.Stop()
	w.RunsDir, w.TaskQueue = c.RunsDir, c.Queue
	if w.Warn == nil {
		w.Warn = func(err error) { screen.Linef("starter: %v", err) }
	}
	h, err := host.Open(ctx, w)
	if err != nil {
		return nil, err
	}
	l := &Host{}
	defer func() {
		if err != nil {
			l.Stop()
		}
	}()
	if e.Key, err = engine.MakeKey(c.RunsDir); err != nil {
		return nil, err
	}
	work.Step(StartsEngine)
	ShowBuild(&e, screen, work)
	if l.engine, err = engine.Start(ctx, e); err != nil {
		return nil, err
	}
	if l.log, err = file.Append(filepath.Join(c.RunsDir, "worker.log")); err != nil {
		return nil, fmt.Errorf("log of the worker: %w", err)
	}
	work.Step("starts the worker")
	log := slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if l.Worker, err = h.Serve(ctx, temporalclient.Options{Engine: l.engine.Address, Key: l.engine.Key, Open: l.engine.Open, API: l.engine.API, Logger: log}); err != nil {
		return nil, err
	}
	runsDir, err := filepath.Abs(c.RunsDir)
	if err != nil {
		return nil, err
	}
	l.door = hosts.Open(runsDir, hosts.OfEngine(l.engine), log)
	l.File = engine.File{Address: l.engine.Address, API: l.engine.API, RunsDir: runsDir, PID: l.engine.PID, DB: l.engine.DB, Open: l.engine.Open, Sandbox: string(h.Sandbox.Policy), Notify: h.Notify.Channels()}
	l.File.UpPID, l.File.UpKey = os.Getpid(), process.StartKey(os.Getpid())
	if l.Worker.Review != nil {
		l.File.UI = l.Worker.Review.URL + review.UIPath
	}
	if h.Sandbox.Missing != nil {
		l.File.NoBox = h.Sandbox.Missing.Error()
	}
	return l, engine.WriteFile(runsDir, l.File)
}

// ShowBuild shows the progress of the engine's build on a screen, in its moving line if it has one.
func ShowBuild(e *engine.Options, screen *terminal.Screen, work *terminal.Work) {
	e.Progress = screen.Line
	if !screen.Live() {
		return
	}
	e.Live = func(line string) {
		if line == "" {
			work.Step(StartsEngine)
			return
		}
		work.Show(line)
	}
}

// Stop ends the started parts, the engine last.
func (l *Host) Stop() {
	if l.door != nil {
		l.door.Stop()
	}
	if l.Worker != nil {
		l.Worker.Stop()
	}
	if l.engine != nil {
		ctx, cancel := context.WithTimeout(context.Background(), StopTimeout)
		defer cancel()
		_ = l.engine.Stop(ctx)
	}
	if l.log != nil {
		_ = l.log.Close()
	}
}
