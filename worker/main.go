// Worker serves the runs of one Temporal server: it takes their workflow tasks and does their
// activities on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	sdkworker "go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/proc/dumpable"
	// The supervisor of the programs that runs start is this same executable;
	// see the package's doc.
	_ "github.com/ratchet-dev/ratchet/internal/proc/supervisor"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/workflows"
)

type settings struct {
	runsDir     string
	taskQueue   string
	providerEnv []string
}

func main() {
	// The programs of runs have the same user as this process, and its environment may hold
	// secrets.
	if err := dumpable.Off(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	var s settings
	flag.StringVar(&s.runsDir, "runs-dir", ".runs", "`directory` of the runs' records and worktrees")
	flag.StringVar(&s.taskQueue, "task-queue", temporalclient.TaskQueue, "`name` of the task queue to serve")
	flag.Func("provider-env", "`name` of a variable that provider programs may see; repeat it for more", func(name string) error {
		s.providerEnv = append(s.providerEnv, name)
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, s); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "worker:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(codeOf(err))
	}
}

// codeOf returns the exit code of an error, with starter's meaning: 6 for an engine that cannot be
// reached.
func codeOf(err error) int {
	if _, ok := errors.AsType[*temporalclient.Unreachable](err); ok {
		return 6
	}
	return 1
}

func serve(ctx context.Context, s settings) error {
	local := activities.Local{RunsDir: s.runsDir, Environ: os.Environ(), ProviderEnv: s.providerEnv}
	acts, err := local.Open()
	if err != nil {
		return err
	}
	desk, err := local.NewDispatchActivities()
	if errors.Is(err, activities.ErrNoRegistry) {
		fmt.Fprintln(os.Stderr, "worker: no dispatches are served:", err)
	} else if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	where := temporalclient.Options{RunsDir: s.runsDir, Logger: log}
	target, err := temporalclient.Resolve(where)
	if err != nil {
		return err
	}
	c, err := temporalclient.Dial(ctx, where)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := temporalclient.EnsureSearchAttributes(ctx, c, target.Namespace); err != nil {
		return err
	}
	liveness, err := local.OpenLiveness(ctx, c, target.Namespace, log)
	if err != nil {
		return err
	}
	w := sdkworker.New(c, s.taskQueue, temporalclient.WorkerOptions("", liveness))
	workflows.Register(w, acts, desk)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	defer liveness.Start(ctx)()
	defer activities.Doorbells{Dispatch: desk, Log: log}.Start(ctx)()
	fmt.Printf("serving task queue %s of %s, namespace %s, runs in %s\n", s.taskQueue, target.Address, target.Namespace, s.runsDir)
	<-ctx.Done()
	return nil
}
