// Package story tells a run to a person: the lines for each event as it comes, and one short line for each
// in a list. It makes all text from outside (models, checks, other people) safe for a terminal.
package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// Teller tells the events of one run, in their order. It remembers the facts to which
// later lines refer. A run may be told from the middle on.
type Teller struct {
	Style terminal.Style
	// Report reads the results of the checks that an evaluation refers to; ok is
	// false where they are not at hand. Nil reads none.
	Report func(run.Ref) (r check.Report, ok bool)

	input   run.Input
	begun   time.Time     // of the run
	phase   time.Time     // when the phase under way began
	asked   time.Time     // when the pending approval or question was raised
	waited  time.Duration // for people, in the phase under way
	idle    time.Duration // for people, in the whole run
	used    run.Usage
	fixes   int
	fixing  int // the iteration that the last fix belongs to
	branch  run.Stat
	trouble string // the last failure told, not told twice
}

// Tell returns the lines for an event; some events have none.
func (t *Teller) Tell(e run.Event) []string {
	t.used = t.used.Add(UsageOf(e))
	switch p := e.Payload.(type) {
	case run.RunCreated:
		t.input, t.begun = p.Input, e.TS
		return t.tellCreated(p)
	case run.PhaseStarted:
		return t.tellStarted(e, p)
	case run.PhaseCompleted:
		return t.tellCompleted(e, p)
	case run.PhaseFailed:
		return t.tellFailure(p.Error)
	case run.PatchProduced:
		return t.tellProduced(e, p)
	case run.ApprovalRequested:
		t.asked = e.TS
		return t.tellRequested(p)
	case run.ApprovalGranted:
		return []string{t.markLine(t.Style.Good("✓"), "approved%s%s%s", sessionSuffix(p.Session), bySuffix(p.By), summarySuffix(p.Reason)) + t.endWait(e.TS)}
	case run.ApprovalRejected:
		return t.tellRejected(e, p)
	case run.PatchApplied:
		t.branch = p.After
		applied := t.markLine(t.Style.Good("✓"), "applied as %.10s", p.Commit) + t.Style.Dim(", the branch now differs in "+Stat(p.After))
		return append([]string{applied}, t.tellRestored(p.Restored)...)
	case run.PatchApplyFailed:
		return t.tellFailure(p.Error)
	case run.EvaluationPassed:
		return append(t.tellEvaluation(p.Evaluation), t.tellRestored(p.Restored)...)
	case run.EvaluationFailedFixable:
		return append(t.tellEvaluation(p.Evaluation), t.tellRestored(p.Restored)...)
	case run.EvaluationFailedBlocked: // the question tells the state of the branch
		return t.tellEvaluation(p.Evaluation)
	case run.QuestionRaised:
		t.asked = e.TS
		return t.tellQuestion(p)
	case run.QuestionAnswered:
		return []string{t.markLine(t.Style.Good("✓"), "answered%s: %s", bySuffix(p.By), OneLine(run.Reply{Text: p.Text, Values: p.Values}.Render(), 200)) + t.endWait(e.TS)}
	default:
		return t.tellEnded(e)
	}
}

func (t *Teller) tellCreated(p run.RunCreated) []string {
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
	if b := p.Before; b != nil {
		row("goes on from", fmt.Sprintf("%s, with %s", OneLine(b.Name.Shown(b.RunID), 80), countNoun(len(b.Guidance), "thing said there", "things said there")))
	}
	for _, line := range Providers(p.Providers) {
		row(line[0], line[1])
	}
	for _, c := range p.Checks {
		row("check", OneLine(c, 120))
	}
	if p.NoBaseline && len(p.Checks) > 0 {
		row("baseline", "off: the checks do not run on the base commit")
	}
	if len(p.CheckNetwork) > 0 {
		row("network", "of the checks: "+OneLine(strings.Join(p.CheckNetwork, ", "), 200))
	}
	row("approval", fmt.Sprintf("%s, at most %s", p.Policy, countNoun(p.Fixes(), "fix unasked", "fixes unasked")))
	if p.Sandbox.Off() {
		row("sandbox", t.Style.Wait("off")+", "+run.Unboxed)
	}
	table := strings.TrimRight(terminal.Table(rows), "\n")
	return append([]string{t.Style.Bold("Run " + p.Name.Shown(p.RunID))}, strings.Split(table, "\n")...)
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

func (t *Teller) tellStarted(e run.Event, p run.PhaseStarted) []string {
	t.phase, t.waited = e.TS, 0
	var lines []string
	if p.Baseline != nil {
		lines = t.tellBaseline(*p.Baseline)
		if p.Baseline.Problem != nil {
			return lines // the phase ends at once, with a question
		}
	}
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
		facts = append(facts, "with "+countNoun(n, "note", "notes"))
	}
	return append(lines, t.headLines(title, facts...)...)
}

// headLines returns the lines above a part of the story.
func (t *Teller) headLines(title string, facts ...string) []string {
	return []string{"", t.Style.Accent("▸ ") + t.Style.Bold(title) + t.Style.Dim("  "+strings.Join(facts, " · "))}
}

func (t *Teller) tellRequested(p run.ApprovalRequested) []string {
	if p.Permission == nil {
		lines := append([]string{t.markLine(t.Style.Wait("?"), "%s waits for a decision", p.ApprovalID)}, t.listItems("risk", p.Reasons)...)
		return append(lines, t.tellChoices(p.Choices)...)
	}
	lines := []string{t.markLine(t.Style.Wait("?"), "the agent asks for %s  %s", t.Style.Bold(OneLine(p.Permission.Summary(), 200)), t.Style.Dim(p.ApprovalID))}
	return append(lines, t.listItems("because", p.Reasons)...)
}

// tellChoices tells the other patches that may be approved instead.
func (t *Teller) tellChoices(list []run.Choice) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, t.indentLine("%s attempt %d, %s%s", t.Style.Dim("or "+c.ApprovalID), c.Candidate, Stat(c.Stat), summarySuffix(c.Summary)))
		lines = append(lines, t.listItems("risk", c.Risks)...)
	}
	return lines
}

func (t *Teller) tellCompleted(e run.Event, p run.PhaseCompleted) []string {
	took := t.formatStep(e.TS)
	switch p.Result {
	case run.Planned:
		t.trouble = ""
		return []string{t.markLine(t.Style.Good("✓"), "planned%s", summarySuffix(p.Summary)) + took}
	case run.Noop:
		t.trouble = ""
		return []string{t.markLine(t.Style.Good("✓"), "nothing to change%s", summarySuffix(p.Summary)) + took}
	}
	return nil // the events before it have said so
}

func (t *Teller) tellProduced(e run.Event, p run.PatchProduced) []string {
	t.trouble = ""
	what := "patch"
	if p.PartOf != "" {
		what = "the accepted part of the patch"
	}
	lines := []string{t.markLine(t.Style.Good("✓"), "%s%s", what, summarySuffix(p.Summary)) + t.formatStep(e.TS)}
	lines = append(lines, t.tellFiles(p.Proposal)...)
	lines = append(lines, t.tellRivals(p)...)
	return append(lines, t.listItems("repaired", p.Repairs)...)
}

// tellRivals tells the results of the other candidates, the best first.
func (t *Teller) tellRivals(p run.PatchProduced) []string {
	if p.Candidate == 0 {
		return nil
	}
	lines := []string{t.indentLine("%s", t.Style.Dim(fmt.Sprintf("the best of %d, attempt %d", len(p.Rivals)+1, p.Candidate)))}
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
		lines = append(lines, t.indentLine("%s", t.Style.Dim(line)))
	}
	return lines
}

// maxFiles is the most files of a patch that are named.
const maxFiles = 6

// tellFiles names the files of a patch, and counts them if there are several.
func (t *Teller) tellFiles(p run.Proposal) []string {
	if p.Stat.Files == 1 && len(p.Files) == 1 {
		return []string{t.indentLine("%s", t.Style.Dim(OneLine(p.Files[0], 120)))}
	}
	lines := []string{t.indentLine("%s", t.Stat(p.Stat))}
	for i, f := range p.Files {
		if i == maxFiles {
			return append(lines, t.indentLine("%s", t.Style.Dim(fmt.Sprintf("and %d more", p.Stat.Files-i))))
		}
		lines = append(lines, t.indentLine("%s", t.Style.Dim(OneLine(f, 120))))
	}
	return lines
}

// tellRestored tells that something other than the run had moved its branch.
func (t *Teller) tellRestored(r *run.Restored) []string {
	if r == nil {
		return nil
	}
	return []string{t.markLine(t.Style.Wait("!"), "%s", Moved(*r))}
}

// Moved returns one line that says that something other than the run had moved its branch.
func Moved(r run.Restored) string {
	return "the branch was changed by something other than the run: " + OneLine(r.String(), 400)
}

func (t *Teller) tellFailure(p run.Problem) []string {
	text := OneLine(p.Message, 300)
	if text == t.trouble {
		return nil
	}
	t.trouble = text
	return []string{t.markLine(t.Style.Bad("✗"), "%s", text) + t.Style.Dim(" ("+OneLine(p.Code, 40)+")")}
}

func (t *Teller) tellQuestion(p run.QuestionRaised) []string {
	lines := []string{t.markLine(t.Style.Wait("?"), "%s", t.Style.Bold(OneLine(p.Question.Question, 600))+t.Style.Dim("  "+p.QuestionID))}
	if p.Reason != "" {
		lines = append(lines, t.indentLine("%s", t.Style.Dim("because: "+OneLine(p.Reason, 300))))
	}
	return append(lines, t.listItems("needed", p.NeededInput)...)
}

func (t *Teller) tellEnded(e run.Event) []string {
	took := t.Style.Dim(t.formatSince(t.begun, e.TS) + t.formatIdle())
	if used := Usage(t.used); used != "" {
		took += t.Style.Dim(" · " + used)
	}
	switch p := e.Payload.(type) {
	case run.RunCompleted:
		what := fmt.Sprintf("%s on %s", countNoun(p.Commits, "commit", "commits"), OneLine(p.Branch, 120))
		if t.branch != (run.Stat{}) {
			what += ", " + Stat(t.branch)
		}
		return append([]string{"", t.Style.Good("✓ ") + t.Style.Bold("Completed") + took, "  " + what}, t.tellRestored(p.Restored)...)
	case run.RunFailed:
		return []string{"", t.Style.Bad("✗ ") + t.Style.Bold("Failed") + took, "  " + OneLine(p.Error.Message, 400) + t.Style.Dim(" ("+OneLine(p.Error.Code, 40)+")")}
	case run.RunCanceled:
		return []string{"", t.Style.Wait("■ ") + t.Style.Bold("Canceled") + took, "  " + OneLine(p.Reason, 400) + bySuffix(p.By)}
	}
	return nil
}

// tellRejected tells a no, or the acceptance of some files.
func (t *Teller) tellRejected(e run.Event, p run.ApprovalRejected) []string {
	if len(p.Files) == 0 {
		return []string{t.markLine(t.Style.Bad("✗"), "rejected%s%s", bySuffix(p.By), summarySuffix(p.Reason)) + t.endWait(e.TS)}
	}
	rest := "the rest is dropped"
	if p.Reason != "" {
		rest = "the rest goes back: " + OneLine(p.Reason, 200)
	}
	return []string{
		t.markLine(t.Style.Wait("½"), "accepted%s: %s", bySuffix(p.By), OneLine(strings.Join(p.Files, ", "), 300)) + t.endWait(e.TS),
		t.indentLine("%s", rest),
	}
}

// endWait counts a wait that has ended, and returns how long it was.
func (t *Teller) endWait(at time.Time) string {
	if t.asked.IsZero() {
		return ""
	}
	d := max(at.Sub(t.asked), 0)
	t.waited, t.idle, t.asked = t.waited+d, t.idle+d, time.Time{}
	return t.Style.Dim("  after " + terminal.Duration(d))
}

// formatStep returns how long the phase under way has worked: the waits for people are not its.
func (t *Teller) formatStep(at time.Time) string {
	if t.phase.IsZero() {
		return ""
	}
	return t.Style.Dim("  " + terminal.Duration(at.Sub(t.phase)-t.waited))
}

// formatIdle returns how much of a run's time was a wait for people.
func (t *Teller) formatIdle() string {
	if t.idle < time.Second {
		return ""
	}
	return ", " + terminal.Duration(t.idle) + " of it waiting for people"
}

// UsageOf returns the usage that an event records.
func UsageOf(e run.Event) (u run.Usage) {
	var found *run.Usage
	switch p := e.Payload.(type) {
	case run.PhaseCompleted:
		found = p.Usage
	case run.PhaseFailed:
		found = p.Usage
	case run.PatchProduced:
		found = p.Usage
	case run.EvaluationPassed:
		found = p.Usage
	case run.EvaluationFailedFixable:
		found = p.Usage
	case run.EvaluationFailedBlocked:
		found = p.Usage
	}
	if found != nil {
		u = *found
	}
	return u
}

// formatSince returns a duration in brackets, or "" if the beginning is not known.
func (t *Teller) formatSince(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	return "  " + terminal.Duration(to.Sub(from))
}

// markLine returns a line with a sign before it.
func (t *Teller) markLine(sign, format string, args ...any) string {
	return "  " + sign + " " + fmt.Sprintf(format, args...)
}

// indentLine returns a line below a marked line.
func (t *Teller) indentLine(format string, args ...any) string {
	return "    " + fmt.Sprintf(format, args...)
}

// listItems returns a line for each item.
func (t *Teller) listItems(name string, items []string) []string {
	var lines []string
	for _, item := range items {
		lines = append(lines, t.indentLine("%s", t.Style.Wait(name+": ")+OneLine(item, 300)))
	}
	return lines
}

// Stat returns a diffstat in colour.
func (t *Teller) Stat(s run.Stat) string {
	return fmt.Sprintf("%s, %s %s", countNoun(s.Files, "file", "files"),
		t.Style.Good(fmt.Sprintf("+%d", s.Added)), t.Style.Bad(fmt.Sprintf("-%d", s.Deleted)))
}

// Stat returns a diffstat.
func Stat(s run.Stat) string { return (&Teller{}).Stat(s) }

// Usage returns tokens and money in short, such as "41k tokens $0.21"; empty if nothing is known
// to be used.
func Usage(u run.Usage) string {
	if u.TotalTokens == 0 && u.Cost == 0 {
		return ""
	}
	text := shortCount(u.TotalTokens) + " tokens"
	if u.Cost > 0 {
		text += " " + u.Cost.String()
	}
	return text
}

// shortCount returns a number in at most four characters.
func shortCount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1000*1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

func countNoun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func sessionSuffix(holds bool) string {
	if holds {
		return " for the agent's session"
	}
	return ""
}

func bySuffix(name string) string {
	if name == "" {
		return ""
	}
	return " by " + OneLine(name, 60)
}

func summarySuffix(text string) string {
	if text = OneLine(text, 200); text == "" {
		return ""
	}
	return ": " + text
}

// OneLine returns text on one line, safe for a terminal, and at most width wide.
func OneLine(text string, width int) string {
	return terminal.Clip(display.Line(strings.Join(strings.Fields(text), " ")), width)
}

// Lines returns the first n lines of text, made safe, and marks a cut.
func Lines(text string, n int) []string {
	lines := strings.Split(display.Text([]byte(strings.TrimSpace(text))), "\n")
	if len(lines) > n {
		return append(lines[:n:n], "…")
	}
	return lines
}
