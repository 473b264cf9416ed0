package patch_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// load is a patch of a known size.
type load struct {
	name  string
	files map[string]string
	diff  string
}

// changed makes every step-th line of n another one.
func changed(n, step int, line func(i int) string) (before, after string) {
	var b, a strings.Builder
	for i := range n {
		b.WriteString(line(i))
		if i%step == step/2 {
			a.WriteString("changed: ")
		}
		a.WriteString(line(i))
	}
	return b.String(), a.String()
}

func diffOf(name, before, after string) string {
	f := patch.FileChange{Path: name, Kind: patch.Modified, Before: &patch.File{Mode: patch.Regular, Content: []byte(before)}, After: &patch.File{Mode: patch.Regular, Content: []byte(after)}}
	if before == "" {
		f.Kind, f.Before = patch.Added, nil
	}
	diff := string((&patch.Change{Files: []patch.FileChange{f}}).Diff())
	// A model knows no blob ids.
	lines := strings.SplitAfterN(diff, "\n", 5)
	for i, l := range lines {
		if strings.HasPrefix(l, "index ") {
			lines[i] = "index 1111111..2222222 100644\n"
		}
	}
	return strings.Join(lines, "")
}

func (l load) tree() memory {
	m := memory{files: make(map[string]patch.File)}
	for name, text := range l.files {
		m.files[name] = patch.File{Mode: patch.Regular, Content: []byte(text)}
	}
	return m
}

// traps are diffs that make a careless search take the square of their size.
func traps() []load {
	three := func(i int) string { return []string{"a\n", "b\n", "\n"}[i%3] }
	before, after := changed(50_000, 50, three)
	near := func(i int) string {
		if i == 49_999 {
			return "end\n"
		}
		return "same\n"
	}
	same, _ := changed(50_000, 100_000, near)
	var many strings.Builder
	many.WriteString("--- a/f.txt\n+++ b/f.txt\n")
	for range 5_000 {
		many.WriteString("@@ ... @@\n a\n b\n \n a\n-b\n+B\n")
	}
	long := "--- a/f.txt\n+++ b/f.txt\n@@ -7,20000 +7,20000 @@\n" + strings.Repeat(" same\n", 20_000) + "-other\n+x\n"
	return []load{
		{"three lines repeated, 1,000 hunks", map[string]string{"f.txt": before}, diffOf("f.txt", before, after)},
		{"three lines repeated, 1,000 hunks without numbers", map[string]string{"f.txt": before}, noNumbers(diffOf("f.txt", before, after))},
		{"three lines repeated, 5,000 hunks that fit everywhere", map[string]string{"f.txt": before}, many.String()},
		{"one line repeated, a long hunk that fits nowhere", map[string]string{"f.txt": same}, long},
		{"one line repeated, a long hunk that fits but for its end", map[string]string{"f.txt": same}, strings.Replace(long, "-other\n", "-end\n", 1)},
		{"a million headers", nil, strings.Repeat("--- a/f.txt\n+++ b/f.txt\n", 300_000)},
		{"empty lines without end", map[string]string{"f.txt": before}, "--- a/f.txt\n+++ b/f.txt\n@@ -1,400000 +1,400001 @@\n" + strings.Repeat("\n+\n\n", 200_000)},
		{"many lines, and empty ones that lost their +", map[string]string{"f.txt": "-\n"}, lostBlanks(200_000)},
		{"5,000 hunks that only add lines", map[string]string{"f.txt": same}, "--- a/f.txt\n+++ b/f.txt\n@@ -1,0 +1,200000 @@\n" + strings.Repeat("+\n", 200_000) + strings.Repeat("@@ -1,0 +1 @@\n+x\n", 5_000) + "@@ -1 +1,2 @@\n same\n+x\n"},
		{"many lines before the first one", map[string]string{"f.txt": same}, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1,80001 @@\n" + strings.Repeat("+new\n", 80_000) + " same\n"},
	}
}

// lostBlanks is a diff with n added lines and 32 empty ones, of which one is an added one too.
func lostBlanks(n int) string {
	return fmt.Sprintf("--- a/f.txt\n+++ b/f.txt\n@@ -1,31 +1,%d @@\n", n+32) + strings.Repeat("+\n\n", 32) + strings.Repeat("+\n", n-32)
}

func noNumbers(diff string) string {
	var out []string
	for l := range strings.Lines(diff) {
		if strings.HasPrefix(l, "@@ ") {
			l = "@@ ... @@\n"
		}
		out = append(out, l)
	}
	return strings.Join(out, "")
}

// TestTrapsStayInMemory bounds the memory that a diff can make the planner hold.
func TestTrapsStayInMemory(t *testing.T) {
	need.Suite(t, need.CI)
	for _, l := range traps() {
		t.Run(l.name, func(t *testing.T) {
			tree := l.tree()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			c, err := patch.Plan(tree, []byte(l.diff), patch.Limits{})
			runtime.ReadMemStats(&after)
			t.Logf("%d MB allocated, %v", (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if err == nil && bytes.Equal(c.Files[0].After.Content, c.Files[0].Before.Content) {
				t.Error("applied without a change")
			}
			if after.TotalAlloc-before.TotalAlloc > 256<<20 {
				t.Errorf("%d MB allocated in all, more than 256 MB", (after.TotalAlloc-before.TotalAlloc)>>20)
			}
		})
	}
}
