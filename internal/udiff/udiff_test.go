package udiff_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/udiff"
)

func nobody(string) bool { return false }

func one(t *testing.T, text string) udiff.Section {
	t.Helper()
	d, err := udiff.Parse([]byte(text), nobody, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Sections) != 1 {
		t.Fatalf("%d sections", len(d.Sections))
	}
	return d.Sections[0]
}

func TestNamesOfSections(t *testing.T) {
	for _, tt := range []struct {
		name, text              string
		gitOld, gitNew          string
		old, new, from, renamed string
	}{
		{name: "git", text: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", gitOld: "a/x", gitNew: "b/x", old: "a/x", new: "b/x"},
		{name: "blanks in the name", text: "diff --git a/x y b/x y\nnew file mode 100644\n", gitOld: "a/x y", gitNew: "b/x y"},
		{name: "blanks and no prefix", text: "diff --git x y x y\nnew file mode 100644\n", gitOld: "x y", gitNew: "x y"},
		{name: "blanks in two names cannot be told apart", text: "diff --git a/x y b/z w\nrename from x y\nrename to z w\n", from: "x y", renamed: "z w"},
		{name: "quoted", text: "diff --git \"a/caf\\303\\251\" \"b/caf\\303\\251\"\n--- \"a/caf\\303\\251\"\n+++ \"b/caf\\303\\251\"\n", gitOld: "a/café", gitNew: "b/café", old: "a/café", new: "b/café"},
		{name: "one quoted", text: "diff --git a/x \"b/\\tx\"\nrename from x\nrename to \"\\tx\"\n", gitOld: "a/x", gitNew: "b/\tx", from: "x", renamed: "\tx"},
		{name: "time stamps", text: "--- a/x\t2020-01-02 03:04:05.000000000 +0000\n+++ b/x 2020-01-02 03:04:05 +0000\n", old: "a/x", new: "b/x"},
		{name: "subversion", text: "Index: x\n=====\n--- x\t(revision 1)\n+++ x\t(working copy)\n", old: "x", new: "x"},
		{name: "a tab that ends a name with blanks", text: "--- a/x y\t\n+++ b/x y\t\n", old: "a/x y", new: "b/x y"},
		{name: "a tab inside a name", text: "--- a/x\ty\n+++ b/x\ty\n", old: "a/x\ty", new: "b/x\ty"},
		{name: "carriage returns", text: "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\n-a\r\n+b\r\n", old: "a/x", new: "b/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := one(t, tt.text)
			got := [6]string{s.GitOld, s.GitNew, s.Old, s.New, s.From, s.To}
			if want := [6]string{tt.gitOld, tt.gitNew, tt.old, tt.new, tt.from, tt.renamed}; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestHunksEndWhereTheyShould(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n"
	for _, tt := range []struct {
		name, text string
		known      string
		hunks      []string // operations of the first reading of each
	}{
		{name: "two hunks", text: head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n", hunks: []string{" -+", "-+"}},
		{name: "a header between fulfilled counts", text: head + "@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", hunks: []string{"-+", "-+"}},
		{name: "changed lines that look like a header", text: head + "@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n b\n", hunks: []string{" -+ "}},
		{name: "changed lines that look like a header, before a hunk", text: head + "@@ -1,2 +1,2 @@\n a\n--- old\n+++ new\n@@ -9 +9 @@\n-d\n+e\n", hunks: []string{" -+", "-+"}},
		{name: "a header after wrong counts, of a file that is there", text: head + "@@ -1,9 +1,9 @@\n a\n-b\n+c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", known: "a/y", hunks: []string{" -+", "-+"}},
		{name: "blank lines before the next file", text: head + "@@ -1 +1 @@\n-a\n+b\n\n\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d\n", hunks: []string{"-+", "-+"}},
		{name: "a blank line that the counts include", text: head + "@@ -1,2 +1,2 @@\n-a\n+b\n\n", hunks: []string{"-+ "}},
		{name: "counts that stop too early", text: head + "@@ -1 +1 @@\n-a\n+b\n c\n-d\n", hunks: []string{"-+ -"}},
		{name: "a marker at the end", text: head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", hunks: []string{"-+"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := udiff.Parse([]byte(tt.text), func(name string) bool { return name == tt.known }, false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range d.Sections {
				for _, h := range s.Hunks {
					ops := ""
					for _, l := range h.Readings()[0].Lines {
						ops += string(rune(l.Op))
					}
					got = append(got, ops)
				}
			}
			if strings.Join(got, "|") != strings.Join(tt.hunks, "|") {
				t.Errorf("got %q, want %q", got, tt.hunks)
			}
		})
	}
}

func TestQuoteReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := "x" + string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "name"))
		if strings.ContainsAny(name, "\n") || !strings.HasPrefix(udiff.QuoteName(name), `"`) {
			return // git quotes what cannot stand on a line; the rest is plain
		}
		d, err := udiff.Parse([]byte("--- "+udiff.QuoteName(name)+"\n+++ "+udiff.QuoteName(name)+"\n"), nobody, false)
		if err != nil || d.Sections[0].Old != name || d.Sections[0].New != name {
			t.Fatalf("%q became %+v, %v", name, d, err)
		}
	})
}

func TestEditsMakeTheOtherText(t *testing.T) {
	words := []string{"a\n", "b\n", "c\n", "\n", "d\n", "e\n", "f\n", "g\n"}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{5, 40, 600}).Draw(t, "size")
		pick := rapid.SliceOfN(rapid.SampledFrom(words), 0, size)
		a := pick.Draw(t, "a")
		b := append([]string(nil), a...)
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			at := rapid.IntRange(0, len(b)).Draw(t, "at")
			end := min(len(b), at+rapid.IntRange(0, 60).Draw(t, "gone"))
			b = append(append(append([]string(nil), b[:at]...), rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(t, "new")...), b[end:]...)
		}
		left, right := lines(a), lines(b)
		var made [][]byte
		at := 0
		for _, e := range udiff.Edits(left, right) {
			if e.A < at || e.A == e.AEnd && e.B == e.BEnd || e.B-e.A != len(made)+e.A-at-e.A {
				t.Fatalf("edit %+v is out of order", e)
			}
			made = append(append(made, left[at:e.A]...), right[e.B:e.BEnd]...)
			at = e.AEnd
		}
		made = append(made, left[at:]...)
		if !bytes.Equal(bytes.Join(made, nil), bytes.Join(right, nil)) {
			t.Fatalf("made %q of %q, want %q", made, left, right)
		}
	})
}

func lines(s []string) (out [][]byte) {
	for _, l := range s {
		out = append(out, []byte(l))
	}
	return out
}

// Lines that each look like the beginning of a file that lost its header are read in one pass.
func TestManyLinesThatCouldBeginAFile(t *testing.T) {
	const head = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	if s := one(t, head+strings.Repeat("similarity index 90%\n", 200_000)); len(s.Hunks) != 1 {
		t.Errorf("%d hunks", len(s.Hunks))
	}
	d, err := udiff.Parse([]byte(head+"similarity index 90%\nrename from y\nrename to z\n"), nobody, false)
	if err != nil || len(d.Sections) != 2 || d.Sections[1].To != "z" {
		t.Errorf("got %+v, %v; want a section of its own for the rename", d, err)
	}
}

// A line that was wrapped into many is joined in one pass.
func TestALineThatWasWrappedIntoMany(t *testing.T) {
	const n = 2_000_000
	s := one(t, "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n x\n-y\n"+strings.Repeat("a\n", n))
	readings := s.Hunks[0].Readings()
	i := slices.IndexFunc(readings, func(r udiff.Reading) bool { return r.Note == udiff.NoteWrapped })
	if i < 0 {
		t.Fatalf("%d readings, none with the line joined", len(readings))
	}
	if last := readings[i].Lines[len(readings[i].Lines)-1].Text; len(last) != 1+2*n {
		t.Errorf("the line has %d bytes, want %d", len(last), 1+2*n)
	}
}

// A header may promise more lines than there are, and a diff has many headers.
func TestPromisesOfLinesTakeNoMemory(t *testing.T) {
	const n = 5000
	text := []byte("--- a/x\n+++ b/x\n" + strings.Repeat("@@ -1,999999 +1,999999 @@\n x\n", n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := udiff.Parse(text, nobody, false)
	runtime.ReadMemStats(&after)
	if err != nil || len(d.Sections[0].Hunks) != n {
		t.Fatalf("got %v", err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 128<<20 {
		t.Errorf("%d MiB were allocated", taken>>20)
	}
}

// There are billions of ways to choose among the empty lines of a hunk; few of them are read, and none where there are
// too few lines to choose from.
func TestManyEmptyLinesThatLostTheirSign(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		runs, shown, blanked int // empty lines beside a changed one, other empty lines, and how many are too many
		readings             int
	}{
		{"too few to choose from", 31, 1, 32, 1},
		{"half of them", 32, 0, 16, 33},
		{"all of them", 32, 0, 32, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			old := 2*tt.runs + 3*tt.shown - tt.blanked
			hunk := fmt.Sprintf("@@ -1,%d +1,%d @@\n", old, tt.runs+3*tt.shown) + strings.Repeat(" a\n\n b\n", tt.shown) + strings.Repeat("-x\n\n", tt.runs-1) + "\n-x\n"
			s := one(t, "--- a/x\n+++ b/x\n"+strings.Repeat(hunk, 20))
			for _, h := range s.Hunks {
				if got := len(h.Readings()); got != tt.readings {
					t.Fatalf("%d readings, want %d", got, tt.readings)
				}
			}
		})
	}
}

// The readings of a hunk with empty lines that lost their sign share its lines; a hunk of very many lines has none.
func TestReadingsOfEmptyLinesTakeNoMemory(t *testing.T) {
	for _, tt := range []struct{ lines, hunks, readings int }{{5_000, 100, 33}, {200_000, 1, 1}} {
		hunk := fmt.Sprintf("@@ -1,31 +1,%d @@\n", tt.lines+32) + strings.Repeat("+\n\n", 32) + strings.Repeat("+\n", tt.lines-32)
		s := one(t, "--- a/x\n+++ b/x\n"+strings.Repeat(hunk, tt.hunks))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, h := range s.Hunks {
			if got := len(h.Readings()); got != tt.readings {
				t.Fatalf("%d readings, want %d", got, tt.readings)
			}
		}
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 16<<20 {
			t.Errorf("%d MiB were allocated for %d hunks", taken>>20, tt.hunks)
		}
	}
}
