package session_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
	deliveryflow "github.com/ratchet-dev/ratchet/workflows/delivery"
	flow "github.com/ratchet-dev/ratchet/workflows/session"
)

// handmade is a history that is written event by event.
type handmade struct {
	history.History
	task int64 // the completion of the last workflow task
}

// add adds an event and returns its id.
func (h *handmade) add(kind enums.EventType, e *history.HistoryEvent) int64 {
	e.EventType, e.EventId = kind, int64(len(h.Events)+1)
	e.EventTime = timestamppb.New(time.Date(2026, 1, 1, 0, 0, int(e.EventId), 0, time.UTC))
	h.Events = append(h.Events, e)
	return e.EventId
}

// begin adds a workflow task that has begun. Long is what the engine says of the history.
func (h *handmade) begin(long bool) {
	scheduled := h.add(enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowTaskScheduledEventAttributes{
		WorkflowTaskScheduledEventAttributes: &history.WorkflowTaskScheduledEventAttributes{}}})
	h.add(enums.EVENT_TYPE_WORKFLOW_TASK_STARTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowTaskStartedEventAttributes{
		WorkflowTaskStartedEventAttributes: &history.WorkflowTaskStartedEventAttributes{ScheduledEventId: scheduled, SuggestContinueAsNew: long}}})
}

// complete completes the workflow task that has begun last.
func (h *handmade) complete() {
	n := int64(len(h.Events))
	h.task = h.add(enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowTaskCompletedEventAttributes{
		WorkflowTaskCompletedEventAttributes: &history.WorkflowTaskCompletedEventAttributes{ScheduledEventId: n - 1, StartedEventId: n}}})
}

// continueAsNew completes the workflow task, in which the session continues as new.
func (h *handmade) continueAsNew() {
	h.complete()
	h.add(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionContinuedAsNewEventAttributes{
		WorkflowExecutionContinuedAsNewEventAttributes: &history.WorkflowExecutionContinuedAsNewEventAttributes{
			WorkflowType: &common.WorkflowType{Name: "Session"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"}, WorkflowTaskCompletedEventId: h.task}}})
}

// upsert adds a change of search attributes.
func (h *handmade) upsert() {
	h.add(enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, &history.HistoryEvent{Attributes: &history.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes{
		UpsertWorkflowSearchAttributesEventAttributes: &history.UpsertWorkflowSearchAttributesEventAttributes{
			WorkflowTaskCompletedEventId: h.task, SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{}}}}})
}

func payloads(t *testing.T, v any) *common.Payloads {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayloads(v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A signal, or a cancellation, comes beside a timer in the workflow task in which the session would continue as new.
func TestNothingIsLostWhereASessionContinues(t *testing.T) {
	for name, tt := range map[string]struct {
		beside    func(*handmade)
		continues bool
	}{
		"an approval": {beside: func(h *handmade) {
			d := run.Decision{ApprovalID: "apr-1-abc", Decision: run.Approve, By: "kim"}
			h.add(enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
				WorkflowExecutionSignaledEventAttributes: &history.WorkflowExecutionSignaledEventAttributes{SignalName: flow.ApprovalMessage, Input: payloads(t, d)}}})
		}},
		"a cancellation": {beside: func(h *handmade) {
			h.add(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{
				WorkflowExecutionCancelRequestedEventAttributes: &history.WorkflowExecutionCancelRequestedEventAttributes{}}})
		}},
		"nothing": {beside: func(*handmade) {}, continues: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := restingSession(t)
			tt.beside(h)
			h.begin(true)
			h.continueAsNew()
			continued := false
			watched := func(ctx workflow.Context, in flow.Input) (flow.Result, error) {
				res, err := flow.Session(ctx, in)
				_, continued = errors.AsType[*workflow.ContinueAsNewError](err)
				return res, err
			}
			r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
			if err != nil {
				t.Fatal(err)
			}
			r.RegisterWorkflowWithOptions(watched, workflow.RegisterOptions{Name: "Session"})
			// The commands of a session that goes on are not those of the history: only what it does counts here.
			_ = r.ReplayWorkflowHistory(temporaltest.Quiet{}, &h.History)
			if continued != tt.continues {
				t.Errorf("continued as new: %t, want %t", continued, tt.continues)
			}
		})
	}
}

// restingSession is the history of a session without a process that waits for a person and, with an early batch,
// for a timer, up to the end of the timer.
func restingSession(t *testing.T) *handmade {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := session.New(session.Input{ID: "s1", Provider: "codex", Repository: run.Repository{Path: "/repo", Base: "b0"}}, at)
	s.State, s.Epochs, s.Gates, s.Wake = session.Asking, 1, 1, true
	s.Turn = &session.Turn{Message: session.Message{ID: "m1", Text: "hi"}, Cut: true}
	s.Asks = []session.Ask{{ApprovalID: "apr-1-abc", Permission: run.Permission{CallID: "c", Tool: "Bash"}}}
	batch := deliveryacts.EnqueueInput{ID: "b1", Jobs: []delivery.Job{{ID: "j", State: delivery.JobReady}}}
	h := &handmade{}
	h.add(enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{
			WorkflowType: &common.WorkflowType{Name: "Session"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
			Input:                  payloads(t, flow.Input{Snapshot: s, Deliveries: &deliveryflow.State{Early: []deliveryflow.Early{{At: at, Batch: batch}}}}),
			OriginalExecutionRunId: "e1", FirstExecutionRunId: "e1", WorkflowTaskTimeout: durationpb.New(10 * time.Second), Attempt: 1,
		}}})
	h.begin(false)
	h.complete()
	h.upsert()
	timer := h.add(enums.EVENT_TYPE_TIMER_STARTED, &history.HistoryEvent{Attributes: &history.HistoryEvent_TimerStartedEventAttributes{
		TimerStartedEventAttributes: &history.TimerStartedEventAttributes{TimerId: "6", StartToFireTimeout: durationpb.New(24 * time.Hour), WorkflowTaskCompletedEventId: h.task}}})
	h.add(enums.EVENT_TYPE_TIMER_FIRED, &history.HistoryEvent{Attributes: &history.HistoryEvent_TimerFiredEventAttributes{
		TimerFiredEventAttributes: &history.TimerFiredEventAttributes{TimerId: "6", StartedEventId: timer}}})
	return h
}
