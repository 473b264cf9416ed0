package patchview_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/test/golden"
	"github.com/ratchet-dev/ratchet/internal/udiff"
	"github.com/ratchet-dev/ratchet/starter/internal/patchview"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

const patch = `diff --git a/slug.go b/slug.go
index 1..2 100644
--- a/slug.go
+++ b/slug.go
@@ -7,3 +7,4 @@ func x() {
 func Make(title string) string {
-	return strings.ReplaceAll(strings.ToLower(title), " ", "-") // why
+	// Fields drops blanks.
+	return strings.Join(strings.Fields(strings.ToLower(title)), "-") + "日本語" // a comment that is quite long indeed
 }
@@ -98,2 +99,3 @@
 a
+b
 c
diff --git a/old name.sh b/new name.sh
old mode 100644
new mode 100755
similarity index 100%
rename from old name.sh
rename to new name.sh
diff --git a/gone b/gone
deleted file mode 100644
index 1..0
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\ No newline at end of file
`

// TestScreens compares the drawn patch with the golden screens, which were reviewed by eye.
func TestScreens(t *testing.T) {
	files, err := hunks.Read([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		columns int
		colours bool
	}{{"200", 200, false}, {"58", 58, false}, {"30", 30, false}, {"pipe", 0, false}, {"colours", 100, true}} {
		v := patchview.View{Style: terminal.Colors(tt.colours), Columns: tt.columns, Indent: "    "}
		lines := v.Lines(files)
		for _, line := range lines {
			if tt.columns > 40 && terminal.Width(line) >= tt.columns {
				t.Errorf("%s: %q is %d columns wide", tt.name, line, terminal.Width(line))
			}
		}
		golden.Compare(t, "testdata/"+tt.name+".txt", strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛")+"\n")
	}
}

// Whatever a patch holds, in whatever language, nothing of it reaches the terminal as a control character,
// and no character of it is lost: one of a word in two scripts is shown by its number.
func TestNothingOfAPatchIsObeyedOrHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b\r\x07\u202e\u200b\x9b\t\"'/*#`日")))).Draw(t, "text")
		line := strings.ReplaceAll(string(text), "\n", "")
		f := hunks.File{
			Name: rapid.SampledFrom([]string{"a.go", "a.py", "a\x1b[2J.md", "x"}).Draw(t, "name"), Change: hunks.Modified,
			Hunks: []hunks.Hunk{{Lines: []hunks.Line{{Op: udiff.Insert, New: 1, Text: line}}}},
		}
		v := patchview.View{Columns: rapid.IntRange(0, 120).Draw(t, "columns"), Style: terminal.Colors(rapid.Bool().Draw(t, "colours"))}
		shown := ""
		for _, row := range v.File(f) {
			row = colours.Replace(row)
			if strings.ContainsAny(row, "\x1b\r\n\x07\u202e\u200b\u009b\t") {
				t.Fatalf("%q", row)
			}
			_, text, _ := strings.Cut(row, "+ ") // a number may be broken into two rows
			shown += text
		}
		letters := strings.Count(shown, "日") + strings.Count(shown, "<U+65E5>")
		if want := strings.Count(line, "日"); letters != want {
			t.Fatalf("%d of %d characters are shown in %q", letters, want, shown)
		}
	})
}

// colours removes the colours that package terminal adds.
var colours = strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[35m", "", "\x1b[36m", "", "\x1b[1;4;32m", "", "\x1b[1;4;31m", "")

func TestTheWordsThatDiffer(t *testing.T) {
	lines := func(del, ins string) hunks.File {
		return hunks.File{Name: "x.txt", Change: hunks.Modified, Hunks: []hunks.Hunk{{Lines: []hunks.Line{{Op: udiff.Delete, Old: 1, Text: del}, {Op: udiff.Insert, New: 1, Text: ins}}}}}
	}
	for _, tt := range []struct{ name, del, ins, wantDel, wantIns string }{
		{"a word", "the total is right", "the sum is right", "total", "sum"},
		{"a part of a word marks all of it", "return totalCost + 1", "return totalSum + 1", "totalCost", "totalSum"},
		{"a word more", "func Make(title string)", "func Make(ctx, title string)", "", "ctx, "},
		{"at the end", "a b c d 日", "a b c d 本", "日", "本"},
		{"another line", "alpha beta", "nothing in common here", "", ""},
		{"the same", "same words", "same words", "", ""},
	} {
		drawn := patchview.View{Style: terminal.Colors(true)}.File(lines(tt.del, tt.ins))
		for i, mark := range []string{"\x1b[1;4;31m", "\x1b[1;4;32m"} {
			_, rest, _ := strings.Cut(drawn[1+i], mark)
			got, _, _ := strings.Cut(rest, "\x1b[0m")
			if want := []string{tt.wantDel, tt.wantIns}[i]; got != want {
				t.Errorf("%s: got %q marked, want %q, in %q", tt.name, got, want, drawn[1+i])
			}
		}
	}
}
