// Package waits shows what a run waits for, and what each decision leads to.
package waits

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Baseline says at an approval what the checks said before the patch.
func Baseline(a run.PendingApproval) []string {
	var lines []string
	if a.Baseline != "" {
		lines = append(lines, "baseline: "+story.OneLine(a.Baseline, 300))
	}
	for _, c := range a.Before {
		lines = append(lines, "also failed before: "+story.OneLine(c, 160))
	}
	return lines
}

// Not returns the error of settling an approval or question that is not pending.
func Not(what string, p run.Pending) error {
	id := p.Name.Shown(p.RunID)
	if p.Status.Terminal() {
		return fmt.Errorf("run %s %w: it is %s", id, runs.ErrOver, p.Status)
	}
	if other := ID(p); other != "" {
		return fmt.Errorf("run %s has no pending %s: it is %s with %s", id, what, p.Status, other)
	}
	return fmt.Errorf("run %s waits for no %s, it is %s", id, what, p.Status)
}

// Refused returns the error of a decision or a reply. Where the run does not wait with its id, the error says what shows
// the right one.
func Refused(c *factory.Factory, r runref.Found, err error) error {
	if refused, ok := errors.AsType[*runs.RefusedError](err); !ok || !strings.HasSuffix(refused.Reason, run.ErrNotPending.Error()) {
		return err
	}
	return fmt.Errorf("%w: see `%s`", err, c.Hint("status %s", r.ShownName()))
}

// Show shows what waits, as the story of the run does.
func Show(screen *terminal.Screen, p run.Pending) {
	t := &story.Formatter{Style: screen.Style}
	var payload run.Payload
	switch {
	case p.Approval != nil && p.Approval.Permission != nil:
		payload = run.ApprovalRequested{ApprovalID: p.Approval.ApprovalID, Permission: p.Approval.Permission}
	case p.Approval != nil:
		screen.Wrapped("  " + screen.Bold(story.OneLine(p.Approval.Summary, 200)) + "  " + t.Stat(p.Approval.Stat) + screen.Dim("  "+p.Approval.ApprovalID))
		return
	case p.Question != nil:
		payload = run.QuestionRaised{QuestionID: p.Question.QuestionID, Question: p.Question.Question}
	}
	for _, line := range t.Lines(run.Event{Payload: payload}) {
		screen.Wrapped(line)
	}
}

// AboutRecord reports whether the run asks about its record. No event reports that, because the record must stay as it
// is.
func AboutRecord(p run.Pending) bool {
	return p.Question != nil && p.Question.Kind == run.RecordQuestion
}

func ID(p run.Pending) string {
	switch {
	case p.Approval != nil:
		return p.Approval.ApprovalID
	case p.Question != nil:
		return p.Question.QuestionID
	}
	return ""
}

// Print prints how to resolve the approval or question that the run waits for.
func Print(c *factory.Factory, p run.Pending) {
	s := c.Style()
	switch {
	case p.Approval != nil:
		what, look := "The run waits for an approval.", "diff %s"
		if p.Approval.Permission != nil {
			what = "The agent waits for the permission to use a tool."
		}
		if p.Approval.Unboxed {
			what += " Sandbox off: " + run.Unboxed + "."
		}
		c.Printf("\n")
		c.ScreenOn(c.Out).Wrapped(s.Wait(what) + " Nothing has been applied. Look and decide:")
		c.Printf("  %s\n", c.Hint(look, p.Name.Shown(p.RunID)))
		c.Printf("  %s\n", c.Hint("approve %s --approval %s", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		if p.Approval.Permission != nil {
			c.Printf("  %s\n", c.Hint("approve %s --approval %s --session", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		}
		c.Printf("  %s\n", c.Hint("reject %s --approval %s --reason TEXT", p.Name.Shown(p.RunID), p.Approval.ApprovalID))
		PrintWays(c, p.Approval.Next)
	case p.Question != nil:
		c.Printf("\n%s\n  %s\n", s.Wait("The run waits for an answer:"), c.Hint("answer %s TEXT --question %s", p.Name.Shown(p.RunID), p.Question.QuestionID))
		if p.Question.Kind.Repeats() {
			c.Printf("  %s\n", c.Hint("answer %s retry --question %s", p.Name.Shown(p.RunID), p.Question.QuestionID))
		}
		PrintWays(c, p.Question.Next)
	case p.Limited != nil:
		c.Printf("\n%s it continues by itself. %s\n", s.Wait(fmt.Sprintf("%s refuses more until %s;", p.Limited.Provider, p.Limited.Until.Local().Format(time.DateTime))), story.OneLine(p.Limited.Reason, 300))
	default:
		c.Printf("\nIt was decided meanwhile: %s\n", c.Hint("watch %s", p.Name.Shown(p.RunID)))
	}
}

// PrintWays prints the consequence of each way to resolve a wait.
func PrintWays(c *factory.Factory, o run.Outlook) {
	for _, w := range o.Ways() {
		c.ScreenOn(c.Out).Wrapped("  " + c.Style().Dim(w.Do+" → "+w.Leads))
	}
}

// PrintAccepted prints that the run took a message.
func PrintAccepted(c *factory.Factory, r runref.Found, about, verdict string) error {
	if c.JSON {
		return c.PrintJSON(struct {
			RunID  run.ID   `json:"runId"`
			Name   run.Name `json:"name,omitempty"`
			ID     string   `json:"id,omitempty"`
			Result string   `json:"result"`
		}{r.ID, r.Name, about, verdict})
	}
	about = cmp.Or(about, "run")
	c.Printf("%s of %s: %s\n", about, r.ShownName(), verdict)
	return nil
}

// PrintRefused prints the signals that the run, or the session, has refused.
func PrintRefused(c *factory.Factory, signals []run.RefusedSignal) {
	for _, r := range signals {
		c.PrintWrapped("\n%s %s", c.Style().Bad("!"), story.OneLine(fmt.Sprintf("refused at %s, signal %s: %s", r.At.Local().Format(time.TimeOnly), r.Signal, r.Reason), 400))
	}
}
