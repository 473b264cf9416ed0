package main

import (
	"context"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
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
	w.RegisterWorkflow(dressedFloor)
	w.RegisterActivityWithOptions(nothing, activity.RegisterOptions{Name: "nothing"})
	w.RegisterActivityWithOptions(fill, activity.RegisterOptions{Name: "fill"})
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

// dressed is an activity of the run with all that the engine sees of it, and without its work.
type dressed struct {
	Beside     bool // waited for with the next one
	In, Out    int  // bytes of input and result
	Heartbeat  time.Duration
	Attributes bool // the workflow tells its search attributes before
}

type filling struct {
	Out  int
	Text string
}

// fill returns so many bytes.
func fill(_ context.Context, in filling) (string, error) { return strings.Repeat("y", in.Out), nil }

// dressedFloor is the floor of a run with the payloads, timeouts, summaries and search attributes of the run.
func dressedFloor(ctx workflow.Context, steps []dressed) error {
	var later workflow.Future
	for i, st := range steps {
		if st.Attributes {
			if err := workflow.UpsertTypedSearchAttributes(ctx, attribute.Status().ValueSet("running"), attribute.Iteration().ValueSet(int64(i)), attribute.Phase().ValueSet("floor")); err != nil {
				return err
			}
		}
		on := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: st.Heartbeat, WaitForCancellation: true, Summary: "an activity of the floor",
		})
		next := workflow.ExecuteActivity(on, fill, filling{Out: st.Out, Text: strings.Repeat("x", st.In)})
		if st.Beside {
			later = next
			continue
		}
		if err := next.Get(ctx, nil); err != nil {
			return err
		}
		if later != nil {
			if err := later.Get(ctx, nil); err != nil {
				return err
			}
			later = nil
		}
	}
	return nil
}

// dress returns the activities of a run, in the order of its history.
func (ex execution) dress() (steps []dressed) {
	of := map[int64]int{} // index of a step, by the event that scheduled it
	attributes := false
	for _, e := range ex.events {
		switch e.EventType {
		case enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			_, version := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()["TemporalChangeVersion"]
			attributes = attributes || !version
		case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			a := e.GetActivityTaskScheduledEventAttributes()
			of[e.GetEventId()] = len(steps)
			steps = append(steps, dressed{
				Beside: a.GetActivityType().GetName() == "Prepare", In: sizeOf(a.GetInput()), Heartbeat: a.GetHeartbeatTimeout().AsDuration(), Attributes: attributes,
			})
			attributes = false
		case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			a := e.GetActivityTaskCompletedEventAttributes()
			steps[of[a.GetScheduledEventId()]].Out = sizeOf(a.GetResult())
		}
	}
	return steps
}

func sizeOf(p *commonpb.Payloads) (n int) {
	for _, one := range p.GetPayloads() {
		n += len(one.GetData())
	}
	return n
}
