package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Bounds of the quotations on a page: of texts in characters, of checks in number.
const (
	shownGoal     = 600
	shownProblem  = 1200
	shownChecks   = 8
	shownBaseline = 400
)

// OfRun returns the Markdown that the Web UI shows for a run: its state, and for a run
// that waits, the reason and how to resolve the wait. It is a pure function of its arguments.
func OfRun(s *run.Snapshot, limited *run.Limited, refused []run.RefusedSignal) string {
	var m markdown
	m.printf("## %s\n\n", headlineOf(s))
	pending := s.Pending()
	switch {
	case limited != nil:
		m.printf("%s refuses more calls until %s; then the run continues by itself.\n\n", inlineCode(limited.Provider), FormatTime(limited.Until))
		m.block(limited.Reason, shownProblem)
	case pending.Approval != nil && pending.Approval.Permission != nil:
		addPermission(&m, s, pending.Approval)
	case pending.Approval != nil:
		addApproval(&m, s, pending.Approval)
	case pending.Question != nil:
		addQuestion(&m, s, pending.Question)
	case s.State.Status.Terminal():
		addEnd(&m, s)
	default:
		addWork(&m, s)
	}
	m.refusedSignals("run", refused)
	if s.Moved != "" {
		m.block(s.Moved, shownProblem)
	}
	addFacts(&m, s)
	return m.String()
}

func headlineOf(s *run.Snapshot) string {
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
	if s.NeedsBaseline() {
		return "Running the checks on the base commit"
	}
	switch s.Phase() {
	case run.Plan:
		return "Planning"
	case run.Execute:
		return "Writing the patch"
	case run.Evaluate:
		return "Running the checks"
	case run.Fix:
		if s.Uncounted {
			return "Fixing, as requested"
		}
		return fmt.Sprintf("Fixing, %d of %d", s.Fixes, s.Input.Fixes())
	}
	return "Starting"
}

func addApproval(m *markdown, s *run.Snapshot, a *run.PendingApproval) {
	m.printf("**%s**\n\n", escapeMarkup(a.Summary))
	m.printf("%s. It is not applied yet.\n\n", a.Stat)
	m.list("", a.Files)
	if more := a.Stat.Files - len(a.Files); more > 0 {
		m.printf("and %s\n\n", display.Count(more, "more file", "more files"))
	}
	m.list("**Risk** ", a.Reasons)
	m.list("**Repaired** ", a.Repairs)
	m.list("**Also failed before** ", a.Before)
	addUnboxed(m, s.Input)
	addReason(m, s)
	m.fence("diff", a.Excerpt)
	if strings.HasSuffix(a.Excerpt, "…") {
		m.printf("**This is only the beginning of a diff of %d bytes.** `starter diff %s` shows all of it.\n\n", a.Patch.Bytes, s.Input.RunID)
	}
	approve := []string{"approve " + a.ApprovalID}
	for _, c := range a.Choices {
		m.printf("- %s: attempt %d by %s, %s: %s\n", inlineCode(c.ApprovalID), c.Candidate, inlineCode(c.Provider), c.Stat, escapeMarkup(c.Summary))
		m.list("**Risk** ", c.Risks)
		approve = append(approve, "approve "+c.ApprovalID)
	}
	addLines(m, "approval", append(approve, "reject "+a.ApprovalID+" why", "end "+a.ApprovalID+" why")...)
	addWays(m, s, a.Next, a.Commands)
}

// addUnboxed warns of a run whose programs the box does not hold.
func addUnboxed(m *markdown, in run.Input) {
	if in.Sandbox.Off() {
		m.printf("**Sandbox off:** %s and can do everything that the worker's user can.\n\n", run.Unboxed)
	}
}

// addPermission adds the tool call for which the agent at work wants permission.
func addPermission(m *markdown, s *run.Snapshot, a *run.PendingApproval) {
	of := ""
	if a.Permission.Candidate > 0 {
		of = fmt.Sprintf(" in attempt %d", a.Permission.Candidate)
	}
	m.printf("The %s's agent %s%s wants to use the tool %s and waits.\n\n", s.Phase().Role(), inlineCode(s.ProviderOf(s.Phase(), a.Permission.Candidate)), of, inlineCode(a.Permission.Tool))
	addUnboxed(m, s.Input)
	addCall(m, a.Permission.Title, a.Reasons, a.Excerpt, a.Permission.Input)
	addCallLines(m, a.ApprovalID)
	addWays(m, s, a.Next, a.Commands)
}

// addCall adds a tool call that waits. The excerpt may be the head of its input.
func addCall(m *markdown, title string, reasons []string, excerpt string, input run.Ref) {
	m.block(title, shownProblem)
	m.list("**Why it asks** ", reasons)
	m.fence("json", excerpt)
	if strings.HasSuffix(excerpt, "…") {
		m.printf("**This is only the beginning.** All of it, %d bytes, is in artifacts/%s.\n\n", input.Bytes, escapeMarkup(input.Name))
	}
}

// addCallLines adds the lines that decide about a tool call. session also allows what the agent considers the same.
func addCallLines(m *markdown, id string) {
	addLines(m, "approval", "approve "+id, "session "+id, "reject "+id+" why", "end "+id+" why")
}

func addQuestion(m *markdown, s *run.Snapshot, q *run.PendingQuestion) {
	m.prose(q.Question.Question, run.MaxTextBytes)
	if q.Reason != "" {
		m.printf("Why: %s\n\n", escapeMarkup(q.Reason))
	}
	m.list("**Needed** ", q.NeededInput)
	addLines(m, "answer", q.QuestionID+" your answer")
	addWays(m, s, q.Next, q.Commands)
}

// addLines adds the data to enter into the signal form of the UI, one line for each decision; see run.ParseDecision.
func addLines(m *markdown, signal string, lines ...string) {
	m.printf("### Decide\n\n**More Actions → Send a Signal**, signal `%s`, with one of these lines as its data:\n\n", signal)
	m.fence("", `"`+strings.Join(lines, "\"\n\"")+`"`)
}

// addWays adds the ways to resolve the wait, each with its consequence, the commands, and the end of the wait.
func addWays(m *markdown, s *run.Snapshot, o run.Outlook, commands []string) {
	for _, w := range o.Ways() {
		m.printf("- **%s**: %s\n", escapeMarkup(w.Do), escapeMarkup(w.Leads))
	}
	addCommands(m, commands)
	m.printf("Asked %s. ", FormatTime(s.State.UpdatedAt))
	if limit := s.WaitLimit(); limit > 0 {
		m.printf("Without an answer the run ends as canceled %s. ", FormatTime(s.State.UpdatedAt.Add(limit)))
	} else {
		m.printf("The run waits without a time limit. ")
	}
	m.printf("**Request Cancellation** ends it.\n\n")
}

// addCommands adds commands for a terminal. It breaks them at their flags, because the column is narrow.
func addCommands(m *markdown, list []string) {
	m.printf("\nOr in a terminal:\n\n")
	m.fence("sh", strings.ReplaceAll(strings.Join(list, "\n"), " --", " \\\n  --"))
}

// FormatTime returns a time in the form that pages and texts of runs have.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02 at 15:04:05 UTC") }

func addWork(m *markdown, s *run.Snapshot) {
	phase := s.Phase()
	if provider := s.Input.Providers.For(phase.Role()); provider != "" && phase != run.Evaluate {
		m.printf("The %s %s is working; **Pending Activities** shows its progress.\n\n", phase.Role(), inlineCode(provider))
	}
	if phase == run.Evaluate || s.NeedsBaseline() {
		checks := s.Input.Checks
		for _, c := range checks[:min(len(checks), shownChecks)] {
			m.printf("- %s\n", inlineCode(clipRunes(c, 160)))
		}
		if more := len(checks) - shownChecks; more > 0 {
			m.printf("- and %d more\n", more)
		}
		m.printf("\n")
	}
	addReason(m, s)
}

// addReason adds the reason for a fix.
func addReason(m *markdown, s *run.Snapshot) {
	if s.Phase() != run.Fix || len(s.Guidance) == 0 {
		return
	}
	last := s.Guidance[len(s.Guidance)-1]
	m.printf("The reason for the fix is the last %s:\n\n", last.Kind)
	m.block(last.Text, shownProblem)
}

func addEnd(m *markdown, s *run.Snapshot) {
	addEndReason(m, s)
	branch := s.Input.BranchName()
	if s.Commits == 0 {
		m.printf("No patch was applied: the branch %s is unchanged.\n\n", inlineCode(branch))
		return
	}
	if url := s.Input.Repository.URL; url != "" {
		m.printf("The branch %s at %s holds %s, %s.\n\n", inlineCode(branch), inlineCode(url), display.Count(s.Commits, "commit", "commits"), s.Stat)
		return
	}
	m.printf("The branch %s holds %s, %s. In the repository:\n\n", inlineCode(branch), display.Count(s.Commits, "commit", "commits"), s.Stat)
	look := fmt.Sprintf("git log --patch \\\n  %s..%s", s.Input.Repository.Base, s.Head)
	if s.State.Status == run.Completed {
		look += "\ngit merge " + string(s.Head)
	}
	m.fence("sh", look)
}

// addEndReason adds the reason why a run did not complete, as far as the snapshot knows it.
func addEndReason(m *markdown, s *run.Snapshot) {
	if s.State.Status == run.Completed {
		return
	}
	if p := s.State.LastError; p != nil {
		m.printf("**%s**\n\n", escapeMarkup(p.Code))
		m.block(p.Message, shownProblem)
	}
	if n := len(s.Guidance); n > 0 && s.State.Status == run.Canceled && s.Guidance[n-1].Kind == run.FromRejection {
		m.printf("The last patch was rejected:\n\n")
		m.block(s.Guidance[n-1].Text, shownProblem)
	}
}

// addFacts adds the facts of the run itself, at the end of the page.
func addFacts(m *markdown, s *run.Snapshot) {
	m.printf("### The run\n\n")
	m.prose(s.Input.Goal, shownGoal)
	var b markdown
	row := func(name, format string, args ...any) {
		b.printf("%-10s  %s\n", name, joinLines(fmt.Sprintf(format, args...)))
	}
	row("Repository", "%s", s.Input.Repository.Shown())
	row("Branch", "%s", s.Input.BranchName())
	row("Applied", "%s, %s", display.Count(s.Commits, "patch", "patches"), s.Stat)
	row("Iteration", "%d, %d of %s used", s.State.Iteration, s.Fixes, display.Count(s.Input.Fixes(), "fix", "fixes"))
	if s.Input.Sandbox.Off() {
		row("Sandbox", "off, %s", run.Unboxed)
	}
	if s.Plan != nil {
		row("Plan", "artifacts/%s", s.Plan.Name)
	}
	if s.Baseline != nil {
		row("Baseline", "%s", clipRunes(s.Baseline.Summary(), shownBaseline))
	}
	if s.Report != nil {
		row("Checks", "artifacts/%s", s.Report.Name)
	}
	if s.Usage.TotalTokens > 0 {
		row("Used", "%s", s.Usage)
	}
	m.fence("", b.String())
	if !s.State.Status.Terminal() {
		m.printf("The signal `note` with `{\"text\": \"...\"}` adds guidance to the next prompt.\n")
	}
}
