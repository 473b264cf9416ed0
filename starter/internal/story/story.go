// Package story describes a run to a person: the lines for each event as it comes, and one short line for each
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

// Formatter describes the events of one run, in their order. It remembers the facts to which
// later lines refer. It may begin in the middle of a run.
type Formatter struct {
	Style terminal.Style
	// Report reads the results of the checks that an evaluation refers to; ok is
	// false where they are not at hand. Nil reads none.
	Report func(run.Ref) (r check.Report, ok bool)
	// Hint returns a command line of this program. Nil: no line names a command.
	Hint func(format string, args ...any) string

	input   run.Input
	begun   time.Time     // of the run
	phase   time.Time     // when the phase in progress began
	asked   time.Time     // when the pending approval or question was raised
	waited  time.Duration // for people, in the phase in progress
	idle    time.Duration // for people, in the whole run
	used    run.Usage
	fixes   int
	fixing  int // the iteration that the last fix belongs to
	branch  run.Stat
	trouble string // the last failure shown, which is not shown in full twice
	shown   bool   // trouble was shown in the phase in progress
	code    string // of that failure
}

// Lines returns the lines for an event; some events have none.
func (t *Formatter) Lines(e run.Event) []string {
	t.used = t.used.Add(UsageOf(e))
	switch p := e.Payload.(type) {
	case run.RunCreated:
		t.input, t.begun = p.Input, e.TS
		return t.createdLines(p)
	case run.PhaseStarted:
		return t.phaseLines(e, p)
	case run.PhaseCompleted:
		return t.resultLines(e, p)
	case run.PhaseFailed:
		return t.failureLines(p.Error)
	case run.PatchProduced:
		return t.patchLines(e, p)
	case run.ApprovalRequested:
		t.asked = e.TS
		return t.requestLines(p)
	case run.ApprovalGranted:
		return []string{t.markLine(t.Style.Good("✓"), "approved%s%s%s", sessionSuffix(p.Session), bySuffix(p.By), summarySuffix(p.Reason)) + t.endWait(e.TS)}
	case run.ApprovalRejected:
		return t.rejectionLines(e, p)
	case run.PatchApplied:
		t.branch = p.After
		return []string{t.markLine(t.Style.Good("✓"), "applied as %.10s", p.Commit) + t.Style.Dim(", the branch now changes "+p.After.String())}
	case run.PatchApplyFailed:
		return t.failureLines(p.Error)
	case run.EvaluationPassed:
		return t.evaluationLines(p.Evaluation)
	case run.EvaluationFailedFixable:
		return t.evaluationLines(p.Evaluation)
	case run.EvaluationFailedBlocked:
		return t.evaluationLines(p.Evaluation)
	case run.QuestionRaised:
		t.asked = e.TS
		return t.questionLines(p)
	case run.QuestionAnswered:
		return []string{t.markLine(t.Style.Good("✓"), "answered%s: %s", bySuffix(p.By), OneLine(run.Reply{Text: p.Text, Values: p.Values}.Render(), 200)) + t.endWait(e.TS)}
	default:
		return t.endLines(e)
	}
}

func (t *Formatter) createdLines(p run.RunCreated) []string {
	rows := [][]string{}
	row := func(name, value string) { rows = append(rows, []string{"  " + t.Style.Dim(name), value}) }
	for i, line := range Lines(p.Goal, 4) {
		row([]string{"goal", ""}[min(i, 1)], line)
	}
	repository := OneLine(p.Repository.Shown(), 120)
	if p.Repository.Prefix != "" {
		repository += " in " + OneLine(p.Repository.Prefix, 80)
	}
	row("repository", repository+t.Style.Dim(fmt.Sprintf(" at %.10s", p.Repository.Base)))
	row("branch", OneLine(p.Branch, 120))
	if b := p.Before; b != nil {
		row("continues", fmt.Sprintf("%s, with %s", OneLine(b.Name.Shown(b.RunID), 80), display.Count(len(b.Guidance), "note from there", "notes from there")))
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
	row("approval", fmt.Sprintf("%s, at most %s", p.Policy, display.Count(p.Fixes(), "automatic fix", "automatic fixes")))
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

func (t *Formatter) phaseLines(e run.Event, p run.PhaseStarted) []string {
	t.phase, t.waited, t.shown = e.TS, 0, false
	var lines []string
	if p.Baseline != nil {
		lines = t.baselineLines(*p.Baseline)
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
		facts = append(facts, "requested")
	case e.Phase == run.Fix && t.input.RunID != "":
		facts = append(facts, fmt.Sprintf("fix %d of %d", t.fixes, t.input.Fixes()))
	}
	if p.Provider != "" && len(Providers(t.input.Providers)) != 1 {
		facts = append(facts, OneLine(p.Provider, 60))
	}
	if n := len(p.Notes); n > 0 {
		facts = append(facts, "with "+display.Count(n, "note", "notes"))
	}
	return append(lines, t.headLines(title, facts...)...)
}

// headLines returns the lines above a part of the story.
func (t *Formatter) headLines(title string, facts ...string) []string {
	return []string{"", t.Style.Accent("▸ ") + t.Style.Bold(title) + t.Style.Dim("  "+strings.Join(facts, " · "))}
}

func (t *Formatter) resultLines(e run.Event, p run.PhaseCompleted) []string {
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
