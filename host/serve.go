package host

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/user"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/notify"
	scheduleacts "github.com/ratchet-dev/ratchet/activities/schedule"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/host/sessions"
	"github.com/ratchet-dev/ratchet/host/telemetry"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/version"
	"github.com/ratchet-dev/ratchet/workflows"
	dispatchflow "github.com/ratchet-dev/ratchet/workflows/dispatch"
	forgeflow "github.com/ratchet-dev/ratchet/workflows/forge"
	notifyflow "github.com/ratchet-dev/ratchet/workflows/notify"
	scheduleflow "github.com/ratchet-dev/ratchet/workflows/schedule"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// Worker is a worker that serves an engine.
type Worker struct {
	Client    client.Client
	TaskQueue string
	Address   string // of the engine
	Namespace string
	Review    *review.Server // nil: no page is served
	Metrics   string         // host:port of the metrics; empty: they are not served

	webUI   http.RoundTripper     // nil: the server has none that the page could serve
	metrics client.MetricsHandler // nil: they go nowhere
	remote  bool                  // others may use the server, too

	stop []func() // in the order of the starts
}

// Serve connects to an engine, starts a worker on it, reports the attempts of dead workers and rings
// lost doorbells again, until Stop. The end of ctx ends the reports and the rings alone. The Logger of
// the options receives what all of them log.
func (h *Host) Serve(ctx context.Context, engine temporalclient.Options) (_ *Worker, err error) {
	if engine.Logger == nil {
		engine.Logger = slog.New(slog.DiscardHandler)
	}
	target, err := temporalclient.Resolve(engine)
	if err != nil {
		return nil, err
	}
	w := &Worker{TaskQueue: cmp.Or(h.config.TaskQueue, temporalclient.TaskQueue), Address: target.Address, Namespace: target.Namespace, webUI: target.WebUI()}
	w.remote = target.Remote()
	engine.Identity, engine.Beat = fmt.Sprintf("%d@%s", os.Getpid(), cmp.Or(target.Host, Name(h.config.RunsDir))), temporalclient.WorkerHeartbeat
	defer func() {
		if err != nil {
			w.Stop()
		}
	}()
	metrics, err := telemetry.Open(ctx, telemetry.Config{Listen: h.config.Metrics, Version: version.Read().Version, Lookup: h.config.lookup, Log: engine.Logger})
	if err != nil {
		return nil, err
	}
	w.stop = append(w.stop, metrics.Stop)
	w.Metrics, w.metrics, engine.Metrics = metrics.Address, metrics.Handler, metrics.Handler
	if rundir.Bucket(h.config.RunsDir) != nil {
		engine.Beat = beatEvery
	}
	if w.Client, err = temporalclient.Dial(ctx, engine); err != nil {
		return nil, err
	}
	w.stop = append(w.stop, w.Client.Close)
	if err := temporalclient.EnsureSearchAttributes(ctx, w.Client, w.Namespace); err != nil {
		return nil, err
	}
	return w, h.start(ctx, w, engine.Logger, engine.Identity)
}

func (h *Host) start(ctx context.Context, w *Worker, log *slog.Logger, identity string) error {
	liveness, err := OpenLiveness(ctx, h.config.RunsDir, w.Client, w.Namespace, log)
	if err != nil {
		return err
	}
	h.boundMemory()
	if err := h.startReview(w); err != nil {
		return err
	}
	others := &fleet{bucket: rundir.Bucket(h.config.RunsDir), acts: h.Activities, liveness: liveness, namespace: w.Namespace, identity: identity}
	options := w.options(liveness, others)
	if h.config.Deployment != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning: true, DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade, // a run may wait for ever
			Version: worker.WorkerDeploymentVersion{DeploymentName: h.config.Deployment, BuildID: h.config.BuildID},
		}
	}
	if err := boundSlots(&options, freeMemory); err != nil {
		return err
	}
	h.Notify.Link = func(n notices.Notice) string { return h.noticeLink(w, n) }
	h.Notify.Answers = func(n notices.Notice) []notices.Answer { return h.noticeAnswers(w, n) }
	var serving []worker.Worker
	if others.bucket != nil && h.Sandbox.Missing == nil { // runs that this host cannot do are left to others
		serving = append(serving, worker.New(w.Client, temporalclient.PoolOf(h.Sandbox.Policy), options))
	}
	serving = append(serving, worker.New(w.Client, w.TaskQueue, options)) // last: a list of workers that has it has the pool's part, too
	for _, s := range serving {
		h.register(w, s)
	}
	w.stop = append(w.stop, func() { liveness.AwaitAttempts(stopLimit) })
	for _, s := range append(h.sessionWorkers(w, liveness), serving...) {
		if err := s.Start(); err != nil {
			return fmt.Errorf("start the worker: %w", err)
		}
		w.stop = append(w.stop, s.Stop)
	}
	w.stop = append(w.stop, liveness.Start(ctx), others.Start(ctx))
	if h.Dispatch != nil {
		w.stop = append(w.stop, Doorbells{Boxes: h.boxes, Log: log}.Start(ctx))
	}
	return nil
}

// register registers all workflows and activities but those of the sessions' own queues.
func (h *Host) register(w *Worker, serving worker.Worker) {
	workflows.Register(serving, h.Activities)
	notifyflow.Register(serving, notify.New(h.Notify))
	forgeflow.Register(serving, forgeacts.New(h.forgeConfig(w)))
	scheduleflow.Register(serving, scheduleacts.New(schedules{scheduled{h.runsOf(w), h.config.RunsDir}, h.Activities.Probe}))
	serving.RegisterActivity(&deliveryacts.Sender{})
	serving.RegisterActivity(h.Deliveries)
	sessionflow.Register(serving, h.Sessions)
	if h.Dispatch != nil {
		dispatchflow.Register(serving, h.Dispatch)
	}
}

// runsOf returns a client of the worker's runs.
func (h *Host) runsOf(w *Worker) *runs.Client {
	client := runs.New(w.Client, w.TaskQueue)
	client.RunsDir, client.Namespace = h.config.RunsDir, w.Namespace
	return client
}

// options returns the options of each of the worker's parts.
func (w *Worker) options(interceptors ...interceptor.WorkerInterceptor) worker.Options {
	o := temporalclient.WorkerOptions("", interceptors...)
	if w.remote {
		temporalclient.Throttle(&o)
	}
	return o
}

// stopLimit bounds the wait for activities whose context the stop of their worker has ended.
const stopLimit = 2 * time.Second

// linkOf returns the address of a run on the review page; empty: the worker serves none.
func (w *Worker) linkOf(id run.ID) string {
	if w.Review == nil {
		return ""
	}
	return w.Review.URL + review.RunPath(id)
}

// noticeLink returns the address of what a notice is about. On a page that people reach from elsewhere it logs in once.
func (h *Host) noticeLink(w *Worker, n notices.Notice) string {
	path := review.NoticePath(n)
	switch {
	case w.Review == nil || path == "":
		return ""
	case h.config.Review.URL == "":
		return w.Review.URL + path
	}
	return w.Review.NoticeLink(noticeName(), path)
}

// noticeAnswers returns the addresses that decide what a notice asks for, on a page that people reach from elsewhere.
func (h *Host) noticeAnswers(w *Worker, n notices.Notice) []notices.Answer {
	if w.Review == nil || h.config.Review.URL == "" {
		return nil
	}
	return w.Review.NoticeAnswers(noticeName(), n)
}

// noticeName names who decides by a notice.
func noticeName() string {
	if u, err := user.Current(); err == nil && review.CheckName(u.Username) == nil {
		return u.Username
	}
	return "a notice"
}

// startReview serves the review page, if the worker has one, and says in the runs directory where it is.
func (h *Host) startReview(w *Worker) (err error) {
	c := h.config.Review
	if c == nil || c.Address == review.Off {
		return nil
	}
	client := h.runsOf(w)
	config := *c
	config.ReplySecret = h.Notify.Secret
	config.WebUI, config.Sessions = w.webUI, sessions.Client{Temporal: w.Client, Queue: w.TaskQueue}
	config.Tickets = client
	config.Hosts = func(ctx context.Context) string {
		return client.DescribeJoined(ctx, time.Now())
	}
	if w.Review, err = review.Start(config, client, review.NewDisk(h.config.RunsDir)); err != nil {
		return err
	}
	w.stop = append(w.stop, w.Review.Stop)
	if h.Notify.Webhook != "" && c.URL == "" {
		h.config.warn(fmt.Errorf("the links in webhook notices lead to %s, which other devices cannot reach: name an address that they reach with --review-url", w.Review.URL))
	}
	return w.Review.Place().Write(h.config.RunsDir)
}

// Stop ends what Serve started, the connection last. It waits for the activities in progress as long as
// temporalclient.WorkerOptions says, ends their contexts, and waits for stopLimit more. A second call does nothing.
func (w *Worker) Stop() {
	for len(w.stop) > 0 {
		last := len(w.stop) - 1
		w.stop[last]()
		w.stop = w.stop[:last]
	}
}
