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
	"github.com/ratchet-dev/ratchet/internal/udiff"
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
// none was, or if the two cannot be compared.
func (g *gate) showDifference() bool {
	if g.a.Refused == nil || len(g.files) == 0 || g.a.Refused.Digest == g.a.Patch.Digest {
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
func (g *gate) pageLines(lines []string) {
	if g.Page != nil && len(lines) > shownLines/2 {
		resume := g.Lines.Suspend()
		err := g.Page(strings.Join(lines, "\n") + "\n")
		resume()
		if err == nil {
			return
		}
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 300))
	}
	for _, line := range lines {
		g.Screen.Line(line)
	}
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

// countHunks counts what can be chosen of the patch: hunks, and files without any.
func (g *gate) countHunks() (n int) {
	for _, f := range g.files {
		n += max(1, len(f.Hunks))
	}
	return n
}

// acceptSome asks which files and hunks are accepted, and why the others go back.
func (g *gate) acceptSome(ctx context.Context) (bool, error) {
	for i, f := range g.files {
		g.Screen.Line(fmt.Sprintf("  %3d %s", i+1, strings.TrimSpace(g.view().Header(f))))
		for n, h := range f.Hunks {
			if len(f.Hunks) > 1 {
				g.Screen.Line(fmt.Sprintf("      %d.%d %s", i+1, n+1, g.Screen.Dim(describeHunk(h))))
			}
		}
	}
	line, err := g.Lines.Ask(ctx, "  "+g.Screen.Wait("Which do you accept? ")+g.Screen.Dim("(files such as 1 3-5, hunks such as 2.1; Enter: back) "))
	if line == "" || err != nil {
		return false, err
	}
	files, chosen, all, err := g.parseChoice(line)
	if err != nil {
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 200)+": nothing was decided")
		return false, nil
	}
	if all {
		g.Screen.Note("  ", "that is all of it: use y to accept the patch")
		return false, nil
	}
	reason, err := g.askReason(ctx, "Why does the rest go back?", "-: drop it; Enter: back")
	if reason == "" || err != nil {
		return false, err
	}
	g.decision.Decision, g.decision.Reason = run.Approve, saidReason(reason)
	g.decision.Files, g.decision.Hunks = files, chosen
	return true, nil
}

// describeHunk says in a few words where a hunk is and how much it changes.
func describeHunk(h hunks.Hunk) string {
	first, added, deleted, text := 0, 0, 0, ""
	for _, l := range h.Lines {
		if first == 0 {
			first = max(l.New, l.Old)
		}
		switch l.Op {
		case udiff.Insert:
			added++
		case udiff.Delete:
			deleted++
		default:
			continue
		}
		if text == "" {
			text = strings.TrimSpace(l.Text)
		}
	}
	return fmt.Sprintf("line %d, +%d -%d: %s", first, added, deleted, story.OneLine(text, 60))
}

// parseChoice reads the numbers of files, and of hunks as file.hunk. All is set if they are the whole patch.
func (g *gate) parseChoice(line string) (files []string, chosen []run.HunkChoice, all bool, err error) {
	var whole []string
	ofFile := make([][]string, len(g.files))
	for field := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' }) {
		file, hunk, single := strings.Cut(field, ".")
		if !single {
			whole = append(whole, field)
			continue
		}
		n, err := strconv.Atoi(file)
		if err != nil || n < 1 || n > len(g.files) {
			return nil, nil, false, fmt.Errorf("%q is not a number from 1 to %d", file, len(g.files))
		}
		ofFile[n-1] = append(ofFile[n-1], hunk)
	}
	numbers, err := parseNumbers(strings.Join(whole, " "), len(g.files))
	if err != nil {
		return nil, nil, false, err
	}
	for i, f := range g.files {
		list, err := parseNumbers(strings.Join(ofFile[i], " "), len(f.Hunks))
		switch {
		case err != nil:
			return nil, nil, false, fmt.Errorf("hunks of file %d: %w", i+1, err)
		case slices.Contains(numbers, i+1), len(list) > 0 && len(list) == len(f.Hunks):
			files = append(files, f.Name)
		case len(list) > 0:
			chosen = append(chosen, run.HunkChoice{File: f.Name, Numbers: list})
		}
	}
	if len(files)+len(chosen) == 0 {
		return nil, nil, false, fmt.Errorf("%q names no file and no hunk", line)
	}
	return files, chosen, len(files) == len(g.files), nil
}

// editPatch lets the person edit the patch, and proposes what is saved in its place. The text stays in its file until the
// run has taken it.
func (g *gate) editPatch(ctx context.Context) (bool, error) {
	if g.edit == nil {
		d, err := g.NewEdit(g.raw)
		if err != nil {
			g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 300))
			return false, nil
		}
		g.edit = &reply{Draft: d, about: g.a.ApprovalID}
	}
	resume := g.Lines.Suspend()
	text, err := g.edit.Edit()
	resume()
	g.edit.written = text != g.raw && text != ""
	switch {
	case err != nil:
		g.printSentence("  "+g.Screen.Wait("! "), story.OneLine(err.Error(), 300))
		return false, nil
	case !g.edit.written:
		g.Screen.Note("  ", "you changed nothing: nothing was decided")
		return false, nil
	case len(text) > run.MaxEditBytes:
		g.printSentence("  "+g.Screen.Wait("! "), fmt.Sprintf("the patch has %d bytes, at most %d fit: nothing was decided; e opens it again", len(text), run.MaxEditBytes))
		return false, nil
	}
	key, err := g.askForWord(ctx, "Propose the edited patch?", []word{{"y", "", "the run looks whether it applies, then shows it as a patch of its own"}, {"n", "", "back to the patch: nothing was decided; e opens your edit again"}})
	if key != "y" || err != nil {
		return false, err
	}
	g.decision.Decision, g.decision.Patch, g.edit.sent = run.Edit, text, true
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
