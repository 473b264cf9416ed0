package story

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Gist returns an event as one row of a list: id, time of day in UTC, place in the loop, type, and a
// summary.
func Gist(s terminal.Style, e run.Event) []string {
	where := "-"
	if e.Phase != "" {
		where = fmt.Sprintf("%s %d", e.Phase, e.Iteration)
	}
	kind := string(e.Type)
	switch {
	case strings.HasSuffix(kind, "FAILED"), strings.Contains(kind, "_FAILED_"), strings.HasSuffix(kind, "REJECTED"):
		kind = s.Bad(kind)
	case strings.HasSuffix(kind, "REQUESTED"), strings.HasSuffix(kind, "RAISED"), strings.HasSuffix(kind, "CANCELED"):
		kind = s.Wait(kind)
	case strings.HasSuffix(kind, "PASSED"), strings.HasSuffix(kind, "GRANTED"), strings.HasSuffix(kind, "APPLIED"), e.Type == run.RunCompletedEvent:
		kind = s.Good(kind)
	}
	return []string{s.Dim(e.ID), s.Dim(e.TS.UTC().Format("15:04:05.000")), where, kind, OneLine(gistOf(e), 120)}
}

// gistOf returns the summary of an event.
func gistOf(e run.Event) string {
	switch p := e.Payload.(type) {
	case run.RunCreated:
		if p.Sandbox.Off() {
			return "sandbox off: " + p.Goal
		}
		return p.Goal
	case run.PhaseStarted:
		if p.Baseline != nil {
			return "baseline: " + p.Baseline.Summary()
		}
		return p.Provider
	case run.PhaseCompleted:
		return strings.TrimSpace(string(p.Result) + " " + p.Summary)
	case run.PhaseFailed:
		return p.Error.Code + ": " + p.Error.Message
	case run.PatchProduced:
		return fmt.Sprintf("%s: %s", p.Stat, p.Summary)
	case run.ApprovalRequested:
		if p.Permission != nil {
			return p.ApprovalID + " " + p.Permission.Summary()
		}
		return strings.TrimSpace(p.ApprovalID + " " + strings.Join(p.Reasons, "; "))
	case run.ApprovalGranted:
		return strings.TrimSpace(p.ApprovalID + bySuffix(p.By) + " " + p.Reason)
	case run.ApprovalRejected:
		return strings.TrimSpace(p.ApprovalID + bySuffix(p.By) + " " + p.Reason)
	case run.PatchApplied:
		return fmt.Sprintf("%.10s, the branch now changes %s", p.Commit, p.After)
	case run.PatchApplyFailed:
		return p.Error.Code + ": " + p.Error.Message
	case run.EvaluationPassed:
		return strings.Join(p.Reasons, "; ")
	case run.EvaluationFailedFixable:
		return strings.Join(p.Reasons, "; ")
	case run.EvaluationFailedBlocked:
		return p.Question.Question
	case run.QuestionRaised:
		return p.QuestionID + " " + p.Question.Question
	case run.QuestionAnswered:
		return p.QuestionID + bySuffix(p.By) + " " + p.Text
	case run.RunCompleted:
		return fmt.Sprintf("%s on %s", display.Count(p.Commits, "commit", "commits"), p.Branch)
	case run.RunFailed:
		return p.Error.Code + ": " + p.Error.Message
	case run.RunCanceled:
		return p.Reason + bySuffix(p.By)
	}
	return ""
}
