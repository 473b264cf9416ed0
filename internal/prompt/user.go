package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Bounds of the parts of a user prompt, in bytes.
const (
	maxPlan    = 48 << 10
	maxProblem = 16 << 10
	maxRefused = 32 << 10
	maxDiff    = 64 << 10
	maxChanged = 50 // files named
)

// userPrompt writes the user prompt.
func userPrompt(in In, c *selection) string {
	var p promptParts
	p.addPart("Goal", "The user's own words:\n\n"+quoteData("", in.Goal, run.MaxGoalBytes))
	if in.Role != run.Planner && in.Plan != "" {
		p.addPart("Plan", quoteData("markdown", in.Plan, maxPlan))
	}
	p.addPart("Guidance", writeGuidance(in.Guidance))
	p.addPart("Problem", writeProblem(in))
	p.addPart("Last check report", writeReport(in.Report))
	p.addPart("Checks before any change", writeBaseline(in.Baseline))
	p.addPart("Lost", writeLost(in.Lost))
	p.addPart("Diff of the branch against its base", writeBranch(in.Role, in.Diff))
	p.addPart("Checks", writeChecks(in))
	p.addPart("Files", c.writeSection())
	p.addPart("Now", writeNow(in))
	return strings.Join(p, "\n")
}

// promptParts are the sections that are not empty.
type promptParts []string

// addPart adds a section unless its body is empty.
func (p *promptParts) addPart(title, body string) {
	if body != "" {
		*p = append(*p, "# "+title+"\n\n"+body)
	}
}

// quoteData returns a text of at most n bytes as data, or "" for an empty text.
func quoteData(info, text string, n int) string {
	text, missing := headLines(text, n)
	text = cleanText(text)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if missing == 0 {
		return Fence(info, text)
	}
	return Fence(info, text) + fmt.Sprintf("\n(%s more)\n", display.Count(missing, "line", "lines"))
}

// guidanceTitles name the author of each kind of guidance.
var guidanceTitles = map[string]string{
	run.FromAnswer:    "The user answered",
	run.FromRejection: "The user rejected a patch",
	run.FromNote:      "The user notes",
	run.FromRefusal:   "An answer or a patch was refused",
	run.FromVerdict:   "An evaluation found",
}

// writeGuidance writes the guidance, oldest first.
func writeGuidance(list []run.Guidance) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Oldest first. The user's words are binding; if two contradict each other, the later one counts.\n")
	for i, g := range list {
		title := cmp.Or(guidanceTitles[g.Kind], "Recorded")
		fmt.Fprintf(&b, "\n## %d. %s (iteration %d)\n\n%s", i+1, title, g.Iteration, quoteData("", g.Text, run.MaxTextBytes))
	}
	return b.String()
}

// writeProblem writes a fixer's problem and the refused text.
func writeProblem(in In) string {
	if in.Role != run.Fixer {
		return ""
	}
	text := quoteData("", in.Problem, maxProblem)
	refused := quoteData("", in.Refused, maxRefused)
	if refused == "" {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + "It was about this patch, which has not been applied:\n\n" + refused
}

// writeLost writes the parts that the record has lost.
func writeLost(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "A file is missing from the run's directory: " + strings.Join(names, ", ") + ". Continue without it.\n"
}

// writeBranch writes the diff of the branch and the files that it changes.
func writeBranch(role run.Role, d Diff) string {
	if role == run.Planner {
		return ""
	}
	if d.Text == "" && d.Withheld == 0 {
		if role == run.Evaluator {
			return "The branch changes nothing.\n"
		}
		return ""
	}
	names := make([]string, 0, maxChanged)
	for _, path := range d.Paths[:min(len(d.Paths), maxChanged)] {
		names = append(names, codeSpan(path))
	}
	text := "It changes " + display.Count(len(d.Paths), "file", "files") + ": " + strings.Join(names, ", ")
	if more := len(d.Paths) - maxChanged; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if d.Withheld > 0 {
		text += fmt.Sprintf(", and %s withheld, because their names suggest secrets", display.Count(d.Withheld, "file", "files"))
	}
	return text + ".\n\n" + quoteData("diff", showControls(d.Text), maxDiff)
}

// writeChecks writes the commands that judge the result.
func writeChecks(in In) string {
	if len(in.Checks) == 0 {
		return "No command judges the result: an evaluator reads the diff.\n"
	}
	return "These commands judge the result, each time that a patch has been applied:\n\n" +
		Fence("sh", cleanText(strings.Join(in.Checks, "\n")))
}

// writeNow writes the current iteration and the demand on the provider.
func writeNow(in In) string {
	text := fmt.Sprintf("This is iteration %d", max(in.Iteration, 1))
	if in.Head != "" {
		text += fmt.Sprintf(", on commit %.12s", in.Head)
	}
	text += ". "
	switch in.RemainingFixes {
	case 0:
		text += "No fix may follow, unless a person asks for one.\n\n"
	case 1:
		text += "One more fix may follow.\n\n"
	default:
		text += fmt.Sprintf("%d more fixes may follow.\n\n", in.RemainingFixes)
	}
	if in.Edits && (in.Role == run.Developer || in.Role == run.Fixer) {
		return text + "Change the files, or end with ASK or NOOP.\n"
	}
	return text + closingLines[in.Role]
}

// closingLines end a prompt. The evaluator's line names no decision: see package verdict.
var closingLines = map[run.Role]string{
	run.Planner:   "Write the plan.\n",
	run.Developer: "Give your answer: exactly one of PATCH, ASK and NOOP.\n",
	run.Fixer:     "Give your answer: exactly one of PATCH, ASK and NOOP.\n",
	run.Evaluator: "Give the decision line and your reasons.\n",
}
