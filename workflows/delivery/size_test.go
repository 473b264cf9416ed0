package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	flow "github.com/ratchet-dev/ratchet/workflows/delivery"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// maxPayload is the size from which on Temporal ends a workflow that continues with such an input.
const maxPayload = 2 << 20

// worst is a text in which each byte takes six in an input, because the JSON has it as an escape.
func worst(bytes int) string { return strings.Repeat("<", bytes) }

// worstSession returns a session that holds as many texts of people and agents as its bounds let.
func worstSession() *session.Snapshot {
	s := session.New(session.Input{ID: sessionID, Title: worst(200), Provider: "codex"}, time.Now())
	for bytes := session.MaxMessage; bytes > 0; bytes /= 2 {
		for m := (session.Message{By: worst(200), Text: worst(bytes)}); ; {
			m.ID = fmt.Sprint(strings.Repeat("m", 120), bytes, "-", len(s.Queue))
			if s.CheckMessage(m) != nil || s.Apply(time.Now(), session.Said{Message: m}) != nil {
				break
			}
		}
	}
	s.Turn = &session.Turn{Message: session.Message{ID: strings.Repeat("m", 128), By: worst(200), Text: worst(session.MaxMessage)}, Cut: true}
	for range 100 {
		s.Past = append(s.Past, session.Past{ID: strings.Repeat("m", 128), By: worst(200), Gist: worst(200), Reason: worst(report.MaxSummary)})
	}
	for range 48 {
		s.Permits = append(s.Permits, run.Permit{Allow: true, Reason: worst(report.MaxSummary)})
	}
	return s
}

// enqueueWorst gives a batch of which the state holds as much as it can.
func (p *play) enqueueWorst(id string, bytes int) *updated {
	b := batch(id)
	b.Jobs[0].Summary = worst(bytes)
	for i := range delivery.MaxJobs - 1 {
		b.Jobs = append(b.Jobs, delivery.Job{ID: fmt.Sprint(strings.Repeat("j", 60), i), State: delivery.JobReady})
	}
	return p.update(flow.EnqueueUpdate, b)
}

// TestTheStateFitsOneInput has sessions that hold all that their bounds let them hold, in texts that escapes make long.
func TestTheStateFitsOneInput(t *testing.T) {
	for name, early := range map[string]bool{"with a thread": false, "before there is a thread": true} {
		t.Run(name, func(t *testing.T) {
			w := &town{answers: []answer{refused(delivery.Benign)}}
			p := newPlay(t, w)
			if !early {
				p.begin()
			}
			var closed, open []*updated
			for i := range delivery.MaxClosed + 1 {
				p.then(time.Second, func() {
					closed = append(closed, p.enqueueWorst(fmt.Sprint("closed-", i), delivery.MaxBatchBytes-1500))
				})
				p.then(2*time.Hour, func() {
					closed = append(closed, p.update(flow.CloseUpdate, flow.Closing{Reason: delivery.Cancelled, By: worst(100), Note: worst(500)}))
				})
			}
			p.then(time.Minute, func() { w.broken = true })
			for i := range delivery.MaxQueued {
				p.then(time.Second, func() {
					open = append(open, p.enqueueWorst(fmt.Sprint("open-", i), (delivery.MaxBatchBytes-1500)>>i))
				})
			}
			states := make([]flow.State, 2)
			for i := range states {
				p.then(time.Second, func() {
					v, err := p.env.QueryWorkflow("state")
					if err != nil || v.Get(&states[i]) != nil {
						t.Errorf("query: %v", err)
					}
					p.attach("2")
				})
			}
			p.run(flow.Settings{})
			p.wantTaken(closed, open)
			for _, s := range states {
				if kept := append(s.EarlyClosed, s.Fold.Closed...); len(kept) != delivery.MaxClosed || !early && len(kept[0].Attempts) != 8 {
					t.Fatalf("%d batches are closed, the first with %d attempts", len(kept), len(kept[0].Attempts))
				}
				mustFit(t, s)
			}
		})
	}
}

// wantTaken demands that all of the first updates were taken, and of the last ones as many as there is room for.
func (p *play) wantTaken(all, some []*updated) {
	p.Helper()
	for _, u := range all {
		if !u.accepted {
			p.Errorf("refused: %v", u.err)
		}
	}
	taken := 0
	for _, u := range some {
		if u.accepted {
			taken++
		} else if !strings.Contains(u.err.Error(), "queue_full") {
			p.Error(u.err)
		}
	}
	if taken == 0 || taken == len(some) {
		p.Errorf("%d of %d were taken", taken, len(some))
	}
}

// mustFit demands that a session can continue with the deliveries.
func mustFit(t *testing.T, state flow.State) {
	t.Helper()
	size := func(v any) int {
		input, err := converter.GetDefaultDataConverter().ToPayload(v)
		if err != nil {
			t.Fatal(err)
		}
		return input.Size()
	}
	s := worstSession()
	in := size(sessionflow.Input{Snapshot: s, Deliveries: &state})
	t.Logf("%d bytes: the session has %d, open batches %d, closed ones %d, what the ledger lacks %d",
		in, size(s), size(state.Fold.Queue)+size(state.Early), size(state.Fold.Closed)+size(state.EarlyClosed), size(state.Unrecorded))
	if in >= maxPayload {
		t.Errorf("a session continues with %d bytes, at most %d can be", in, maxPayload)
	}
}
