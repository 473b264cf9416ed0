package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/attempts"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Liveness lets the workers of a host detect at once that one of them died. It never takes a
// stopped worker for a dead one: see package attempts. As an interceptor it notes every attempt at
// an activity. Start reports the attempts of dead workers.
type Liveness struct {
	interceptor.WorkerInterceptorBase

	store  *attempts.Store
	client client.Client
	engine string // the id of the client's namespace, which no other engine has
	log    *slog.Logger

	underWay atomic.Int64 // attempts of this process
}

// OpenLiveness opens the Liveness of the workers of a namespace. The attempts are in the runs
// directory, which the workers of a host share.
func OpenLiveness(ctx context.Context, runsDir string, c client.Client, namespace string, log *slog.Logger) (*Liveness, error) {
	runs, err := rundir.Open(ctx, runsDir)
	if err != nil {
		return nil, err
	}
	store, err := attempts.Open(runs.Attempts())
	if err != nil {
		return nil, err
	}
	about, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("identify namespace %s: %w", namespace, err)
	}
	return &Liveness{store: store, client: c, engine: about.GetNamespaceInfo().GetId(), log: log}, nil
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (l *Liveness) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &noted{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, liveness: l}
}

type noted struct {
	interceptor.ActivityInboundInterceptorBase
	liveness *Liveness
}

// ExecuteActivity holds the attempt while it lasts, and the programs of the attempt hold it until
// they end. An attempt that cannot be noted is executed all the same. The engine then detects its
// loss by the missing heartbeats.
func (n *noted) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	n.liveness.underWay.Add(1)
	defer n.liveness.underWay.Add(-1)
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity { // it has no token; its workflow task is executed again
		return n.Next.ExecuteActivity(ctx, in)
	}
	held, err := n.liveness.store.Begin(attempts.Attempt{
		Engine: n.liveness.engine, Token: info.TaskToken, PID: os.Getpid(), Began: time.Now(),
	})
	if err != nil {
		n.liveness.log.Warn("attempt not recorded", "error", err)
		return n.Next.ExecuteActivity(ctx, in)
	}
	defer held.End()
	return n.Next.ExecuteActivity(proc.Keep(ctx, held.File()), in)
}

// AwaitAttempts waits until no attempt is in progress in this process, for limit at most. A worker that has stopped has
// ended the contexts of its activities, and does not wait for them to keep what they have used.
func (l *Liveness) AwaitAttempts(limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for l.underWay.Load() > 0 {
		select {
		case <-late.C:
			return
		case <-tick.C:
		}
	}
}

const (
	awaitEvery  = 10 * time.Millisecond
	sweepEvery  = 300 * time.Millisecond
	reportLimit = 5 * time.Second
	// forgotten is the age at which a dead attempt of another engine is removed, in case no worker
	// here serves that engine. Its timeouts have passed by then.
	forgotten = 24 * time.Hour
)

// Start reports the attempts of dead workers every sweepEvery, until ctx ends or stop is called. Stop returns when no
// report is in progress any more.
func (l *Liveness) Start(ctx context.Context) (stop func()) {
	return lookRegularly(ctx, time.Tick(sweepEvery), l.log, "report the attempts of dead workers", l.reportDeadAttempts)
}

// lookRegularly calls look at each tick until ctx ends or stop is called, which returns when no look is in progress any
// more. It logs an error when it differs from that of the look before.
func lookRegularly(ctx context.Context, ticks <-chan time.Time, log *slog.Logger, task string, look func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for before := ""; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticks:
			}
			wrong := ""
			if err := look(ctx); err != nil && ctx.Err() == nil {
				wrong = report.Summary(err.Error())
			}
			if wrong != "" && wrong != before {
				log.Warn(task, "error", wrong)
			}
			before = wrong
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (l *Liveness) reportDeadAttempts(ctx context.Context) error {
	var unreported error
	err := l.store.Dead(func(a attempts.Attempt) (settled bool) {
		if a.Engine != l.engine {
			return time.Since(a.Began) > forgotten
		}
		err := l.report(ctx, a)
		unreported = cmp.Or(err, unreported)
		return err == nil
	})
	return cmp.Or(err, unreported)
}

// report ends the attempt with the attempt's own token. An engine that no longer knows the attempt
// as open refuses the token, and nothing remains to be done. An error may be temporary.
func (l *Liveness) report(ctx context.Context, a attempts.Attempt) error {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	lost := temporal.NewApplicationErrorWithOptions(fmt.Sprintf("its worker (process %d) ended", a.PID), report.LostError,
		temporal.ApplicationErrorOptions{NextRetryDelay: report.RetryLost})
	err := l.client.CompleteActivity(ctx, a.Token, nil, lost)
	if _, late := errors.AsType[*serviceerror.NotFound](err); late {
		return nil
	}
	if _, bad := errors.AsType[*serviceerror.InvalidArgument](err); bad {
		l.log.Warn("the engine does not know the attempt of a dead worker", "error", err)
		return nil
	}
	return err
}
