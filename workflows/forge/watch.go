package forge

import (
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/workflows/format"
)

// WatchID returns the id of the workflow that polls a repository for the tickets of one task queue.
func WatchID(r forge.Repo, queue string) string {
	return "watch-" + strings.ToLower(r.String()) + "@" + queue
}

// The messages of a watch.
const (
	WatchQuery  = "watch" // its WatchInput, as it is
	JoinSignal  = "join"  // an activities.WatchEntry
	LeaveSignal = "leave" // the workflow id of a ticket
	RuleSignal  = "rule"  // a *activities.Rule; nil ends the rule
)

// WatchInput is the input of Watch.
type WatchInput struct {
	Format  format.Stamp            `json:"format"`
	Entries []activities.WatchEntry `json:"entries,omitempty"` // to go on from
	Rule    *activities.Rule        `json:"rule,omitempty"`
	Seen    forge.PollState         `json:"seen"`
	Refused map[int]string          `json:"refused,omitempty"` // why the label of an issue starts no ticket
}

// maxPolls is the number of changes after which a watch continues as new.
const maxPolls = 100

// Watch polls a repository for its tickets, and signals one whose pull request, issue, checks or reviews have changed. With a
// rule it starts the tickets of issues that get a label. It ends when it has neither tickets nor a rule.
func Watch(ctx workflow.Context, in WatchInput) error {
	in.Format.Check()
	w := &watch{WatchInput: in}
	if err := workflow.SetQueryHandler(ctx, WatchQuery, func() (WatchInput, error) { return w.WatchInput, nil }); err != nil {
		return err
	}
	w.joins, w.leaves, w.rules = workflow.GetSignalChannel(ctx, JoinSignal), workflow.GetSignalChannel(ctx, LeaveSignal), workflow.GetSignalChannel(ctx, RuleSignal)
	for range maxPolls {
		w.drain()
		repository, ok := w.repository()
		if !ok {
			return nil
		}
		if err := w.poll(ctx, repository); err != nil {
			return err
		}
	}
	w.drain()
	return workflow.NewContinueAsNewError(ctx, Watch, w.WatchInput)
}

// troubled is the time until the next poll after an error that no retry fixes.
const troubled = 10 * time.Minute

type watch struct {
	WatchInput
	joins, leaves, rules workflow.ReceiveChannel
}

func (w *watch) repository() (forge.Repo, bool) {
	switch {
	case len(w.Entries) > 0:
		return w.Entries[0].Repository, true
	case w.Rule != nil:
		return w.Rule.Ticket.Repository, true
	}
	return forge.Repo{}, false
}

// poll waits until a poll has seen a change, or a message has come.
func (w *watch) poll(ctx workflow.Context, repository forge.Repo) (err error) {
	in := activities.Poll{Repository: repository, Seen: w.Seen}
	for _, e := range w.Entries {
		in.Tickets = append(in.Tickets, e.Watched)
	}
	if w.Rule != nil {
		in.Label = w.Rule.Label
	}
	pollCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	var out activities.Polled
	s := workflow.NewSelector(ctx)
	polled := false
	s.AddFuture(workflow.ExecuteActivity(polling(pollCtx), acts.PollPulls, in), func(f workflow.Future) { polled, err = true, f.Get(ctx, &out) })
	s.AddReceive(w.joins, func(c workflow.ReceiveChannel, _ bool) {
		var e activities.WatchEntry
		c.Receive(ctx, &e)
		w.join(e)
	})
	s.AddReceive(w.leaves, func(c workflow.ReceiveChannel, _ bool) {
		var id string
		c.Receive(ctx, &id)
		w.leave(id)
	})
	s.AddReceive(w.rules, func(c workflow.ReceiveChannel, _ bool) {
		var r *activities.Rule
		c.Receive(ctx, &r)
		w.setRule(r)
	})
	s.Select(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // no retry fixes it: the tickets find out why
		for _, e := range slices.Clone(w.Entries) {
			w.signal(ctx, e.Ticket)
		}
		return workflow.Sleep(ctx, troubled)
	case polled:
		w.Seen = out.Seen
		for _, id := range out.Changed {
			w.signal(ctx, id)
		}
		w.startLabeled(ctx, out.Labeled)
	}
	return nil
}

// startLabeled starts the tickets of issues that have the label. An issue whose label does not count is asked about again when
// the issues with the label change.
func (w *watch) startLabeled(ctx workflow.Context, issues []int) {
	if w.Rule == nil || issues == nil {
		return
	}
	w.Refused = map[int]string{}
	for _, n := range issues {
		var out activities.Labeled
		if err := workflow.ExecuteActivity(acting(ctx, time.Hour), acts.StartLabeled, *w.Rule, n).Get(ctx, &out); err != nil {
			out.Refused = report.ProblemOf(err).Message
		}
		if out.Refused != "" {
			w.Refused[n] = out.Refused
		}
	}
}

// drain takes the messages that have come.
func (w *watch) drain() {
	for e := (activities.WatchEntry{}); w.joins.ReceiveAsync(&e); e = (activities.WatchEntry{}) {
		w.join(e)
	}
	for id := ""; w.leaves.ReceiveAsync(&id); id = "" {
		w.leave(id)
	}
	for r := (*activities.Rule)(nil); w.rules.ReceiveAsync(&r); r = nil {
		w.setRule(r)
	}
}

func (w *watch) setRule(r *activities.Rule) { w.Rule, w.Refused, w.Seen.Labeled = r, nil, forge.Seen{} }

// join adds a ticket. What was seen of it before counts for nothing: it gets the next poll.
func (w *watch) join(e activities.WatchEntry) {
	w.leave(e.Ticket)
	w.Entries = append(w.Entries, e)
}

func (w *watch) leave(id string) {
	w.Entries = slices.DeleteFunc(w.Entries, func(e activities.WatchEntry) bool { return e.Ticket == id })
	delete(w.Seen.Tickets, id)
}

// signal asks a ticket to look. One that is over leaves.
func (w *watch) signal(ctx workflow.Context, id string) {
	if err := workflow.SignalExternalWorkflow(ctx, id, "", ChangedSignal, nil).Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
		w.leave(id)
	}
}

// polling returns the context of polls. Each look is an attempt, so the longest interval holds for one that its worker's
// death ended; what the activity and the server say of the next goes before.
func polling(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 5 * time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	})
}
