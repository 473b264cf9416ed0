// Package unsound holds workflows that workflowcheck must refuse: the control
// of its step in the CI.
package unsound

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Ranges visits a map in no order.
func Ranges(ctx workflow.Context, names map[string]int) error {
	for name := range names {
		workflow.GetLogger(ctx).Info(name)
	}
	return nil
}

// Reads looks at the clock of its machine.
func Reads(workflow.Context) (int64, error) {
	return time.Now().Unix(), nil
}
