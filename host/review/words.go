package review

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// nameOf returns the name of a run that people use.
func nameOf(l runs.Listed) string {
	if l.Name != "" {
		return string(l.Name)
	}
	return shortID(l.ID)
}

// shortID returns the part of an id that tells runs of one minute apart.
func shortID(id run.ID) string {
	text := string(id)
	if len(text) == 36 {
		return text[:13]
	}
	return display.Line(text)
}

// statusWords says in words what a run does.
func statusWords(l runs.Listed) string {
	switch l.Status {
	case run.AwaitingApproval:
		return "waiting for approval"
	case run.AwaitingInput:
		return "waiting for an answer"
	case run.Running:
		return phaseWords(l.Phase)
	case run.Created:
		return "starting"
	}
	if l.Outcome != "" {
		return strings.ReplaceAll(l.Outcome, "_", " ")
	}
	return string(l.Status)
}

func phaseWords(p run.Phase) string {
	switch p {
	case run.Plan:
		return "planning"
	case run.Execute:
		return "writing the patch"
	case run.Fix:
		return "fixing"
	case run.Evaluate:
		return "running the checks"
	}
	return "working"
}

// safeText returns a text of several lines with every character made visible that deceives a reader.
func safeText(text string) string { return display.Text([]byte(text)) }

// toolsAsked returns the ids of the approvals that are of a tool.
func toolsAsked(events []run.Event) map[string]bool {
	ids := map[string]bool{}
	for _, e := range events {
		if p, ok := e.Payload.(run.ApprovalRequested); ok && p.Permission != nil {
			ids[p.ApprovalID] = true
		}
	}
	return ids
}

// eventWords says in one line what an event tells; empty: nothing that a person looks for. Tools are the approvals that
// are of a tool.
func eventWords(e run.Event, tools map[string]bool) (mark, text string) {
	by := func(name string) string {
		if name == "" {
			return ""
		}
		return " by " + name
	}
	switch p := e.Payload.(type) {
	case run.RunCreated:
		return "·", "started"
	case run.PhaseStarted:
		text = phaseWords(e.Phase)
		if p.Provider != "" {
			text += ", " + p.Provider
		}
		return "▸", text
	case run.PhaseCompleted:
		if e.Phase == run.Plan && p.Summary != "" {
			return "✓", "planned: " + display.FirstLine(p.Summary)
		}
		return "", ""
	case run.PhaseFailed:
		return "✗", p.Error.Code + ": " + display.FirstLine(p.Error.Message)
	case run.PatchProduced:
		return "·", fmt.Sprintf("patch: %s, %s", display.FirstLine(p.Summary), p.Stat)
	case run.ApprovalRequested:
		if p.Permission != nil {
			return "?", "asks to use " + p.Permission.Summary()
		}
		return "?", "asks for approval"
	case run.ApprovalGranted:
		return "✓", "approved" + by(p.By) + reasonWords(p.Reason)
	case run.ApprovalRejected:
		return rejectionWords(p, by(p.By), tools[p.ApprovalID])
	case run.PatchApplied:
		return "✓", fmt.Sprintf("applied as %.10s", p.Commit)
	case run.PatchApplyFailed:
		return "✗", "not applied: " + display.FirstLine(p.Error.Message)
	case run.EvaluationPassed:
		return "✓", "checks passed"
	case run.EvaluationFailedFixable:
		return "✗", "to fix: " + display.FirstLine(strings.Join(p.Reasons, "; "))
	case run.EvaluationFailedBlocked:
		return "✗", "blocked: " + display.FirstLine(strings.Join(p.Reasons, "; "))
	case run.QuestionRaised:
		return "?", "asks: " + display.FirstLine(p.Question.Question)
	case run.QuestionAnswered:
		return "✓", "answered" + by(p.By) + reasonWords(run.Reply{Text: p.Text, Values: p.Values}.Render())
	case run.RunCompleted:
		return "✓", fmt.Sprintf("completed with %s", display.Count(p.Commits, "commit", "commits"))
	case run.RunFailed:
		return "✗", "failed: " + display.FirstLine(p.Error.Message)
	case run.RunCanceled:
		return "✗", "canceled" + by(p.By) + reasonWords(p.Reason)
	}
	return "", ""
}

// rejectionWords tells a no, or the acceptance of some files.
func rejectionWords(p run.ApprovalRejected, by string, tool bool) (mark, text string) {
	chosen := display.Count(len(p.Files), "file", "files")
	n := 0
	for _, c := range p.Hunks {
		n += len(c.Numbers)
	}
	switch {
	case n > 0 && len(p.Files) > 0:
		chosen += " and " + display.Count(n, "hunk", "hunks")
	case n > 0:
		chosen = display.Count(n, "hunk", "hunks")
	}
	switch {
	case p.Edit != nil:
		return "½", "edited" + by + reasonWords(p.Reason)
	case len(p.Files)+n > 0 && p.Reason == "":
		return "½", fmt.Sprintf("accepted %s%s; the rest is dropped", chosen, by)
	case len(p.Files)+n > 0:
		return "½", fmt.Sprintf("accepted %s%s; the rest goes back%s", chosen, by, reasonWords(p.Reason))
	case tool || p.Final:
		return "✗", "refused" + by + reasonWords(p.Reason)
	}
	return "✗", "sent back" + by + reasonWords(p.Reason)
}

func reasonWords(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + display.FirstLine(reason)
}
