package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/host"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/workflows"
)

// naive, as the value of asWorker, makes the test binary a worker whose
// Apply appends to the branch wherever it is, as a naive one would. It is the
// control of the kill suites: they must show that it repeats itself.
const naive = "appending"

// serveWith is a worker of the product to which a test adds something.
func serveWith(add func(sdkworker.Worker), interceptors ...interceptor.WorkerInterceptor) {
	c := host.Config{Environ: os.Environ()}
	flag.StringVar(&c.RunsDir, "runs-dir", "", "")
	queue := flag.String("task-queue", "", "")
	c.AddFlags(flag.CommandLine)
	flag.Parse()
	if err := work(c, *queue, add, interceptors); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func work(c host.Config, queue string, add func(sdkworker.Worker), interceptors []interceptor.WorkerInterceptor) error {
	h, err := host.Open(context.Background(), c)
	if err != nil {
		return err
	}
	return serveAs(c.RunsDir, interceptors, queues{queue: func(w sdkworker.Worker) {
		workflows.Register(w, h.Activities)
		if add != nil {
			add(w)
		}
	}})
}

// queues holds what registers the work of each task queue, by its name.
type queues map[string]func(sdkworker.Worker)

// serveAs serves the queues, and notices dead workers as the product does.
func serveAs(runsDir string, interceptors []interceptor.WorkerInterceptor, served queues) error {
	ctx := context.Background()
	c, err := temporalclient.Dial(ctx, temporalclient.Options{RunsDir: runsDir, Logger: slog.Default()})
	if err != nil {
		return err
	}
	liveness, err := host.OpenLiveness(ctx, runsDir, c, client.DefaultNamespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for name, register := range served {
		w := sdkworker.New(c, name, temporalclient.WorkerOptions("", append(interceptors, liveness)...))
		register(w)
		if err := w.Start(); err != nil {
			return err
		}
	}
	liveness.Start(ctx)
	fmt.Println("serving task queues", slices.Collect(maps.Keys(served)))
	select {}
}

func addNaiveApply(w sdkworker.Worker) {
	w.RegisterActivityWithOptions(applyAppending, activity.RegisterOptions{Name: "Apply", DisableAlreadyRegisteredCheck: true})
}

// applyAppending adds the patch's summary to log.txt at the tip of the branch.
func applyAppending(ctx context.Context, in activities.ApplyInput) (activities.ApplyResult, error) {
	g := plumbing{ctx: ctx, repo: in.Repository.Path}
	branch := "refs/heads/" + in.RunID.Branch()
	log := g.run("", "show", branch+":log.txt")
	if log != "" {
		log += "\n"
	}
	blob := g.run(log+in.Message+"\n", "hash-object", "-w", "--stdin")
	tree := g.run(fmt.Sprintf("100644 blob %s\tlog.txt\n", blob), "mktree")
	commit := g.run(in.Message, "commit-tree", "-p", branch, tree)
	g.run("", "update-ref", branch, commit)
	failpoint.Hit("apply.committed")
	return activities.ApplyResult{Commit: run.Commit(commit)}, g.err
}

// plumbing runs git after git until one fails.
type plumbing struct {
	ctx  context.Context
	repo string
	err  error
}

func (g *plumbing) run(stdin string, args ...string) string {
	if g.err != nil {
		return ""
	}
	cmd := gittest.Command(g.ctx, g.repo, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	g.err = err
	return strings.TrimSpace(string(out))
}
