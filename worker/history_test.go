package main

import (
	"context"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// maxPayload is the most that one payload of a run may hold.
const maxPayload = 64 << 10

// execution is what the server keeps of one execution of a run's workflow.
type execution struct {
	events  []*historypb.HistoryEvent
	bytes   int64
	largest int // payload, in bytes
}

// executions are those of a run, from the one given on, through every
// continue-as-new.
func (s *fixture) executions(id run.ID, first string) []execution {
	s.t.Helper()
	var all []execution
	for next := first; next != ""; {
		desc, err := temporalclient.Describe(s.t.Context(), s.client, id.WorkflowID(), next)
		if err != nil {
			s.t.Fatal(err)
		}
		ex := execution{bytes: desc.WorkflowExecutionInfo.HistorySizeBytes}
		events := s.client.GetWorkflowHistory(s.t.Context(), id.WorkflowID(), next, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		next = ""
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				s.t.Fatal(err)
			}
			ex.events = append(ex.events, e)
			ex.largest = max(ex.largest, largestPayload(s.t, e))
			next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		all = append(all, ex)
	}
	return all
}

func largestPayload(t testing.TB, e *historypb.HistoryEvent) (largest int) {
	t.Helper()
	err := proxy.VisitPayloads(context.Background(), e, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, p := range payloads {
				largest = max(largest, len(p.GetData()))
			}
			return payloads, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return largest
}

// count counts the events of a type.
func (ex execution) count(kind enums.EventType) (n int) {
	for _, e := range ex.events {
		if e.EventType == kind {
			n++
		}
	}
	return n
}
