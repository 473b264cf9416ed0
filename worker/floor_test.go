package main

import (
	"context"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// floored, as the value of asWorker, adds the floor of the benchmarks to the
// worker: a workflow that calls as many activities as a run does, of the same
// kinds, that do nothing.
const floored = "floored"

// step is one activity of the floor.
type step string

const (
	local   step = "local"
	regular step = "regular"
	beside  step = "beside" // regular, and waited for at the end only
)

func addFloor(w sdkworker.Worker) {
	w.RegisterWorkflow(floor)
	w.RegisterActivityWithOptions(nothing, activity.RegisterOptions{Name: "nothing"})
}

func nothing(context.Context) error { return nil }

func floor(ctx workflow.Context, steps []step) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	var later []workflow.Future
	for _, st := range steps {
		switch st {
		case beside:
			later = append(later, workflow.ExecuteActivity(ctx, nothing))
		case regular:
			if err := workflow.ExecuteActivity(ctx, nothing).Get(ctx, nil); err != nil {
				return err
			}
		default:
			if err := workflow.ExecuteLocalActivity(ctx, nothing).Get(ctx, nil); err != nil {
				return err
			}
		}
	}
	for _, f := range later {
		if err := f.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// steps are the activities of a run, in the order of its history.
func (ex execution) steps() (steps []step) {
	for _, e := range ex.events {
		switch e.EventType {
		case enums.EVENT_TYPE_MARKER_RECORDED:
			if e.GetMarkerRecordedEventAttributes().GetMarkerName() == "LocalActivity" {
				steps = append(steps, local)
			}
		case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			kind := regular
			if e.GetActivityTaskScheduledEventAttributes().ActivityType.Name == "Prepare" {
				kind = beside
			}
			steps = append(steps, kind)
		}
	}
	return steps
}
