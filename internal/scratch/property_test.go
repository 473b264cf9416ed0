package scratch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// words are lines with the traits that diffs stumble on.
var words = []string{"", "", "}", "\treturn nil", "a", "b", "c", "--- a/main.go", "+++ b/main.go", "@@ -1 +1 @@", "diff --git a/main.go b/main.go", "-- ",
	"\\ No newline at end of file", "[PATCH_END]", "```", "ünï", "\xff\xfe", "trailing  ", "\r", "\ufefffirst", " lead"}

func text(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.SampledFrom(words), 0, 20).Draw(t, "lines")
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end")
	s := strings.Join(lines, end)
	if len(lines) > 0 && rapid.IntRange(0, 4).Draw(t, "ended") > 0 {
		s += end
	}
	return s
}

// random is a tree that a property edits: on the disk, and as it should be.
type random struct {
	dir        string // above the checkout's files
	base, want files
}

// reset makes the files those of the commit again, each a new one.
func (m *random) reset(t *rapid.T) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			_ = os.RemoveAll(filepath.Join(m.dir, e.Name()))
		}
	}
	m.want = files{}
	for name, content := range m.base {
		m.put(t, name, content)
	}
}

func (m *random) put(t *rapid.T, name, content string) {
	full := filepath.Join(m.dir, strings.TrimSuffix(name, "*"))
	mode := os.FileMode(0o644)
	if strings.HasSuffix(name, "*") {
		mode = 0o755
	}
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if err == nil {
		err = os.WriteFile(full, []byte(content), mode)
	}
	if err == nil {
		err = os.Chmod(full, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.want[name] = content
}

func (m *random) remove(t *rapid.T, name string) {
	if err := os.Remove(filepath.Join(m.dir, strings.TrimSuffix(name, "*"))); err != nil {
		t.Fatal(err)
	}
	delete(m.want, name)
}

// free says whether a file can be made at name: no file or directory of the
// commit or the tree is there, nor a file above it.
func (m *random) free(name string) bool {
	for _, tree := range []files{m.base, m.want} {
		for other := range tree {
			other = strings.TrimSuffix(other, "*")
			if strings.HasPrefix(other+"/", name+"/") || strings.HasPrefix(name, other+"/") {
				return false
			}
		}
	}
	return true
}

// edit does one thing that an agent might.
func (m *random) edit(t *rapid.T) {
	names := make([]string, 0, len(m.want))
	for name := range m.want {
		if name != ".gitignore" { // so that what is ignored stays ignored
			names = append(names, name)
		}
	}
	fresh := rapid.SampledFrom([]string{"new.txt", "lib/a/new", "lib/c/d/e", "x y.txt", "ü/ñ", "-n", "lib/b/deep/y", "dir/one", "dir/two", `q"u'o.txt`}).Draw(t, "fresh")
	if len(names) == 0 {
		m.put(t, "last", text(t))
		return
	}
	name := rapid.SampledFrom(sorted(names)).Draw(t, "name")
	content := m.want[name]
	switch rapid.SampledFrom([]string{"rewrite", "edit", "remove", "make", "rename", "mode", "ignored"}).Draw(t, "what") {
	case "rewrite":
		m.put(t, name, text(t))
	case "edit":
		lines := strings.SplitAfter(content, "\n")
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		m.put(t, name, strings.Join(lines[:at], "")+rapid.SampledFrom(words).Draw(t, "word")+"\n"+strings.Join(lines[at:], ""))
	case "remove":
		m.remove(t, name)
	case "make":
		if m.free(fresh) {
			m.put(t, fresh+rapid.SampledFrom([]string{"", "*"}).Draw(t, "mode"), text(t))
		}
	case "rename":
		if m.free(fresh) {
			m.remove(t, name)
			m.put(t, fresh, content)
		}
	case "mode":
		m.remove(t, name)
		if bare, ok := strings.CutSuffix(name, "*"); ok {
			m.put(t, bare, content)
		} else {
			m.put(t, name+"*", content)
		}
	case "ignored":
		m.put(t, "cache/"+fresh, "x")
		delete(m.want, "cache/"+fresh)
	}
}

// Whatever is done to regular files, the run makes the same files of the changes.
func TestChangesOfAnyEditsMakeThemAgain(t *testing.T) {
	need.Checks(t, 15, 100)
	base := files{
		".gitignore": "cache/\n", "main.go": "package main\n\nfunc main() {\n}\n", "run.sh*": "#!/bin/sh\n", "lib/a/one.txt": "one", "lib/a/two.txt": "a\r\nb\r\n",
		"lib/b/deep/x.txt": strings.Repeat("x\n}\n\n", 20), "empty": "", "x.md": "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n",
	}
	for _, prefix := range []string{"", "below/it"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			content := files{"outside": "x\n"}
			for name, text := range base {
				content[filepath.Join(prefix, name)] = text
			}
			if prefix == "" {
				delete(content, "outside")
			}
			r := userRepo(t, content)
			spec := beside(r)
			spec.Prefix = prefix
			s := makeAt(t, spec)
			w, on := runTree(t, spec, head(t, r))
			stored := regular(t, w, head(t, r))
			m := &random{dir: s.WorkDir(), base: base}
			rapid.Check(t, func(rt *rapid.T) {
				m.reset(rt)
				for range rapid.IntRange(0, 6).Draw(rt, "edits") {
					m.edit(rt)
				}
				diff, err := s.Changes(t.Context(), patch.Limits{})
				if err != nil {
					rt.Fatal(err)
				}
				same(rt, planned(rt, on, stored, diff), m.want)
			})
		})
	}
}
