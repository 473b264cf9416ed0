package workflows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// details is the run as the Web UI shows it: Markdown that says where it
// stands and, when it waits, how to settle what it waits for. It is a pure
// function of the snapshot; what it quotes is fenced.
func details(s *run.Snapshot) string {
	var b page
	b.printf("### %s\n\n", headline(s))
	quote(&b, "", clipRunes(s.Input.Goal, 600))
	b.printf("| | |\n|---|---|\n")
	row := func(name, format string, args ...any) {
		b.printf("| %s | %s |\n", name, cell(fmt.Sprintf(format, args...)))
	}
	row("Repository", "`%s`", s.Input.Repository.Path)
	row("Branch", "`%s` (%d commits, %s)", s.Input.RunID.Branch(), s.Commits, s.Stat)
	row("Iteration", "%d, %d of %d fixes used", s.State.Iteration, s.Fixes, s.Input.Fixes())
	for _, c := range s.Input.Checks {
		row("Check", "`%s`", clipRunes(c, 120))
	}
	if s.Usage.TotalTokens > 0 {
		row("Tokens", "%d", s.Usage.TotalTokens)
	}
	b.WriteString("\n")
	pending := s.Pending()
	switch {
	case pending.Approval != nil:
		approvalDetails(&b, pending.Approval)
	case pending.Question != nil:
		questionDetails(&b, pending.Question)
	}
	if e := s.State.LastError; e != nil {
		b.printf("**Last error** `%s`\n\n", e.Code)
		quote(&b, "", clipRunes(e.Message, 1200))
	}
	return b.String()
}

// page is a text under construction.
type page struct{ strings.Builder }

func (p *page) printf(format string, args ...any) { p.WriteString(fmt.Sprintf(format, args...)) }

func headline(s *run.Snapshot) string {
	switch s.State.Status {
	case run.AwaitingApproval:
		return "Waits for your approval"
	case run.AwaitingInput:
		return "Waits for your answer"
	case run.Completed:
		return "Completed"
	case run.Failed:
		return "Failed"
	case run.Canceled:
		return "Canceled"
	}
	switch s.Phase() {
	case run.Plan:
		return "Planning"
	case run.Execute:
		return "Executing"
	case run.Evaluate:
		return "Evaluating"
	case run.Fix:
		return fmt.Sprintf("Fixing, round %d", s.Fixes)
	}
	return "Starting"
}

func approvalDetails(b *page, a *run.PendingApproval) {
	b.printf("**%s** changes %s. Nothing has been applied.\n\n", a.ApprovalID, a.Stat)
	quote(b, "", a.Summary)
	for _, r := range a.Reasons {
		b.printf("- Risk: %s\n", cell(r))
	}
	for _, r := range a.Repairs {
		b.printf("- Repaired: %s\n", cell(r))
	}
	b.WriteString("\n")
	quote(b, "diff", a.Excerpt)
	settle(b, "approval", a.Signal, a.Commands)
	b.WriteString("To reject, send `\"decision\": \"reject\"` with a `\"reason\"`; with `\"final\": true` the run ends.\n\n")
}

func questionDetails(b *page, q *run.PendingQuestion) {
	quote(b, "", q.Question.Question)
	if q.Reason != "" {
		quote(b, "", "Reason: "+q.Reason)
	}
	for _, n := range q.NeededInput {
		b.printf("- %s\n", cell(n))
	}
	b.WriteString("\n")
	settle(b, "answer", q.Signal, q.Commands)
}

// settle says how: the signal with a payload to paste, and the commands.
func settle(b *page, signal string, payload any, commands []string) {
	form, err := json.Marshal(payload) //workflowcheck:ignore // structs and strings only
	if err != nil {
		form = []byte(err.Error())
	}
	b.printf("Send the signal `%s` with this input:\n\n", signal)
	quote(b, "json", string(form))
	b.WriteString("or in a terminal:\n\n")
	quote(b, "sh", strings.Join(commands, "\n"))
}

// quote fences a text with more back-ticks than it holds in a row, so that it
// cannot end the fence.
func quote(b *page, lang, text string) {
	if text == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	b.printf("%s%s\n%s\n%s\n\n", fence, lang, strings.TrimRight(text, "\n"), fence)
}

// cell keeps a text within one table cell or list item.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "<", "&lt;").Replace(s)
}

func clipRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + " …"
	}
	return s
}
