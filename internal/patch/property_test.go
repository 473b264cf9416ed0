package patch_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// text draws a text with the traits that diffs stumble on: repeated and blank
// lines, lines that look like a diff's own, foreign line ends, no line feed at the end.
func text(words []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		lines := rapid.SliceOfN(rapid.SampledFrom(words), 0, 30).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"}).Draw(t, "end")
		s := strings.Join(lines, end)
		if len(lines) > 0 && rapid.IntRange(0, 4).Draw(t, "ended") > 0 {
			s += end
		}
		return s
	})
}

var odd = []string{"", "", "}", "\treturn nil", "    x := 1", "a", "b", "c", "d", "--- a/x.txt", "+++ b/x.txt", "@@ -1 +1 @@", "diff --git a/x b/x", "-- ", "\\ No newline", "[PATCH_END]",
	"```", "ünï", "\xff\xfe", "trailing  ", "\r", "\ufefffirst", " lead"}

// edited draws a text with a few lines of the old one replaced.
func edited(t *rapid.T, before string, words []string) string {
	lines := strings.SplitAfter(before, "\n")
	for range rapid.IntRange(1, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		end := min(len(lines), at+rapid.IntRange(0, 2).Draw(t, "deleted"))
		fresh := rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "added")
		for i := range fresh {
			fresh[i] += "\n"
		}
		lines = append(append(append([]string(nil), lines[:at]...), fresh...), lines[end:]...)
	}
	return strings.Join(lines, "")
}

func TestDiffOfAnyChangeMakesItAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := text(odd).Draw(t, "before")
		after := edited(t, before, odd)
		name := rapid.SampledFrom([]string{"x.txt", "dir/with space.txt", "a/b/a.txt", "ünï.txt", `quo"te.txt`}).Draw(t, "name")
		c := &patch.Change{Files: []patch.FileChange{{Path: name, Kind: patch.Modified,
			Before: &patch.File{Mode: patch.Regular, Content: []byte(before)}, After: &patch.File{Mode: patch.Regular, Content: []byte(after)}}}}
		tree := memory{files: map[string]patch.File{name: *c.Files[0].Before}}
		if before == after {
			return
		}
		got, err := patch.Plan(tree, c.Diff(), patch.Limits{})
		if err != nil {
			t.Fatalf("refused: %v\n%s", err, c.Diff())
		}
		if !bytes.Equal(got.Files[0].After.Content, []byte(after)) {
			t.Fatalf("got %q, want %q\n%s", got.Files[0].After.Content, after, c.Diff())
		}
	})
}

// code draws a text as programs have them: lines that occur once, with common ones
// between them. Where a diff shows nothing but common lines, its place cannot be told from it.
func code(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(8, 40).Draw(t, "length") {
		fmt.Fprintf(&b, "\tvalue%d := compute(%d)\n%s", i, i*7, rapid.SampledFrom([]string{"", "", "\n", "\t}\n", "\t}\n\n"}).Draw(t, "common"))
	}
	return b.String()
}

// spoiled is a way in which models write a diff wrongly that leaves its meaning alone.
type spoiled struct {
	name string
	do   func(t *rapid.T, diff string) string
}

var header = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

func eachLine(diff string, change func(i int, line string) string) string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i, l := range lines {
		lines[i] = change(i, l)
	}
	return strings.Join(lines, "\n") + "\n"
}

func isContext(l string) bool { return strings.HasPrefix(l, " ") }

var spoils = []spoiled{
	{"counts wrong", func(t *rapid.T, d string) string {
		return header.ReplaceAllStringFunc(d, func(h string) string {
			m := header.FindStringSubmatch(h)
			return fmt.Sprintf("@@ -%s,%d +%s,%d @@", m[1], rapid.IntRange(1, 30).Draw(t, "old"), m[3], rapid.IntRange(1, 30).Draw(t, "new"))
		})
	}},
	{"counts missing", func(_ *rapid.T, d string) string { return header.ReplaceAllString(d, "@@ -$1 +$3 @@") }},
	{"numbers missing", func(_ *rapid.T, d string) string { return header.ReplaceAllString(d, "@@ ... @@") }},
	{"numbers shifted", func(t *rapid.T, d string) string {
		by := rapid.IntRange(1, 60).Draw(t, "by")
		return header.ReplaceAllStringFunc(d, func(h string) string {
			m := header.FindStringSubmatch(h)
			old, _ := strconv.Atoi(m[1])
			return strings.Replace(h, "-"+m[1], "-"+strconv.Itoa(old+by), 1)
		})
	}},
	{"git header missing", func(_ *rapid.T, d string) string {
		return regexp.MustCompile(`(?m)^(diff --git|index) .*\n`).ReplaceAllString(d, "")
	}},
	{"index invented", func(_ *rapid.T, d string) string {
		return regexp.MustCompile(`(?m)^index [^\r\n]*`).ReplaceAllString(d, "index 1111111..2222222 100644")
	}},
	{"carriage returns everywhere", func(_ *rapid.T, d string) string { return strings.ReplaceAll(d, "\n", "\r\n") }},
	{"spaces of context lost", func(_ *rapid.T, d string) string {
		return eachLine(d, func(_ int, l string) string { return strings.TrimPrefix(l, " ") })
	}},
	{"blank context lines empty", func(_ *rapid.T, d string) string {
		return eachLine(d, func(_ int, l string) string {
			if l == " " {
				return ""
			}
			return l
		})
	}},
	{"trailing blanks in context", func(_ *rapid.T, d string) string {
		return eachLine(d, func(_ int, l string) string {
			if isContext(l) {
				return l + "  "
			}
			return l
		})
	}},
	{"tabs of context made spaces", func(_ *rapid.T, d string) string {
		return eachLine(d, func(_ int, l string) string {
			if isContext(l) {
				return strings.ReplaceAll(l, "\t", "    ")
			}
			return l
		})
	}},
	{"prose after it", func(_ *rapid.T, d string) string { return d + "\nThis should do.\n" }},
	{"blank lines after it", func(_ *rapid.T, d string) string { return d + "\n\n" }},
	{"a context line altered", func(t *rapid.T, d string) string {
		at := rapid.IntRange(0, 30).Draw(t, "line")
		return eachLine(d, func(i int, l string) string {
			if i == at && isContext(l) {
				return strings.Replace(l, "compute", "computed", 1)
			}
			return l
		})
	}},
	{"an inner context line left out", func(t *rapid.T, d string) string {
		lines := strings.SplitAfter(d, "\n")
		at := rapid.IntRange(1, 30).Draw(t, "line")
		if at+1 < len(lines) && isContext(lines[at-1]) && isContext(lines[at]) && isContext(lines[at+1]) {
			lines = append(lines[:at:at], lines[at+1:]...)
		}
		return strings.Join(lines, "")
	}},
}

// lostBlank can be told from a blank context line by the counts alone, so it comes alone.
var lostBlank = spoiled{"an added blank line without its +", func(_ *rapid.T, d string) string {
	// Beside another blank line, or at the end of a hunk, it cannot be told from context.
	return regexp.MustCompile(`\n\+\n([+ -][^\n])`).ReplaceAllString(d, "\n\n$1")
}}

func chosen(t *rapid.T) []spoiled {
	if rapid.IntRange(0, 9).Draw(t, "lost blank") == 0 {
		return []spoiled{lostBlank}
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(spoils), 1, 3, func(s spoiled) string { return s.name }).Draw(t, "spoils")
}

// TestSpoiledDiffIsRightOrRefused spoils diffs in up to three ways. The intended change is applied,
// or nothing is.
func TestSpoiledDiffIsRightOrRefused(t *testing.T) {
	applied, refused := make(map[string]int), make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		before := code(t)
		after := edited(t, before, []string{"", "\tfresh := 1", "\tlast := 2", "\t}"})
		if before == after {
			return
		}
		diff := string((&patch.Change{Files: []patch.FileChange{{Path: "x.go", Kind: patch.Modified,
			Before: &patch.File{Mode: patch.Regular, Content: []byte(before)}, After: &patch.File{Mode: patch.Regular, Content: []byte(after)}}}}).Diff())
		text := diff
		var how []string
		for _, s := range chosen(t) {
			text = s.do(t, text)
			how = append(how, s.name)
		}
		tree := memory{files: map[string]patch.File{"x.go": {Mode: patch.Regular, Content: []byte(before)}}}
		c, err := patch.Plan(tree, []byte(text), patch.Limits{})
		if err != nil {
			for _, h := range how {
				refused[h]++
			}
			return
		}
		for _, h := range how {
			applied[h]++
		}
		if got := string(c.Files[0].After.Content); got != after {
			t.Fatalf("%v: wrong bytes\nbefore %q\ngot    %q\nwant   %q\ndiff:\n%s", how, before, got, after, text)
		}
	})
	for _, s := range append(spoils, lostBlank) {
		t.Logf("%-36s applied %4d refused %4d", s.name, applied[s.name], refused[s.name])
	}
}
