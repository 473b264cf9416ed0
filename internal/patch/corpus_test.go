package patch_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// corpusCase is one case of the patch corpus: a tree, a raw answer, and the expected result.
type corpusCase struct {
	ID, Group, Kind, Layer string
	Files, Modes, Symlinks map[string]string
	Outside                map[string]string
	FinishReason           string `json:"finish_reason"`
	DiffText               string `json:"diff_text"`
	DiffTextGen            *struct {
		Prefix, Repeat, Suffix string
		Count                  int
	} `json:"diff_text_gen"`
	Expect struct {
		Result     string
		FilesAfter map[string]string   `json:"files_after"`
		Alternates []map[string]string `json:"alternates"`
		ModesAfter map[string]string   `json:"modes_after"`
		MayRefuse  bool                `json:"may_refuse"`
		AnswerType string              `json:"answer_type"`
		Says       string              // what the refusal says, at least
	}
}

func (c *corpusCase) raw() []byte {
	if g := c.DiffTextGen; g != nil {
		return []byte(g.Prefix + strings.Repeat(g.Repeat, g.Count) + g.Suffix)
	}
	return []byte(c.DiffText)
}

func (c *corpusCase) tree() memory {
	m := memory{files: make(map[string]patch.File), entries: make(map[string]patch.EntryKind)}
	for name, text := range c.Files {
		m.files[name] = patch.File{Mode: modeOf(c.Modes[name]), Content: []byte(text)}
	}
	for name := range c.Symlinks {
		m.entries[name] = patch.Symlink
	}
	return m
}

func modeOf(s string) patch.Mode {
	if s == "100755" {
		return patch.Executable
	}
	return patch.Regular
}

// outcome judges a report the way the published baselines were judged.
type outcome string

const (
	right   outcome = "right"
	wrong   outcome = "wrong" // bytes nobody asked for, or success without a change
	missing outcome = "refused"
)

func (c *corpusCase) judge(t *testing.T) (outcome, patch.Report) {
	tree := c.tree()
	r := patch.CheckAnswer(tree, c.raw(), c.FinishReason, patch.Limits{})
	switch {
	case r.Result != patch.Applied && c.Expect.Result == "refused":
		return right, r
	case r.Result != patch.Applied:
		return missing, r
	case c.Expect.Result == "refused":
		if c.Layer == "policy" && len(r.Sensitive) > 0 {
			return right, r // a person is asked
		}
		return wrong, r
	}
	plan, err := patch.Plan(tree, []byte(r.Diff), patch.Limits{})
	if err != nil {
		t.Errorf("%s: the canonical diff is refused: %v", c.ID, err)
		return wrong, r
	}
	after := tree.after(plan)
	for _, want := range append([]map[string]string{c.Expect.FilesAfter}, c.Expect.Alternates...) {
		if c.equal(after, want) {
			return right, r
		}
	}
	return wrong, r
}

func (c *corpusCase) equal(after map[string]patch.File, want map[string]string) bool {
	if len(after) != len(want) {
		return false
	}
	for name, text := range want {
		f, ok := after[name]
		if !ok || string(f.Content) != text || c.Expect.ModesAfter != nil && f.Mode != modeOf(c.Expect.ModesAfter[name]) {
			return false
		}
	}
	return true
}

// corpus reads the cases, or skips the test when this checkout has none.
func corpus(t testing.TB, name string) []corpusCase {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the patch corpus is not beside this checkout: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var c corpusCase
		switch err := d.Decode(&c); err {
		case nil:
			cases = append(cases, c)
		case io.EOF:
			return cases
		default:
			t.Fatal(err)
		}
	}
}

// family groups kinds of the corpus as the published table does, with the share of
// right outcomes of other programs in percent, over three times as many cases.
type family struct {
	name                                      string
	kinds                                     string // of the mutations; a prefix each
	git, recount, swe, fuzz3, gitdiff, jsdiff int
	codex, aider, proto                       int
}

var families = []family{
	{"clean diffs", "clean noeol_marker_kept", 100, 97, 100, 100, 100, 99, 74, 59, 100},
	{"wrong or missing counts", "counts_", 1, 82, 2, 2, 1, 0, 82, 73, 100},
	{"wrong line numbers", "lines_shift lines_bogus", 59, 59, 99, 99, 4, 99, 84, 83, 100},
	{"no line numbers", "lines_none lines_placeholder", 0, 0, 0, 0, 3, 3, 85, 73, 100},
	{"context lost its space", "ctx_space blank_ctx", 31, 31, 44, 44, 31, 32, 28, 59, 100},
	{"whitespace drift", "trailing_ws tabs_to_spaces_ctx", 0, 0, 60, 60, 0, 12, 1, 32, 100},
	{"line ends, lost EOF marker", "crlf lf_file noeol_marker_lost", 10, 11, 57, 57, 11, 99, 77, 19, 100},
	{"missing or odd headers", "no_git no_index no_new no_prefix fake_index timestamps format_patch", 48, 28, 58, 55, 71, 100, 85, 73, 100},
	{"fences, prose, markers", "fence marker trailing_prose", 92, 92, 92, 92, 92, 81, 59, 61, 100},
	{"order, blanks, look-alikes", "hunks_reordered blank_between diffish dup_file no_final", 87, 74, 87, 61, 67, 53, 51, 68, 100},
	{"typical mix", "combo", 28, 95, 32, 32, 18, 28, 83, 77, 100},
	{"older file", "drift", 86, 86, 100, 100, 33, 100, 76, 90, 86},
	{"truncated", "trunc", 67, 45, 34, 34, 67, 63, 17, 17, 100},
	{"ambiguous place", "ambiguous", 98, 98, 62, 62, 100, 62, 0, 19, 100},
	{"deleted line differs, applied", "del_line already noop", 85, 85, 11, 11, 84, 84, 80, 30, 100},
	{"atomicity, wrong path, exists", "atomic wrong_path new_file", 100, 100, 13, 26, 100, 100, 79, 16, 100},
	{"soft: may refuse, never wrong", "", 15, 9, 50, 50, 20, 41, 14, 43, 53},
}

func (c *corpusCase) family() string {
	switch {
	case c.Group != "mutation" && c.Group != "clean" && c.Group != "atomic":
		return c.Group
	case c.Expect.MayRefuse:
		return "soft: may refuse, never wrong"
	case c.Kind == "drift" && c.Expect.Result == "refused":
		return "deleted line differs, applied"
	}
	for _, f := range families {
		for _, k := range strings.Fields(f.kinds) {
			if strings.HasPrefix(c.Kind, k) {
				return f.name
			}
		}
	}
	return c.Kind
}

// TestCorpus runs the engine on material from outside of this project: real commits with the mistakes
// models make, the apply tests of other programs, hostile patches. No result may be wrong, and
// a patch that has one meaning has to be applied.
func TestCorpus(t *testing.T) {
	kinds, groups := make(map[string]map[outcome]int), make(map[string]map[outcome]int)
	for _, c := range corpus(t, filepath.Join("..", "..", "..", "shared", "corpus", "patch", "cases_dev.jsonl")) {
		got, r := c.judge(t)
		key := fmt.Sprintf("%s %s %s", c.Group, c.Kind, cmp.Or(map[bool]string{true: "soft"}[c.Expect.MayRefuse], c.Expect.Result))
		tally(kinds, key, got)
		tally(groups, c.family(), got)
		if got == wrong || got == missing && !c.Expect.MayRefuse {
			t.Errorf("%s %s: %+v", c.ID, got, r.Error)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%-48s %s", key, score(kinds[key]))
	}
	t.Log("family                           here                                  git +recount SWE-b patch-F3 go-gitdiff jsdiff codex aider prototype (right %, whole corpus)")
	for _, f := range families {
		t.Logf("%-32s %s %3d %8d %5d %8d %10d %6d %5d %5d %9d", f.name, score(groups[f.name]), f.git, f.recount, f.swe, f.fuzz3, f.gitdiff, f.jsdiff, f.codex, f.aider, f.proto)
		delete(groups, f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		t.Logf("%-32s %s", name, score(groups[name]))
	}
}

func tally(counts map[string]map[outcome]int, key string, o outcome) {
	if counts[key] == nil {
		counts[key] = make(map[outcome]int)
	}
	counts[key][o]++
}

func score(n map[outcome]int) string {
	all := n[right] + n[wrong] + n[missing]
	return fmt.Sprintf("n %3d right %3d (%3d%%) wrong %d", all, n[right], 100*n[right]/max(1, all), n[wrong])
}

// TestSyntheticCorpus is the part of the corpus that this repository holds itself: made cases, and answers in the
// dialects that models and diff programs are reported to use.
func TestSyntheticCorpus(t *testing.T) {
	for _, name := range []string{"cases_synthetic.jsonl", "cases_dialects.jsonl"} {
		for _, c := range corpus(t, filepath.Join("testdata", name)) {
			t.Run(c.ID, func(t *testing.T) {
				got, r := c.judge(t)
				if got == wrong || got == missing && !c.Expect.MayRefuse {
					t.Errorf("%s: %+v, diff %q", got, r.Error, r.Diff)
				}
				if r.Error != nil && !strings.Contains(r.Error.Message, c.Expect.Says) {
					t.Errorf("refused with %q, want it to say %q", r.Error.Message, c.Expect.Says)
				}
			})
		}
	}
}

// TestCorpusOnDisk puts the cases with links, and those that reach outside, into a real
// directory: nothing but the tree changes, and that only when the patch is applied.
func TestCorpusOnDisk(t *testing.T) {
	for _, c := range corpus(t, filepath.Join("testdata", "cases_synthetic.jsonl")) {
		if len(c.Symlinks) == 0 && c.Outside == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			base := scratch(t)
			dir := filepath.Join(base, "tree")
			lay(t, dir, c.Files)
			lay(t, dir, map[string]string{".git/config": "[core]\n"})
			lay(t, dir, c.Outside)
			for name, mode := range c.Modes {
				if err := os.Chmod(filepath.Join(dir, name), fs.FileMode(modeOf(mode))); err != nil {
					t.Fatal(err)
				}
			}
			for name, target := range c.Symlinks {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			before := picture(t, base)
			r := patch.ApplyAnswer(open(t, dir), c.raw(), c.FinishReason, patch.Limits{})
			want := before
			switch {
			case r.Result == patch.Applied && len(r.Sensitive) > 0:
				return // in a run a person is asked
			case r.Result == patch.Applied:
				want = c.made(before)
			}
			samePicture(t, picture(t, base), want)
		})
	}
}

// made is the picture before with the files of the case as they shall be.
func (c *corpusCase) made(before map[string]string) map[string]string {
	want := maps.Clone(before)
	for name := range c.Files {
		if _, ok := c.Expect.FilesAfter[name]; !ok {
			delete(want, "tree/"+name)
		}
	}
	for name, text := range c.Expect.FilesAfter {
		mode := cmp.Or(c.Expect.ModesAfter[name], c.Modes[name])
		want["tree/"+name] = fmt.Sprintf("%v\n%s", fs.FileMode(modeOf(mode)), text)
		for dir := path.Dir("tree/" + name); dir != "."; dir = path.Dir(dir) {
			if _, ok := want[dir]; !ok {
				want[dir] = "drwxr-xr-x\n"
			}
		}
	}
	return want
}
