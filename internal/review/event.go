package review

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// PhaseWords says what a run does in a phase.
func PhaseWords(p run.Phase) string {
	switch p {
	case run.Plan:
		return "planning"
	case run.Execute:
		return "writing the patch"
	case run.Fix:
		return "fixing"
	case run.Evaluate:
		return "running the checks"
	case run.Ask:
		return "waiting for an answer"
	}
	return "working"
}

// EventLine describes an event in one line. The mark is empty for one that the events around it describe.
func EventLine(e run.Event) (mark, text string) {
	switch p := e.Payload.(type) {
	case run.RunCreated:
		if text = "started"; p.Sandbox.Off() {
			text += ", sandbox off"
		}
		return "·", text + because(p.Goal)
	case run.PhaseStarted:
		text = PhaseWords(e.Phase)
		if p.Baseline != nil {
			text += " (baseline: " + p.Baseline.Summary() + ")" // first, where a row is cut
		}
		if p.Provider != "" {
			text += ", " + p.Provider
		}
		return "▸", text
	case run.PhaseCompleted:
		if e.Phase == run.Plan && p.Summary != "" {
			return "✓", "planned" + because(p.Summary)
		}
		return "", string(p.Result) + because(p.Summary)
	case run.PhaseFailed:
		return "✗", p.Error.Code + because(p.Error.Message)
	case run.PatchProduced:
		return "·", fmt.Sprintf("patch, %s%s", p.Stat, because(p.Summary))
	case run.ApprovalRequested:
		if p.Permission != nil {
			return "?", "asks to use " + p.Permission.Summary()
		}
		return "?", "asks for approval" + because(strings.Join(p.Reasons, "; "))
	case run.ApprovalGranted:
		return "✓", "approved" + by(p.By) + because(p.Reason)
	case run.ApprovalRejected:
		return rejection(p)
	case run.PatchApplied:
		return "✓", fmt.Sprintf("applied as %.10s, the branch now changes %s", p.Commit, p.After)
	case run.PatchApplyFailed:
		return "✗", "not applied" + because(p.Error.Message)
	case run.EvaluationPassed:
		return "✓", "checks passed" + because(strings.Join(p.Reasons, "; "))
	case run.EvaluationFailedFixable:
		return "✗", "to fix" + because(strings.Join(p.Reasons, "; "))
	case run.EvaluationFailedBlocked:
		return "✗", "blocked" + because(strings.Join(p.Reasons, "; "))
	case run.QuestionRaised:
		return "?", "asks" + because(p.Question.Question)
	case run.QuestionAnswered:
		return "✓", "answered" + by(p.By) + because(run.Reply{Text: p.Text, Values: p.Values}.Render())
	case run.RunCompleted:
		return "✓", fmt.Sprintf("completed with %s on %s", display.Count(p.Commits, "commit", "commits"), p.Branch)
	case run.RunFailed:
		return "✗", "failed" + because(p.Error.Message)
	case run.RunCanceled:
		return "✗", "canceled" + by(p.By) + because(p.Reason)
	}
	return "", ""
}

// rejection describes a rejection, an edit, or the acceptance of a part.
func rejection(p run.ApprovalRejected) (mark, text string) {
	var chosen []string
	if n := len(p.Files); n > 0 {
		chosen = append(chosen, display.Count(n, "file", "files"))
	}
	n := 0
	for _, c := range p.Hunks {
		n += len(c.Numbers)
	}
	if n > 0 {
		chosen = append(chosen, display.Count(n, "hunk", "hunks"))
	}
	accepted := "accepted " + strings.Join(chosen, " and ") + by(p.By)
	switch {
	case p.Edit != nil:
		return "½", "edited" + by(p.By) + because(p.Reason)
	case chosen == nil:
		return "✗", "rejected" + by(p.By) + because(p.Reason)
	case p.Reason == "":
		return "½", accepted + "; the rest is dropped"
	}
	return "½", accepted + "; the rest goes back" + because(p.Reason)
}

func by(name string) string {
	if name == "" {
		return ""
	}
	return " by " + name
}

func because(text string) string {
	if text = display.FirstLine(text); text == "" {
		return ""
	}
	return ": " + text
}
