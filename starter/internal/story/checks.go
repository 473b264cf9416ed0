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

// failureLines is the number of lines shown of a failing check's output.
const failureLines = 8

// evaluationLines shows each check with its result. It shows the reasons only if they say more than the
// checks do.
func (t *Formatter) evaluationLines(ev run.Evaluation) []string {
	t.trouble = ""
	report, ok := check.Report{}, false
	if t.Report != nil {
		report, ok = t.Report(ev.Report)
	}
	if !ok {
		report = t.guessReport(ev)
	}
	var lines []string
	for _, c := range report.Checks {
		lines = append(lines, t.checkLines(c, slices.Contains(ev.Before, c.Command))...)
	}
	if ev.Network != "" {
		lines = append(lines, t.indentLine("network: %s", OneLine(ev.Network, 300)))
	}
	if len(ev.Failed) == 0 {
		for _, r := range ev.Reasons {
			lines = append(lines, t.indentLine("%s", OneLine(r, 300)))
		}
	}
	return lines
}

// guessReport returns the report as far as the event alone has it.
func (t *Formatter) guessReport(ev run.Evaluation) check.Report {
	var r check.Report
	commands := t.input.Checks
	if len(commands) == 0 {
		commands = ev.Failed
	}
	for _, c := range commands {
		status := check.Pass
		if slices.Contains(ev.Failed, c) {
			status = check.Fail
		}
		r.Checks = append(r.Checks, check.Result{Command: c, Status: status, ExitCode: -1})
	}
	return r
}

// baselineLines shows the results of the checks on the base commit, without output: the run has not caused these failures.
func (t *Formatter) baselineLines(b run.Baseline) []string {
	facts := []string{"your checks before any change"}
	if b.Millis > 0 {
		facts = append(facts, terminal.Duration(time.Duration(b.Millis)*time.Millisecond))
	}
	lines := t.headLines("Baseline", facts...)
	if b.Problem != nil { // the question that follows quotes it
		t.trouble, t.shown, t.code = Message(b.Problem.Message, 300), true, b.Problem.Code
		return lines
	}
	for _, c := range b.Failed {
		lines = append(lines, t.markLine(t.Style.Wait("✗"), "%s  %s", OneLine(c.Command, 120), t.Style.Wait("fails as expected: "+c.Outcome())))
	}
	if b.More > 0 {
		lines = append(lines, t.indentLine("and %d more", b.More))
	}
	switch {
	case len(b.Failed) == 0:
		lines = append(lines, t.markLine(t.Style.Good("✓"), "%s", b.Summary()))
	case b.Passed > 0:
		lines = append(lines, t.markLine(t.Style.Good("✓"), "%s", display.Count(b.Passed, "check passes", "checks pass")))
	}
	return lines
}

// checkLines shows a check. The parameter before says that it failed in the same way on the base commit.
func (t *Formatter) checkLines(c check.Result, before bool) []string {
	command := OneLine(c.Command, 120)
	took := ""
	if c.DurationMs > 0 {
		took = t.Style.Dim("  " + terminal.Duration(time.Duration(c.DurationMs)*time.Millisecond))
	}
	if c.Status == check.Pass {
		return []string{t.markLine(t.Style.Good("✓"), "%s", command) + took}
	}
	outcome := t.Style.Bad(outcomeOf(c))
	if before {
		outcome += t.Style.Wait(", also failed before")
	}
	lines := []string{t.markLine(t.Style.Bad("✗"), "%s  %s", command, outcome) + took}
	for _, line := range LastOutput(c) {
		lines = append(lines, t.Style.Dim("    │ "+line))
	}
	return lines
}

// LastOutput returns the last lines of a check's output, as far as they help a person who asks why it failed.
func LastOutput(c check.Result) (lines []string) {
	output := c.Head
	if c.Tail != "" {
		output = c.Tail
	}
	for _, line := range lastLines(output, failureLines) {
		lines = append(lines, terminal.Clip(line, 160))
	}
	return lines
}

// CheckLines returns the lines that show a check. The checks named in before had failed in the same way on
// the base commit.
func CheckLines(s terminal.Style, c check.Result, before []string) []string {
	return (&Formatter{Style: s}).checkLines(c, slices.Contains(before, c.Command))
}

func outcomeOf(c check.Result) string {
	switch {
	case c.Reason != "":
		return OneLine(c.Reason, 160)
	case c.Status == check.Timeout:
		return "timed out"
	case c.Status == check.Error:
		return "cannot run"
	case c.ExitCode > 0:
		return fmt.Sprintf("failed, exit code %d", c.ExitCode)
	}
	return "failed"
}

// lastLines returns the last n lines of an output that are not blank.
func lastLines(output string, n int) []string {
	lines := slices.DeleteFunc(Lines(output, 10_000), func(l string) bool { return strings.TrimSpace(l) == "" })
	return lines[max(0, len(lines)-n):]
}
