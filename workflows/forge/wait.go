package forge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/ticket"
)

// wait looks at the server and waits for the next change, or begins the next step.
func (w *work) wait(ctx workflow.Context) error {
	if workflow.GetInfo(ctx).GetCurrentHistoryLength() > maxHistory {
		w.drain()
		w.notices.Flush(ctx)
		return workflow.NewContinueAsNewError(ctx, Ticket, w.in.at(*w.s))
	}
	v, err := w.verdict(ctx)
	switch {
	case err != nil:
		return err
	case v.End != "":
		w.finish(v.End, v.Reason)
		return nil
	case v.Merge:
		w.s.Step = ticket.Merging
		return nil
	}
	w.s.Question = v.Question
	w.say(ctx)
	w.sendNotice(ctx)
	w.show(ctx)
	until := w.patienceEnd()
	if at := workflow.Now(ctx).Add(v.Again); v.Again > 0 && at.Before(until) {
		until = at
	}
	if err := w.await(ctx, until, true); err != nil {
		return err
	}
	if v.Fix && !w.changed && w.s.Step == ticket.Waiting {
		w.s.Step, w.s.Round = ticket.Merging, true
	}
	return nil
}

// verdict looks at the server, and says what follows.
func (w *work) verdict(ctx workflow.Context) (v ticket.Verdict, err error) {
	var look ticket.Look
	in := activities.PullInput{Repository: w.in.Repository, Issue: w.in.Issue, Pull: w.s.Pull, Votes: w.in.Bounds.Reviews > 0}
	w.changed = false
	err = workflow.ExecuteActivity(acting(ctx, 24*time.Hour), acts.ReadPull, in).Get(ctx, &look)
	switch {
	case temporal.IsCanceledError(err):
		return v, err
	case err != nil:
		v.Question = &ticket.Question{Key: "stuck:look", Text: report.ProblemOf(err).Message}
		return v, nil
	}
	w.s.Notes(look)
	w.seen = look.Feedback
	if w.in.Bounds.Reviews > 0 && look.Open && look.Head == w.s.Head && !slices.Equal(w.s.Approvers, w.s.Marked) {
		if err := w.mark(ctx); err != nil {
			if temporal.IsCanceledError(err) {
				return v, err
			}
			v.Question = &ticket.Question{Key: "stuck:status", Text: report.ProblemOf(err).Message}
			return v, nil
		}
	}
	return w.s.Decide(look, w.in.Bounds, workflow.Now(ctx)), nil
}

// await waits for a signal, for at most rejoin or until a time. At the end of patience the ticket is over.
func (w *work) await(ctx workflow.Context, until time.Time, rejoining bool) error {
	now := workflow.Now(ctx)
	lasts := max(until.Sub(now), 0)
	again := rejoining && lasts > rejoin
	if again {
		lasts = rejoin
	}
	timerCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	fired := false
	s := workflow.NewSelector(ctx)
	s.AddFuture(workflow.NewTimer(timerCtx, lasts), func(f workflow.Future) { fired = f.Get(ctx, nil) == nil })
	if rejoining { // otherwise nothing is to be looked at before a person has answered
		s.AddReceive(w.changes, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil); w.changed = true })
	}
	s.AddReceive(w.answers, func(c workflow.ReceiveChannel, _ bool) {
		var a Answer
		c.Receive(ctx, &a)
		w.answer(a)
	})
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	s.Select(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	w.drain()
	switch {
	case fired && !workflow.Now(ctx).Before(w.patienceEnd()):
		w.finish(ticket.OutOfPatience, fmt.Sprintf("nothing was decided for %s", days(w.in.Bounds.Patience)))
	case fired && again:
		return w.join(ctx)
	}
	return nil
}

func days(d time.Duration) string { return fmt.Sprintf("%.0f days", d.Hours()/24) }

// drain takes what has come without a wait. It loses no answer and makes one look of many changes.
func (w *work) drain() {
	for w.changes.ReceiveAsync(nil) {
		w.changed = true
	}
	for a := (Answer{}); w.answers.ReceiveAsync(&a); a = (Answer{}) {
		w.answer(a)
	}
}

func (w *work) answer(a Answer) {
	if w.s.Question == nil || a.Key != "" && a.Key != w.s.Question.Key { // it was answered already
		return
	}
	if !strings.HasPrefix(w.s.Question.Key, "stuck:") {
		w.s.Answered = append(w.s.Answered, w.s.Question.Key)
	}
	if text := strings.TrimSpace(a.Text); !slices.Contains([]string{"", "retry", "continue"}, text) {
		w.s.Note = text
	}
	w.s.Question, w.changed = nil, true
}

func (w *work) ask(key, text string) { w.s.Question = &ticket.Question{Key: key, Text: text} }

func (w *work) finish(end ticket.End, reason string) {
	w.s.Step, w.s.End, w.s.Reason, w.s.Question = ticket.Over, end, reason, nil
}

func (w *work) patienceEnd() time.Time { return w.s.Since.Add(w.in.Bounds.Patience) }
