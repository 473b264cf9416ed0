package prompt

import (
	"fmt"
	"strings"

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

// user writes the user prompt.
func user(in In, d diff, c *selection) string {
	var p parts
	p.add("Goal", "The user's own words:\n\n"+quoted("", in.Goal, run.MaxGoalBytes))
	if in.Role != run.Planner {
		p.add("Plan", quoted("markdown", in.Plan, maxPlan))
	}
	p.add("Guidance", guidance(in.Guidance))
	p.add("Problem", problem(in))
	p.add("Last check report", report(in.Report))
	p.add("Lost", lost(in.Lost))
	p.add("Diff of the branch against its base", branch(in.Role, d))
	p.add("Checks", checks(in))
	p.add("Files", c.section())
	p.add("Now", now(in))
	return strings.Join(p, "\n")
}

// parts are the sections that have something to say.
type parts []string

func (p *parts) add(title, body string) {
	if body != "" {
		*p = append(*p, "# "+title+"\n\n"+body)
	}
}

// quoted is a text of at most n bytes as data; empty for an empty text.
func quoted(info, text string, n int) string {
	text, missing := head(text, n)
	text = clean(text)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if missing == 0 {
		return Fence(info, text)
	}
	return Fence(info, text) + fmt.Sprintf("\n(%s more)\n", count(missing, "line"))
}

// titles say of each kind of guidance whose word it is.
var titles = map[string]string{
	run.FromAnswer:    "The user answered",
	run.FromRejection: "The user rejected a patch",
	run.FromNote:      "The user notes",
	run.FromRefusal:   "An answer or a patch was refused",
	run.FromVerdict:   "An evaluation found",
}

func guidance(list []run.Guidance) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Oldest first. The user's word binds; of two that contradict each other the later counts.\n")
	for i, g := range list {
		title := titles[g.Kind]
		if title == "" {
			title = "Recorded"
		}
		fmt.Fprintf(&b, "\n## %d. %s (iteration %d)\n\n%s", i+1, title, g.Iteration, quoted("", g.Text, run.MaxTextBytes))
	}
	return b.String()
}

func problem(in In) string {
	if in.Role != run.Fixer {
		return ""
	}
	text := quoted("", in.Problem, maxProblem)
	refused := quoted("", in.Refused, maxRefused)
	if refused == "" {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + "It was about this, which has not been applied:\n\n" + refused
}

func lost(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "The run's directory has lost what would stand here: " + strings.Join(names, ", ") + ". Go on without.\n"
}

func branch(role run.Role, d diff) string {
	if role == run.Planner {
		return ""
	}
	if d.text == "" && d.withheld == 0 {
		if role == run.Evaluator {
			return "The branch changes nothing.\n"
		}
		return ""
	}
	names := make([]string, 0, maxChanged)
	for _, path := range d.paths[:min(len(d.paths), maxChanged)] {
		names = append(names, span(path))
	}
	text := "It changes " + count(len(d.paths), "file") + ": " + strings.Join(names, ", ")
	if more := len(d.paths) - maxChanged; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if d.withheld > 0 {
		text += fmt.Sprintf(", and %s withheld, for their names stand for secrets", count(d.withheld, "file"))
	}
	return text + ".\n\n" + quoted("diff", d.text, maxDiff)
}

func checks(in In) string {
	if len(in.Checks) == 0 {
		return "No command judges the result: an evaluator reads the diff.\n"
	}
	return "These commands judge the result, each time that a patch has been applied:\n\n" +
		Fence("sh", clean(strings.Join(in.Checks, "\n")))
}

func now(in In) string {
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
	return text + demands[in.Role]
}

// demands end a prompt. The evaluator's names no decision: see package verdict.
var demands = map[run.Role]string{
	run.Planner:   "Write the plan.\n",
	run.Developer: "Give your answer: exactly one of PATCH, ASK and NOOP.\n",
	run.Fixer:     "Give your answer: exactly one of PATCH, ASK and NOOP.\n",
	run.Evaluator: "Give the decision line and your reasons.\n",
}
