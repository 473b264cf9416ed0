package patch_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// maker makes answers in which every line holds a word of its own.
type maker struct {
	*rapid.T
	words int
	tree  memory
}

func (m *maker) word() string {
	m.words++
	return fmt.Sprintf("w%dw", m.words)
}

func (m *maker) pick(name string, of ...string) string {
	return rapid.SampledFrom(of).Draw(m.T, name)
}

func (m *maker) some(name string, most int) int { return rapid.IntRange(0, most).Draw(m.T, name) }

// prose returns lines that are no part of a diff.
func (m *maker) prose(name string) string {
	var b strings.Builder
	for range m.some(name, 2) {
		switch m.pick(name, "sentence", "list", "fence", "heading") {
		case "sentence":
			fmt.Fprintf(&b, "This is %s.\n", m.word())
		case "list":
			fmt.Fprintf(&b, "* item %s\n", m.word())
		case "heading":
			fmt.Fprintf(&b, "## Heading %s\n", m.word())
		default:
			fmt.Fprintf(&b, "```go\nfunc %s() {}\n```\n", m.word())
		}
	}
	return b.String()
}

// odd returns lines between the sections of a diff, some of which tell of other changes.
func (m *maker) odd(name string) string {
	if m.some(name, 2) > 0 {
		return ""
	}
	w := m.word()
	return m.pick(name, "Note on "+w+"\n", "Note on "+w+"\nand on "+m.word()+"\n", "Only in b: "+w+"\n", "Submodule "+w+" 1a2b3c4..5d6e7f8:\n", "*** Add File: "+w+"\n", "Binary files a/"+w+" and b/"+w+" differ\n",
		"Dateien a/"+w+" und b/"+w+" sind verschieden.\n", "diff -ru a/"+w+" b/"+w+"\n", "-- \n2.4 "+w+"\n", "index "+w+"\n")
}

// section returns the change of one file, and adds the file to the tree.
func (m *maker) section(i int) string {
	name := fmt.Sprintf("f%d.txt", i)
	old, new := m.pick("prefixes", "a/ b/", "i/ w/", "./ ./", " "), ""
	old, new, _ = strings.Cut(old, " ")
	kind := m.pick("kind", "edit", "edit", "make", "delete")
	before := []string{m.word(), m.word(), m.word(), m.word()}
	if kind != "make" {
		m.tree.files[name] = patch.File{Mode: patch.Regular, Content: []byte(strings.Join(before, "\n") + "\n")}
	}
	var b strings.Builder
	if m.some("git", 1) > 0 {
		fmt.Fprintf(&b, "diff --git %s%s %s%s\n", old, name, new, name)
	}
	switch kind {
	case "make":
		fmt.Fprintf(&b, "--- /dev/null\n+++ %s%s\n@@ -0,0 +1,2 @@\n+%s\n+%s\n", new, name, m.word(), m.word())
	case "delete":
		fmt.Fprintf(&b, "--- %s%s\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-%s\n", old, name, strings.Join(before, "\n-"))
	default:
		fmt.Fprintf(&b, "--- %s%s\n+++ %s%s\n@@ -1,4 +1,4 @@%s\n %s\n-%s\n+%s\n %s\n %s\n", old, name, new, name, m.pick("heading", "", " "+before[0]), before[0], before[1], m.word(), before[2], before[3])
	}
	return b.String()
}

// answer returns an answer of the grammar. The lines of thoughts hold no word that counts.
func (m *maker) answer() string {
	m.tree = memory{files: map[string]patch.File{}, entries: map[string]patch.EntryKind{}}
	diff := m.odd("front")
	for i := range 1 + m.some("sections", 2) {
		diff += m.section(i) + m.odd("behind")
	}
	thoughts := m.pick("thoughts", "", "", "<think>\nIs it `f0.txt`?\n```diff\n--- a/f0.txt\n+++ b/f0.txt\n@@ -1 +1 @@\n-x\n+y\n```\nNo.\n</think>\n")
	before, after := m.prose("before"), m.prose("after")
	switch m.pick("form", "markers", "fence", "list", "bare") {
	case "markers":
		extra := m.pick("fields", "", "reason: "+m.word()+"\n", "needed_input:\n- "+m.word()+"\n", "needed_input:\n"+m.word()+"\n")
		return thoughts + before + "<<<AIO_RESULT_START>>>\n" + m.pick("junk", "", m.word()+"\n") + "type: PATCH\nsummary: " + m.word() + "\n" + extra + "<<<AIO_RESULT_END>>>\n" + m.prose("between") + "[PATCH_BEGIN]\n" + diff + "[PATCH_END]\n" + after
	case "fence":
		return thoughts + before + "```diff\n" + diff + "```\n" + after
	case "list":
		return thoughts + before + "1. Do this:\n\n   ```diff\n   " + strings.ReplaceAll(strings.TrimSuffix(diff, "\n"), "\n", "\n   ") + "\n   ```\n" + after
	}
	return thoughts + before + diff
}

var word = regexp.MustCompile(`w\d+w`)

// lost returns the words of an answer that are neither in what it makes of the tree, nor in a text that is shown, nor in a
// refusal, which refuses all of it.
func lost(tree memory, raw []byte, r patch.Report) []string {
	if r.Result == patch.Refused {
		return nil
	}
	var shown bytes.Buffer
	fmt.Fprintln(&shown, r.Diff, r.Summary, r.Prose, r.Question, r.Reason, r.NeededInput, r.Repairs)
	for _, f := range tree.files {
		shown.Write(f.Content) // the lines that the diff shows of a file are the file's
	}
	var missing []string
	for _, w := range word.FindAllString(string(raw), -1) {
		if !bytes.Contains(shown.Bytes(), []byte(w)) && !slices.Contains(missing, w) {
			missing = append(missing, w)
		}
	}
	return missing
}

// TestNothingIsPassedOverInSilence makes answers by a grammar: no line of one disappears.
func TestNothingIsPassedOverInSilence(t *testing.T) {
	need.Checks(t, 1000, 1000)
	applied := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{T: t}
		raw := []byte(m.answer())
		r := patch.CheckAnswer(m.tree, raw, "stop", patch.Limits{})
		if r.Result == patch.Applied {
			applied++
		}
		if missing := lost(m.tree, raw, r); len(missing) > 0 {
			t.Fatalf("%q disappeared from\n%s\nwhich made %+v", missing, raw, r)
		}
	})
	if applied == 0 {
		t.Error("no answer was applied")
	}
}

// TestTheSearchForLostLinesFindsThem is the control: a parser that drops a line is caught. Each line of an answer is
// dropped in turn, and the report of the rest is judged by the whole.
func TestTheSearchForLostLinesFindsThem(t *testing.T) {
	caught, dropped := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{T: t}
		lines := strings.SplitAfter(m.answer(), "\n")
		for i, line := range lines {
			if !word.MatchString(line) {
				continue
			}
			rest := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			r := patch.CheckAnswer(m.tree, []byte(rest), "stop", patch.Limits{})
			shownOnce := strings.Count(strings.Join(lines, ""), word.FindString(line)) == 1 && len(lost(m.tree, []byte(line), patch.Report{Result: patch.Applied})) > 0
			if r.Result != patch.Applied || !shownOnce {
				continue // refused, or a line that the file has
			}
			dropped++
			if len(lost(m.tree, []byte(strings.Join(lines, "")), r)) > 0 {
				caught++
			}
		}
	})
	if dropped == 0 || caught != dropped {
		t.Errorf("%d of %d dropped lines were caught", caught, dropped)
	}
}
