package hunks_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/hunks"
	"github.com/ratchet-dev/ratchet/internal/test/udifftest"
)

func read(t *testing.T, patch string) []hunks.File {
	t.Helper()
	files, err := hunks.Read([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// show writes files in a form that a test can compare: operation, both numbers, text.
func show(files []hunks.File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s %s %s%s +%d -%d\n", f.Change, f.Name, f.From, f.Mode, f.Added, f.Deleted)
		for i, h := range f.Hunks {
			if i > 0 {
				b.WriteString("...\n")
			}
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "%c %d %d %s\n", l.Op, l.Old, l.New, l.Text)
			}
		}
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ name, patch, want string }{
		{"nothing", "\n", ""},
		{"a change", udifftest.Patch("slug.go", "a\nb\nc\n", "a\nB\nc\n"), "modified slug.go  +1 -1\n  1 1 a\n- 2 0 b\n+ 0 2 B\n  3 3 c\n"},
		{"an added file", udifftest.Patch("a b.go", "", "x\ny\n"), "added a b.go  +2 -0\n+ 0 1 x\n+ 0 2 y\n"},
		{"a removed file", udifftest.Patch("x", "p\n", ""), "removed x  +0 -1\n- 1 0 p\n"},
		{"a rename and a mode", "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nrename from x\nrename to y\n", "renamed y x100644 → 100755 +0 -0\n"},
		{"a rename into a directory b", "diff --git a/a/x b/b/y\nsimilarity index 100%\nrename from a/x\nrename to b/y\n", "renamed b/y a/x +0 -0\n"},
		{"a copy with lines", "diff --git a/b/x b/a/y\ncopy from b/x\ncopy to a/y\n--- a/b/x\n+++ b/a/y\n@@ -1 +1 @@\n-1\n+2\n", "copied a/y b/x +1 -1\n- 1 0 1\n+ 0 1 2\n"},
		{"lines that look like headers", udifftest.Patch("q.sql", "-- a\nb\n", "b\n++ c\n"), "modified q.sql  +1 -1\n- 1 0 -- a\n  2 1 b\n+ 0 2 ++ c\n"},
		{"a name that is quoted", udifftest.Patch("ü\t.go", "1\n", "2\n"), "modified ü\t.go  +1 -1\n- 1 0 1\n+ 0 1 2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(read(t, tt.patch)); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	if _, err := hunks.Read([]byte("no diff")); err == nil {
		t.Error("a text that is no diff was read")
	}
}

func TestCompare(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for _, tt := range []struct{ name, earlier, later, want string }{
		{"the same", udifftest.Patch("f", base, "0\n"+base), udifftest.Patch("f", base, "0\n"+base), ""},
		{
			"a line that was said otherwise", udifftest.Patch("f", base, strings.Replace(base, "5", "five", 1)), udifftest.Patch("f", base, strings.Replace(base, "5", "FIVE", 1)),
			"modified f  +1 -1\n  2 2 2\n  3 3 3\n  4 4 4\n- 5 0 five\n+ 0 5 FIVE\n  6 6 6\n  7 7 7\n  8 8 8\n",
		},
		{
			"a line that was taken back, below another", udifftest.Patch("f", base, "0\n"+strings.Replace(base, "12\n", "", 1)), udifftest.Patch("f", base, "0\n"+base),
			"modified f  +1 -0\n  10 10 9\n  11 11 10\n  12 12 11\n+ 0 13 12\n",
		},
		{"a file that the earlier had not", "", udifftest.Patch("g", "", "x\n"), "added g  +1 -0\n+ 0 1 x\n"},
		{"a line feed at the end", udifftest.Patch("f", "1\n2", "1\n3"), udifftest.Patch("f", "1\n2", "1\n3\n"), "modified f  +1 -1\n  1 1 1\n- 2 0 3\n+ 0 2 3\n"},
		{
			"another file under the same name", "diff --git a/x b/z\nrename from x\nrename to z\n", "diff --git a/y b/z\nrename from y\nrename to z\n",
			"renamed z y +0 -0\n",
		},
		{"a file that the later has not", udifftest.Patch("g", "", "x\n"), "", "not in this patch g  +0 -1\n- 1 0 x\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := hunks.Compare(read(t, tt.earlier), read(t, tt.later))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(files); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	_, err := hunks.Compare(read(t, udifftest.Patch("f", "1\n2\n", "1\nx\n")), read(t, udifftest.Patch("f", "a\n2\n", "a\nx\n")))
	if !errors.Is(err, hunks.ErrOtherBase) {
		t.Errorf("of two bases: %v", err)
	}
}

// What Compare says, done to the lines that the earlier patch leaves, gives those of the later, by their numbers.
func TestCompareAgreesWithTheFiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	changed := func(lines []string) []string {
		out := slices.Clone(lines)
		for range 1 + rnd.IntN(4) {
			switch at := rnd.IntN(len(out)); rnd.IntN(3) {
			case 0:
				out = slices.Delete(out, at, at+1)
			case 1:
				out = slices.Insert(out, at, fmt.Sprint("new", rnd.IntN(9)))
			default:
				out[at] = fmt.Sprint("other", rnd.IntN(9))
			}
		}
		return out
	}
	text := func(lines []string) string { return strings.Join(lines, "\n") + "\n" }
	different := 0
	for range 2000 {
		var base []string
		for i := range 12 + rnd.IntN(30) {
			base = append(base, fmt.Sprint("line", i%7))
		}
		was, is := changed(base), changed(base)
		files, err := hunks.Compare(read(t, udifftest.Patch("f", text(base), text(was))), read(t, udifftest.Patch("f", text(base), text(is))))
		if err != nil {
			t.Fatal(err)
		}
		if (len(files) == 0) != slices.Equal(was, is) {
			t.Fatalf("%q to %q: %s", was, is, show(files))
		}
		if len(files) == 0 {
			continue
		}
		different++
		for _, h := range files[0].Hunks {
			for _, l := range h.Lines {
				if l.Old > 0 && was[l.Old-1] != l.Text || l.New > 0 && is[l.New-1] != l.Text {
					t.Fatalf("%q to %q, line %+v:\n%s", was, is, l, show(files))
				}
			}
		}
	}
	if different < 1500 {
		t.Errorf("only %d pairs differed", different)
	}
}

func TestReason(t *testing.T) {
	files := read(t, udifftest.Patch("slug.go", "a\nb\nc\n", "a\n  return B\nc\n"))
	got := hunks.Reason(" Use a table test. \n", files, []hunks.Remark{
		{File: "slug.go", Line: 2, Text: "lower case\nplease"}, {File: "slug.go", Line: 2, Old: true, Text: "keep it"},
		{File: "slug.go", Text: "too long"}, {File: "slug.go", Line: 1, Text: " "}, {File: "other.go", Line: 7, Text: "missing"},
	})
	want := "Use a table test.\n\nslug.go:2: return B\n  lower case\n  please\n\nslug.go:2 (deleted): b\n  keep it\n\nslug.go:\n  too long\n\nother.go:7:\n  missing"
	if got != strings.Replace(want, "other.go:7:", "other.go:7", 1) {
		t.Errorf("got\n%s", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(udifftest.Patch("f", "1\n2\n", "2\n3\n")))
	f.Add([]byte("diff --git a/x b/x\n@@ -99999999999999999999 +1 @@\n+a\n"))
	f.Fuzz(func(t *testing.T, patch []byte) {
		files, err := hunks.Read(patch)
		if err != nil || bytes.Contains(patch, []byte("\x00")) {
			return
		}
		if same, err := hunks.Compare(files, files); err == nil {
			for _, s := range same {
				if len(s.Hunks) > 0 {
					t.Errorf("%q differs from itself: %s", patch, show(same))
				}
			}
		}
	})
}
