package activities

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// silenceHint says what to look at when a command ran out of time without a byte of output.
const silenceHint = "see whether it fills an empty cache, needs a network that the sandbox refuses (--check-network), or waits for input"

// baselineOf returns the outcome of the checks on the base commit. A check that could not run, or that did not
// end in time, is a problem of the whole baseline: its result for a later patch would mean little. So is one that failed
// and names a submodule, of which a work tree of a run has an empty directory.
func baselineOf(checked check.Report, submodules []string) *run.Baseline {
	b := &run.Baseline{}
	var problems []string
	for i, c := range checked.Checks {
		b.Millis += c.DurationMs
		missing := submoduleIn(c, submodules)
		switch {
		case c.Status == check.Pass:
			b.Passed++
		case missing != "":
			problems = append(problems, fmt.Sprintf("%s fails and names the submodule %s; checks do not see the files of submodules", shownCommand(c), report.Summary(display.Line(missing))))
			b.Unrun = append(b.Unrun, i)
		case c.Status == check.Fail:
			cases, _ := c.Cases()
			b.AddFailed(run.BaselineCheck{Command: shownCommand(c), ExitCode: c.ExitCode, Failed: cases.Failed, Cases: cases.Total})
		default:
			problems = append(problems, baselineProblem(c))
			b.Unrun = append(b.Unrun, i)
		}
	}
	if len(problems) > 0 {
		b.Problem = &run.Problem{Code: run.CodeBaseline, Message: display.Clip(strings.Join(problems, "; "), run.MaxTextBytes/8)}
	}
	return b
}

// submoduleIn returns the submodule that the output of a failed check names; empty if it names none.
func submoduleIn(c check.Result, submodules []string) string {
	if c.Status != check.Fail {
		return ""
	}
	for _, path := range submodules {
		if strings.Contains(c.Head, path) || strings.Contains(c.Tail, path) {
			return path
		}
	}
	return ""
}

// listSubmodules returns the paths of the submodules in the base commit, as the checks see them.
func listSubmodules(ctx context.Context, repo run.Repository) ([]string, error) {
	list, err := git.Repo{Dir: repo.Path}.Run(ctx, "ls-tree", "-r", "-z", string(repo.Base)+":"+repo.Prefix)
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	var paths []string
	for entry := range strings.SplitSeq(string(list), "\x00") {
		if about, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// baselineProblem says why nothing is known of a check.
func baselineProblem(c check.Result) string {
	switch {
	case c.Silent():
		return fmt.Sprintf("%s: %s, no output; %s", shownCommand(c), c.Reason, silenceHint)
	case c.Status == check.Timeout:
		return fmt.Sprintf("%s: %s, after %d bytes of output; a longer --check-timeout may help", shownCommand(c), c.Reason, c.Bytes)
	}
	return fmt.Sprintf("%s cannot run: %s", shownCommand(c), display.Line(c.Reason))
}

func shownCommand(c check.Result) string { return report.Summary(display.Line(c.Command)) }

// compareWithBase notes in the evaluation which checks failed in the same way on the base commit. It
// changes no verdict. A report of the base that is lost is compared with nothing.
func (a *Activities) compareWithBase(in CheckInput, checked check.Report, e *Evaluation) error {
	if in.Before == nil {
		return nil
	}
	base, err := a.loadEvaluation(in.RunID, *in.Before)
	if err != nil {
		return err
	}
	for _, c := range checked.Checks {
		if slices.ContainsFunc(base.Checks, c.FailedAs) {
			e.Before = append(e.Before, c.Command)
		}
		ended := func(b check.Result) bool {
			return b.Command == c.Command && (b.Status == check.Pass || b.Status == check.Fail)
		}
		if c.Silent() && slices.ContainsFunc(base.Checks, ended) {
			e.endedBefore = true
		}
	}
	return nil
}

// silenceQuestion is the question about a command that ran out of time without a byte of output.
func silenceQuestion(command string, e *Evaluation) *run.Question {
	fix := "or, if the repository is at fault: "
	if e.endedBefore {
		fix = "or, if the change is at fault (on the base commit the check ended in time): "
	}
	return &run.Question{
		Question: fmt.Sprintf("A check timed out without any output: %s. How should the run continue?", report.Summary(command)),
		Reason:   report.Summary(e.Reasons[0]),
		NeededInput: []string{
			silenceHint + "; fix it on the worker, then answer with any text: the checks run again",
			fix + run.FixWord + " and what to change",
		},
	}
}
