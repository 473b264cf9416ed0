package story

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
)

func (t *Formatter) requestLines(p run.ApprovalRequested) []string {
	if p.Permission == nil {
		lines := append([]string{t.markLine(t.Style.Wait("?"), "%s waits for approval", p.ApprovalID)}, t.listItems("risk", p.Reasons)...)
		return append(lines, t.choiceLines(p.Choices)...)
	}
	lines := []string{t.markLine(t.Style.Wait("?"), "the agent asks for %s  %s", t.Style.Bold(OneLine(p.Permission.Summary(), 200)), t.Style.Dim(p.ApprovalID))}
	return append(lines, t.listItems("because", p.Reasons)...)
}

// choiceLines shows the other patches that may be approved instead.
func (t *Formatter) choiceLines(list []run.Choice) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, t.indentLine("%s attempt %d, %s%s", t.Style.Dim("or "+c.ApprovalID), c.Candidate, c.Stat, summarySuffix(c.Summary)))
		lines = append(lines, t.listItems("risk", c.Risks)...)
	}
	return lines
}

func (t *Formatter) patchLines(e run.Event, p run.PatchProduced) []string {
	t.trouble = ""
	what := "patch"
	switch {
	case p.EditedBy != "":
		what = "the patch, edited" + bySuffix(p.EditedBy)
	case p.PartOf != "":
		what = "the accepted part of the patch"
	}
	lines := []string{t.markLine(t.Style.Good("✓"), "%s%s", what, summarySuffix(p.Summary)) + t.formatStep(e.TS)}
	lines = append(lines, t.fileLines(p.Proposal)...)
	lines = append(lines, t.attemptLines(p)...)
	return append(lines, t.listItems("repaired", p.Repairs)...)
}

// attemptLines shows the results of the other candidates, the best first.
func (t *Formatter) attemptLines(p run.PatchProduced) []string {
	if p.Candidate == 0 {
		return nil
	}
	lines := []string{t.indentLine("%s", t.Style.Dim(fmt.Sprintf("the best of %d, attempt %d", len(p.Rivals)+1, p.Candidate)))}
	for _, e := range p.Rivals {
		how := "passes the checks"
		switch {
		case e.Problem != nil:
			how = "no patch: " + Message(e.Problem.Message, 120)
		case !e.Passed:
			how = "fails " + OneLine(strings.Join(e.Failed, ", "), 120)
		case e.Judged == run.Fixable || e.Judged == run.Blocked:
			how += ", but the evaluator refuses it"
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

// fileLines names the files of a patch, and counts them if there are several.
func (t *Formatter) fileLines(p run.Proposal) []string {
	if len(p.Files) == 0 { // a patch that was refused, whose files are not known
		return nil
	}
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

// Stat returns a diffstat in colour.
func (t *Formatter) Stat(s run.Stat) string {
	return fmt.Sprintf("%s, %s %s", display.Count(s.Files, "file", "files"),
		t.Style.Good(fmt.Sprintf("+%d", s.Added)), t.Style.Bad(fmt.Sprintf("-%d", s.Deleted)))
}
