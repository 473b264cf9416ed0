// Package pullrequest describes a run as one page of Markdown, for the description of a pull request, and in one line,
// for the status of its commit. What people and models have written stands in code: it mentions no person, closes no
// issue and loads no picture.
package pullrequest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// maxQuoted bounds the characters of a quoted text.
const maxQuoted = 4000

// Page returns the page of a run by its events, from the first on. The report is the last evaluation's; nil: it is not
// at hand.
func Page(events []run.Event, report *check.Report) (string, error) {
	s, err := run.Fold(events)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	in := s.Input
	fmt.Fprintf(&b, "# %s\n\n%s\n", heading(in.Name), codeBlock(in.Goal))
	took := s.State.UpdatedAt.Sub(s.State.CreatedAt).Round(time.Second)
	fmt.Fprintf(&b, "Run %s is **%s** after %s: %s, %s on `%.12s`.\n", codeSpan(in.Name.Shown(in.RunID)), s.State.Status, took, display.Count(s.Commits, "commit", "commits"), s.Stat, in.Repository.Base)
	if s.State.LastError != nil && s.State.Status != run.Completed {
		fmt.Fprintf(&b, "\nIt ended with %s.\n", codeSpan(s.State.LastError.Message))
	}
	if in.Issue != nil {
		fmt.Fprintf(&b, "\nThe goal is the text of %s as it was at the start (`%.16s`).\n", codeSpan(in.Issue.URL), in.Issue.Digest)
	}
	if in.Before != nil {
		fmt.Fprintf(&b, "\nIt continues %s.\n", codeSpan(in.Before.Name.Shown(in.Before.RunID)))
	}
	writePatches(&b, events)
	writeChecks(&b, s, report)
	writeWords(&b, events)
	writeFacts(&b, s)
	return b.String(), nil
}

// heading names a run in plain text. A forge would make a link of slug#14.
func heading(n run.Name) string {
	label, number, ok := strings.Cut(string(n), "#")
	if !ok {
		return "A run"
	}
	return fmt.Sprintf("Run %s of %s", number, label)
}

// Summary describes a run in one line of at most limit characters, such as "Completed: 2 commits, approved by kim; 3
// checks passed in the sandbox; 1 fix". It names no model's word.
func Summary(events []run.Event, report *check.Report, limit int) (string, error) {
	s, err := run.Fold(events)
	if err != nil {
		return "", err
	}
	var by []string
	for _, e := range events {
		if p, ok := e.Payload.(run.ApprovalGranted); ok && p.By != "" && !slices.Contains(by, p.By) {
			by = append(by, p.By)
		}
	}
	text := fmt.Sprintf("Run %s: %s", s.State.Status, display.Count(s.Commits, "commit", "commits"))
	if len(by) > 0 {
		text += ", approved by " + strings.Join(by, ", ")
	}
	if report != nil {
		passed, held := 0, 0
		for _, r := range report.Checks {
			if r.Status == check.Pass {
				passed++
			}
			if r.Sandbox != "" {
				held++
			}
		}
		text += fmt.Sprintf("; %d of %s passed", passed, display.Count(len(report.Checks), "check", "checks"))
		if len(report.Checks) > 0 && held == len(report.Checks) {
			text += " in a sandbox"
		}
	}
	if s.Fixes > 0 {
		text += "; " + display.Count(s.Fixes, "fix", "fixes")
	}
	text = display.Line(text)
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit-1]) + "…"
	}
	return text, nil
}

// writePatches lists the applied patches with who approved them.
func writePatches(b *strings.Builder, events []run.Event) {
	var lines []string
	var choices []run.Choice
	summary, by := "", ""
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.PatchProduced:
			summary, by = p.Proposal.Summary, "no approval needed"
		case run.ApprovalRequested:
			choices = p.Choices
		case run.ApprovalGranted:
			for _, c := range choices {
				if c.ApprovalID == p.ApprovalID {
					summary = c.Summary
				}
			}
			by = "approved by " + codeSpan(run.OneLine(p.By, "a person"))
		case run.PatchApplied:
			lines = append(lines, fmt.Sprintf("- `%.12s` %s (%s; patch `%.16s`)", p.Commit, codeSpan(run.OneLine(summary, "a patch")), by, p.Patch))
		}
	}
	writeSection(b, "Commits", lines)
}

func writeChecks(b *strings.Builder, s *run.Snapshot, report *check.Report) {
	var lines []string
	if report == nil {
		for _, command := range s.Input.Checks {
			lines = append(lines, "- "+codeSpan(command))
		}
	} else {
		for _, r := range report.Checks {
			held := "without a sandbox"
			if r.Sandbox != "" {
				held = "in the sandbox " + codeSpan(r.Sandbox)
			}
			lines = append(lines, fmt.Sprintf("- %s: %s in %s, %s", codeSpan(r.Command), r.Status, (time.Duration(r.DurationMs)*time.Millisecond).Round(time.Millisecond), held))
		}
	}
	title := "Checks"
	if s.Head != "" {
		title = fmt.Sprintf("Checks of `%.12s`", s.Head)
	}
	writeSection(b, title, lines)
}

// writeWords lists what people decided and said.
func writeWords(b *strings.Builder, events []run.Event) {
	var lines []string
	question, tool := "", ""
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.ApprovalRequested:
			if tool = ""; p.Permission != nil {
				tool = p.Permission.Summary()
			}
		case run.ApprovalRejected:
			lines = append(lines, fmt.Sprintf("- %s %s: %s", codeSpan(run.OneLine(p.By, "A person")), rejectionWords(p, tool), codeSpan(run.OneLine(p.Reason, "without a reason"))))
		case run.QuestionRaised:
			question = p.Question.Question
		case run.QuestionAnswered:
			lines = append(lines, fmt.Sprintf("- %s answered %s: %s", codeSpan(run.OneLine(p.By, "A person")), codeSpan(run.OneLine(question, "a question")), codeSpan(run.OneLine(run.Reply{Text: p.Text, Values: p.Values}.Render(), "nothing"))))
		}
	}
	writeSection(b, "Decisions", lines)
}

// rejectionWords says what a person did who did not accept a patch as it was, or a tool.
func rejectionWords(p run.ApprovalRejected, tool string) string {
	switch {
	case tool != "":
		return "refused " + codeSpan(tool)
	case len(p.Files) > 0:
		return "accepted " + codeSpan(strings.Join(p.Files, ", ")) + " only"
	case p.Final:
		return "refused"
	}
	return "sent back"
}

func writeFacts(b *strings.Builder, s *run.Snapshot) {
	in := s.Input
	lines := []string{"- developer: " + codeSpan(in.Providers.Developer)}
	if in.Providers.Planner != in.Providers.Developer {
		lines = append(lines, "- planner: "+codeSpan(in.Providers.Planner))
	}
	if in.Providers.Fixer != in.Providers.Developer {
		lines = append(lines, "- fixer: "+codeSpan(in.Providers.Fixer))
	}
	if n := s.Usage.TotalTokens; n > 0 {
		lines = append(lines, fmt.Sprintf("- tokens: %d", n))
	}
	if s.Usage.Cost > 0 {
		lines = append(lines, fmt.Sprintf("- cost: %v", s.Usage.Cost))
	}
	if in.Sandbox.Off() {
		lines = append(lines, "- sandbox off: "+run.Unboxed)
	}
	writeSection(b, "How", append(lines, fmt.Sprintf("- run: `%s`", in.RunID)))
}

func writeSection(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n## %s\n\n%s\n", title, strings.Join(lines, "\n"))
	}
}

// Undone returns the line of a page that says where and when the merge of its run was undone.
func Undone(branch string, at time.Time) string {
	return fmt.Sprintf("Undone on branch %s at %s.", codeSpan(branch), at.Format(time.DateTime))
}

// codeSpan returns a text as a code span, in one line.
func codeSpan(text string) string {
	text = display.OneLine(text, maxQuoted)
	if text == "" {
		return "``"
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// codeBlock returns a text as a code block.
func codeBlock(text string) string {
	text = strings.TrimSpace(display.Clip(display.Text([]byte(text)), maxQuoted))
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	return ticks + "text\n" + text + "\n" + ticks + "\n"
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	n := 0
	for _, r := range text {
		if n++; r != '`' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}
