package temporalclient

import (
	"runtime"
	"time"

	"go.temporal.io/sdk/worker"
)

// WorkerOptions are those of a worker on TaskQueue; an empty identity is the client's. Eager activities are on, which is
// the SDK's default.
func WorkerOptions(identity string) worker.Options {
	cores := runtime.GOMAXPROCS(0)
	return worker.Options{
		Identity: identity,
		// A run whose worker was killed waits this long before another worker gets its next workflow task.
		StickyScheduleToStartTimeout: time.Second,
		// Below half of the 2 s heartbeat timeout, so that one lost heartbeat does not fail an attempt.
		MaxHeartbeatThrottleInterval:     800 * time.Millisecond,
		DefaultHeartbeatThrottleInterval: 800 * time.Millisecond,
		// Activities wait for other programs more than they compute.
		MaxConcurrentActivityExecutionSize:      16 * cores,
		MaxConcurrentLocalActivityExecutionSize: 16 * cores,
		MaxConcurrentWorkflowTaskExecutionSize:  32 * cores,
		MaxConcurrentWorkflowTaskPollers:        max(4, cores),
		MaxConcurrentActivityTaskPollers:        max(4, cores),
		WorkerStopTimeout:                       5 * time.Second,
	}
}
