package temporalclient

import (
	"runtime"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
)

// WorkerHeartbeat is how often a worker reports to the server that it is there, and what it does. The server keeps that in
// memory alone.
const WorkerHeartbeat = 2 * time.Second

// remoteHeartbeat is how often an activity sends a heartbeat to a server that many workers share: each is a transaction of
// its database. It is a third of the shortest heartbeat timeout (workflows/record.go).
const remoteHeartbeat = 5 * time.Second

// Throttle holds the heartbeats of activities back as a server wants it that many workers share.
func Throttle(o *worker.Options) {
	o.MaxHeartbeatThrottleInterval, o.DefaultHeartbeatThrottleInterval = remoteHeartbeat, remoteHeartbeat
}

// WorkerOptions returns the options of a worker on TaskQueue. An empty identity means the client's.
// Eager activities are on, which is the SDK's default.
func WorkerOptions(identity string, interceptors ...interceptor.WorkerInterceptor) worker.Options {
	cores := runtime.GOMAXPROCS(0)
	return worker.Options{
		Identity:     identity,
		Interceptors: interceptors,
		// A run whose worker was killed waits this long before another worker gets its next workflow task.
		StickyScheduleToStartTimeout: time.Second,
		// Activities send a heartbeat every second, and none is held back. A pause that ends just
		// before the heartbeat timeout costs nothing only if the heartbeat before it was recent. A
		// cancellation comes with a heartbeat where the server does not push it.
		MaxHeartbeatThrottleInterval:     100 * time.Millisecond,
		DefaultHeartbeatThrottleInterval: 100 * time.Millisecond,
		// A busy machine stops a workflow for longer than the SDK's second without a deadlock. One that hangs is told
		// before its task ends, at 10 s.
		DeadlockDetectionTimeout: 8 * time.Second,
		// Activities mostly wait for other programs and compute little.
		MaxConcurrentActivityExecutionSize:      16 * cores,
		MaxConcurrentLocalActivityExecutionSize: 16 * cores,
		MaxConcurrentWorkflowTaskExecutionSize:  32 * cores,
		MaxConcurrentActivityTaskPollers:        max(4, cores),
		// A fixed number of pollers serves the worker's own queue alone while the engine says that tasks are waiting there,
		// and it says so for up to a minute after the last: new runs waited for that long.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
			InitialNumberOfPollers: max(4, cores), MinimumNumberOfPollers: 2, MaximumNumberOfPollers: 32 * cores,
		}),
		WorkerStopTimeout: 5 * time.Second,
	}
}
