// Package coroutine orders the coroutines of a workflow.
package coroutine

import "go.temporal.io/sdk/workflow"

// RunOthers lets every other coroutine of the workflow run until it blocks. A coroutine that is blocked in a
// Selector gets a signal as soon as the signal arrives, before it runs: ReceiveAsync does not find that signal in
// its channel. So a workflow that ends, or continues as new, calls RunOthers first.
func RunOthers(ctx workflow.Context) error {
	ran := false
	workflow.Go(ctx, func(workflow.Context) { ran = true }) // runs last: coroutines run in the order in which they began
	return workflow.Await(ctx, func() bool { return ran })
}
