// Package story tells a run to a person: the lines for each event as it
// comes, and one short line for each in a list. All that comes from outside
// (models, checks, other people) is made safe for a terminal here.
package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/terminal"
)

// Teller tells the events of one run, in their order. It remembers what the
// later lines refer to. A run may be told from the middle on.
type Teller struct {
	Style terminal.Style
	// Report reads the results of the checks that an evaluation refers to; ok is
	// false where they are not at hand. Nil reads none.
	Report func(run.Ref) (r check.Report, ok bool)

	input   run.Input
	begun   time.Time // of the run
	phase   time.Time // when the phase under way began
	asked   time.Time // when the pending approval or question was raised
	fixes   int
	fixing  int // the iteration that the last fix belongs to
	branch  run.Stat
	trouble string // the last failure told, not told twice
}

// Tell returns the lines for an event; some events have none.
func (t *Teller) Tell(e run.Event) []string {
	switch p := e.Payload.(type) {
	case run.RunCreated:
		t.input, t.begun = p.Input, e.TS
		return t.created(p)
	case run.PhaseStarted:
		return t.started(e, p)
	case run.PhaseCompleted:
		return t.completed(e, p)
	case run.PhaseFailed:
		return t.failed(p.Error)
	case run.PatchProduced:
		return t.produced(e, p)
	case run.ApprovalRequested:
		t.asked = e.TS
		return t.requested(p)
	case run.ApprovalGranted:
		return []string{t.mark(t.Style.Good("✓"), "approved%s%s%s", session(p.Session), by(p.By), tail(p.Reason)) + t.Style.Dim(t.since(t.asked, e.TS))}
	case run.ApprovalRejected:
		return []string{t.mark(t.Style.Bad("✗"), "rejected%s%s", by(p.By), tail(p.Reason)) + t.Style.Dim(t.since(t.asked, e.TS))}
	case run.PatchApplied:
		t.branch = p.After
		applied := t.mark(t.Style.Good("✓"), "applied as %.10s", p.Commit) + t.Style.Dim(", the branch now differs in "+Stat(p.After))
		return append([]string{applied}, t.restored(p.Restored)...)
	case run.PatchApplyFailed:
		return t.failed(p.Error)
	case run.EvaluationPassed:
		return append(t.evaluated(p.Evaluation), t.restored(p.Restored)...)
	case run.EvaluationFailedFixable:
		return append(t.evaluated(p.Evaluation), t.restored(p.Restored)...)
	case run.EvaluationFailedBlocked: // the question says what became of the branch
		return t.evaluated(p.Evaluation)
	case run.QuestionRaised:
		t.asked = e.TS
		return t.question(p)
	case run.QuestionAnswered:
		return []string{t.mark(t.Style.Good("✓"), "answered%s: %s", by(p.By), OneLine(run.Reply{Text: p.Text, Values: p.Values}.Render(), 200))}
	default:
		return t.ended(e)
	}
}

func (t *Teller) created(p run.RunCreated) []string {
	rows := [][]string{}
	row := func(name, value string) { rows = append(rows, []string{"  " + t.Style.Dim(name), value}) }
	for i, line := range Lines(p.Goal, 4) {
		row([]string{"goal", ""}[min(i, 1)], line)
	}
	repository := OneLine(p.Repository.Path, 120)
	if p.Repository.Prefix != "" {
		repository += " in " + OneLine(p.Repository.Prefix, 80)
	}
	row("repository", repository+t.Style.Dim(fmt.Sprintf(" at %.10s", p.Repository.Base)))
	row("branch", OneLine(p.Branch, 120))
	for _, line := range Providers(p.Providers) {
		row(line[0], line[1])
	}
	for _, c := range p.Checks {
		row("check", OneLine(c, 120))
	}
	row("approval", fmt.Sprintf("%s, at most %s", p.Policy, count(p.Fixes(), "fix unasked", "fixes unasked")))
	table := strings.TrimRight(terminal.Table(rows), "\n")
	return append([]string{t.Style.Bold("Run " + string(p.RunID))}, strings.Split(table, "\n")...)
}

// Providers names the provider of each role, roles with the same one together.
func Providers(p run.Providers) [][2]string {
	var specs []string
	roles := map[string][]string{}
	for _, r := range run.Roles {
		spec := p.For(r)
		if spec == "" {
			continue
		}
		if !slices.Contains(specs, spec) {
			specs = append(specs, spec)
		}
		roles[spec] = append(roles[spec], string(r))
	}
	var out [][2]string
	for _, spec := range specs {
		name := strings.Join(roles[spec], ", ")
		if len(specs) == 1 {
			name = "provider"
		}
		out = append(out, [2]string{name, OneLine(spec, 120)})
	}
	return out
}

func (t *Teller) started(e run.Event, p run.PhaseStarted) []string {
	t.phase = e.TS
	if e.Phase == run.Fix && t.fixing != e.Iteration {
		t.fixing = e.Iteration
		if !p.Uncounted {
			t.fixes++
		}
	}
	title := strings.ToUpper(string(e.Phase[:1])) + string(e.Phase[1:])
	facts := []string{fmt.Sprintf("iteration %d", e.Iteration)}
	switch {
	case e.Phase == run.Fix && p.Uncounted:
		facts = append(facts, "asked for")
	case e.Phase == run.Fix && t.input.RunID != "":
		facts = append(facts, fmt.Sprintf("fix %d of %d", t.fixes, t.input.Fixes()))
	}
	if p.Provider != "" && len(Providers(t.input.Providers)) != 1 {
		facts = append(facts, OneLine(p.Provider, 60))
	}
	if n := len(p.Notes); n > 0 {
		facts = append(facts, "with "+count(n, "note", "notes"))
	}
	return []string{"", t.Style.Accent("▸ ") + t.Style.Bold(title) + t.Style.Dim("  "+strings.Join(facts, " · "))}
}

func (t *Teller) requested(p run.ApprovalRequested) []string {
	if p.Permission == nil {
		lines := append([]string{t.mark(t.Style.Wait("?"), "%s waits for a decision", p.ApprovalID)}, t.list("risk", p.Reasons)...)
		return append(lines, t.choices(p.Choices)...)
	}
	lines := []string{t.mark(t.Style.Wait("?"), "the agent asks for %s  %s", t.Style.Bold(OneLine(p.Permission.Summary(), 200)), t.Style.Dim(p.ApprovalID))}
	return append(lines, t.list("because", p.Reasons)...)
}

// choices are the other patches that may be approved instead.
func (t *Teller) choices(list []run.Choice) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, t.under("%s attempt %d, %s%s", t.Style.Dim("or "+c.ApprovalID), c.Candidate, Stat(c.Stat), tail(c.Summary)))
		lines = append(lines, t.list("risk", c.Risks)...)
	}
	return lines
}

func (t *Teller) completed(e run.Event, p run.PhaseCompleted) []string {
	took := t.Style.Dim(t.since(t.phase, e.TS))
	switch p.Result {
	case run.Planned:
		t.trouble = ""
		return []string{t.mark(t.Style.Good("✓"), "planned%s", tail(p.Summary)) + took}
	case run.Noop:
		t.trouble = ""
		return []string{t.mark(t.Style.Good("✓"), "nothing to change%s", tail(p.Summary)) + took}
	}
	return nil // the events before it have said so
}

func (t *Teller) produced(e run.Event, p run.PatchProduced) []string {
	t.trouble = ""
	lines := []string{t.mark(t.Style.Good("✓"), "patch%s", tail(p.Summary)) + t.Style.Dim(t.since(t.phase, e.TS))}
	lines = append(lines, t.files(p.Proposal)...)
	lines = append(lines, t.rivals(p)...)
	return append(lines, t.list("repaired", p.Repairs)...)
}

// rivals tells how the other attempts ended, the best first.
func (t *Teller) rivals(p run.PatchProduced) []string {
	if p.Candidate == 0 {
		return nil
	}
	lines := []string{t.under("%s", t.Style.Dim(fmt.Sprintf("the best of %d, attempt %d", len(p.Rivals)+1, p.Candidate)))}
	for _, e := range p.Rivals {
		how := "passes the checks"
		switch {
		case e.Problem != nil:
			how = "no patch: " + OneLine(e.Problem.Message, 120)
		case !e.Passed:
			how = "fails " + OneLine(strings.Join(e.Failed, ", "), 120)
		case e.Judged == run.Fixable || e.Judged == run.Blocked:
			how += ", the evaluator does not let it"
		}
		line := fmt.Sprintf("attempt %d by %s %s", e.Number, OneLine(e.Provider, 60), how)
		if e.Proposal != nil {
			line += ", " + OneLine(e.Proposal.Summary, 100)
		}
		lines = append(lines, t.under("%s", t.Style.Dim(line)))
	}
	return lines
}

// maxFiles is how many files of a patch are named.
const maxFiles = 6

// files names what a patch changes, and sums it up when that is more than one.
func (t *Teller) files(p run.Proposal) []string {
	if p.Stat.Files == 1 && len(p.Files) == 1 {
		return []string{t.under("%s", t.Style.Dim(OneLine(p.Files[0], 120)))}
	}
	lines := []string{t.under("%s", t.Stat(p.Stat))}
	for i, f := range p.Files {
		if i == maxFiles {
			return append(lines, t.under("%s", t.Style.Dim(fmt.Sprintf("and %d more", p.Stat.Files-i))))
		}
		lines = append(lines, t.under("%s", t.Style.Dim(OneLine(f, 120))))
	}
	return lines
}

// restored tells that something other than the run had moved its branch.
func (t *Teller) restored(r *run.Restored) []string {
	if r == nil {
		return nil
	}
	return []string{t.mark(t.Style.Wait("!"), "%s", Moved(*r))}
}

// Moved says in one line that something other than the run had moved its branch.
func Moved(r run.Restored) string {
	return "the branch was changed by something other than the run: " + OneLine(r.String(), 400)
}

func (t *Teller) failed(p run.Problem) []string {
	text := OneLine(p.Message, 300)
	if text == t.trouble {
		return nil
	}
	t.trouble = text
	return []string{t.mark(t.Style.Bad("✗"), "%s", text) + t.Style.Dim(" ("+OneLine(p.Code, 40)+")")}
}

func (t *Teller) question(p run.QuestionRaised) []string {
	lines := []string{t.mark(t.Style.Wait("?"), "%s", t.Style.Bold(OneLine(p.Question.Question, 600))+t.Style.Dim("  "+p.QuestionID))}
	if p.Reason != "" {
		lines = append(lines, t.under("%s", t.Style.Dim("because: "+OneLine(p.Reason, 300))))
	}
	return append(lines, t.list("needed", p.NeededInput)...)
}

func (t *Teller) ended(e run.Event) []string {
	took := t.Style.Dim(t.since(t.begun, e.TS))
	switch p := e.Payload.(type) {
	case run.RunCompleted:
		what := fmt.Sprintf("%s on %s", count(p.Commits, "commit", "commits"), OneLine(p.Branch, 120))
		if t.branch != (run.Stat{}) {
			what += ", " + Stat(t.branch)
		}
		return append([]string{"", t.Style.Good("✓ ") + t.Style.Bold("Completed") + took, "  " + what}, t.restored(p.Restored)...)
	case run.RunFailed:
		return []string{"", t.Style.Bad("✗ ") + t.Style.Bold("Failed") + took, "  " + OneLine(p.Error.Message, 400) + t.Style.Dim(" ("+OneLine(p.Error.Code, 40)+")")}
	case run.RunCanceled:
		return []string{"", t.Style.Wait("■ ") + t.Style.Bold("Canceled") + took, "  " + OneLine(p.Reason, 400) + by(p.By)}
	}
	return nil
}

// since is how long it took, in brackets; nothing when the beginning is not
// known.
func (t *Teller) since(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return "  " + terminal.Duration(to.Sub(from))
}

func (t *Teller) mark(sign, format string, args ...any) string {
	return "  " + sign + " " + fmt.Sprintf(format, args...)
}

func (t *Teller) under(format string, args ...any) string {
	return "    " + fmt.Sprintf(format, args...)
}

func (t *Teller) list(name string, items []string) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, t.under("%s", t.Style.Wait(name+": ")+OneLine(item, 300)))
	}
	return lines
}

// Stat is a diffstat in colour.
func (t *Teller) Stat(s run.Stat) string {
	return fmt.Sprintf("%s, %s %s", count(s.Files, "file", "files"),
		t.Style.Good(fmt.Sprintf("+%d", s.Added)), t.Style.Bad(fmt.Sprintf("-%d", s.Deleted)))
}

// Stat is a diffstat.
func Stat(s run.Stat) string { return (&Teller{}).Stat(s) }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func session(holds bool) string {
	if holds {
		return " for the agent's session"
	}
	return ""
}

func by(name string) string {
	if name == "" {
		return ""
	}
	return " by " + OneLine(name, 60)
}

func tail(text string) string {
	if text = OneLine(text, 200); text == "" {
		return ""
	}
	return ": " + text
}

// OneLine is text on one line, safe for a terminal, and of width at most.
func OneLine(text string, width int) string {
	return terminal.Clip(patch.Display(strings.Join(strings.Fields(text), " ")), width)
}

// Lines is text made safe, its first lines of at most n; a cut is shown.
func Lines(text string, n int) []string {
	lines := strings.Split(patch.DisplayDiff([]byte(strings.TrimSpace(text))), "\n")
	if len(lines) > n {
		return append(lines[:n:n], "…")
	}
	return lines
}
