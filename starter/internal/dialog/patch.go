package dialog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// showPatch shows the patch: first its difference to the refused one, then itself, then what a person should
// know besides, and the consequences of a yes and a no.
func (g *gate) showPatch() {
	g.Screen.Line("")
	if !g.showDifference() {
		g.showHead(g.drawPatch(), "d shows all")
	}
	if !g.whole {
		g.Screen.Note("    ", "… only the beginning: the rest is in the run's directory on the worker's host")
	}
	g.Screen.Line("")
	g.printFacts(g.a, review.Risk, review.Warning, review.Repair)
	g.showReport()
	g.printFacts(g.a, review.Check)
	g.printConsequence("yes", g.a.Next.Approve)
	g.printConsequence("no", g.a.Next.Reject)
}

// drawPatch returns the lines of the whole patch.
func (g *gate) drawPatch() []string {
	if len(g.files) == 0 {
		var lines []string
		for line := range strings.Lines(g.patch) {
			lines = append(lines, "    "+strings.TrimRight(line, "\n"))
		}
		return lines
	}
	return g.view().Lines(g.files)
}

// showHead shows the first lines.
func (g *gate) showHead(lines []string, more string) {
	shown := lines[:min(len(lines), shownLines)]
	for _, line := range shown {
		g.Screen.Line(line)
	}
	if left := len(lines) - len(shown); left > 0 {
		g.Screen.Note("    ", fmt.Sprintf("… %d more lines, %s", left, more))
	}
}

// showDifference shows how the patch differs from the one that was refused before it. It returns false if
// none was, if the two cannot be compared, or if the patch is the part of it that a person has chosen.
func (g *gate) showDifference() bool {
	if g.a.Refused == nil || g.a.PartOf != "" || len(g.files) == 0 || g.a.Refused.Digest == g.a.Patch.Digest {
		return false
	}
	raw, err := g.Load(*g.a.Refused)
	if err != nil {
		return false
	}
	refused, err := hunks.Read(raw)
	if err != nil || len(refused) == 0 {
		return false
	}
	differing, err := hunks.Compare(refused, g.files)
	if err != nil {
		return false
	}
	if len(differing) == 0 {
		g.Screen.Note("  ", "this patch makes the same changes as the refused one:")
		return false
	}
	g.printSentence("  ", g.Screen.Wait("changed since the refused patch")+g.Screen.Dim(fmt.Sprintf(" (d shows the whole patch: %s):", g.a.Stat)))
	g.showHead(g.view().Lines(differing), "d shows the whole patch")
	if same := sameFiles(g.files, differing); len(same) > 0 {
		g.Screen.Note("  ", "same as in the refused patch: "+story.OneLine(strings.Join(same, ", "), 300))
	}
	return true
}

// sameFiles returns the names of the files that do not differ, safe for a terminal.
func sameFiles(files, differing []hunks.File) (names []string) {
	for _, f := range files {
		if !slices.ContainsFunc(differing, func(d hunks.File) bool { return d.Name == f.Name }) {
			names = append(names, display.Line(f.Name))
		}
	}
	return names
}

// showReport shows the results of the last checks.
func (g *gate) showReport() {
	if g.a.Report == nil || g.Report == nil {
		return
	}
	r, ok := g.Report(*g.a.Report)
	if !ok || len(r.Checks) == 0 {
		return
	}
	g.Screen.Line("  " + g.Screen.Dim("the last checks, before this patch:"))
	for _, c := range r.Checks {
		for _, line := range story.CheckLines(g.Screen.Style, c, g.a.Before) {
			g.Screen.Wrapped("  " + line)
		}
	}
}

// pageLines shows lines in the pager, or prints them.
func (g *gate) pageLines(lines []string) error {
	if g.Page != nil && len(lines) > shownLines/2 {
		resume := g.Lines.Suspend()
		err := g.Page(strings.Join(lines, "\n") + "\n")
		resume()
		if err == nil {
			return nil
		}
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 300))
	}
	for _, line := range lines {
		g.Screen.Line(line)
	}
	return nil
}

// byFile shows one file after the other.
func (g *gate) byFile(ctx context.Context) error {
	for i := 0; i < len(g.files); {
		for _, line := range g.view().File(g.files[i]) {
			g.Screen.Line(line)
		}
		prompt := fmt.Sprintf("  file %d of %d  ", i+1, len(g.files))
		line, err := g.Lines.Ask(ctx, g.Screen.Dim(prompt+"(Enter: next, b: previous, q: back to the patch) "))
		if err != nil {
			return err
		}
		switch strings.ToLower(line) {
		case "":
			i++
		case "b":
			i = max(i-1, 0)
		case "q":
			return nil
		}
	}
	return nil
}

// acceptSome asks which files are accepted, and why the others go back.
func (g *gate) acceptSome(ctx context.Context) (bool, error) {
	for i, f := range g.files {
		g.Screen.Line(fmt.Sprintf("  %3d %s", i+1, strings.TrimSpace(g.view().Header(f))))
	}
	line, err := g.Lines.Ask(ctx, "  "+g.Screen.Wait("Which files do you accept? ")+g.Screen.Dim("(numbers, such as 1 3-5; Enter: back) "))
	if line == "" || err != nil {
		return false, err
	}
	chosen, err := parseNumbers(line, len(g.files))
	if err != nil {
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 200)+": nothing was decided")
		return false, nil
	}
	if len(chosen) == len(g.files) {
		g.Screen.Note("  ", "these are all files: use y to accept the patch")
		return false, nil
	}
	reason, err := g.askReason(ctx, "Why do the other files go back?", "-: drop them; Enter: back")
	if reason == "" || err != nil {
		return false, err
	}
	g.decision.Decision, g.decision.Reason = run.Approve, saidReason(reason)
	for _, n := range chosen {
		g.decision.Files = append(g.decision.Files, g.files[n-1].Name)
	}
	return true, nil
}

// parseNumbers reads numbers and ranges from 1 to the limit.
func parseNumbers(text string, limit int) (list []int, err error) {
	seen := map[int]bool{}
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		first, last, ranged := strings.Cut(field, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 1 || to > limit || from > to {
			return nil, fmt.Errorf("%q is not a number from 1 to %d", field, limit)
		}
		for n := from; n <= to; n++ {
			seen[n] = true
		}
	}
	for n := 1; n <= limit; n++ {
		if seen[n] {
			list = append(list, n)
		}
	}
	return list, nil
}
