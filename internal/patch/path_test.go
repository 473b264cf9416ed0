package patch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/patch"
)

func addition(name string) string {
	return "--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
}

func TestNamesThatAreRefused(t *testing.T) {
	for _, name := range []string{
		"", "/etc/passwd", "../x", "a/../x", "a/..", "./x", "a//b", "a/", ".", "a/./b",
		".git/config", ".GIT/config", ".Git", "a/.git/hooks/x", "git~1/x", "GIT~12", ".git./x", ".git /x", ".git\u200c/x", "\u2060.git/x", "gi7eba~1", ".git::$INDEX_ALLOCATION",
		"a\\b", "C:/x", "C:x", "a:b",
		"a\u202eb", "a\u200bb", "a\u2800b", "\ufeffa", "a\u2028b", "a\u00adb",
		"x ", "x.", "a /b", "aux", "AUX.txt", "con", "nul.tar.gz", "com1", "LPT9.log", "CONIN$", "a/prn/b", "com¹",
		strings.Repeat("x", 256), strings.Repeat("xx/", 400) + "y", "\xff\xfe",
		".ratchet-patch/done", "a/.ratchet-x",
	} {
		t.Run(display.Line(name), func(t *testing.T) {
			_, err := patch.Plan(memory{}, []byte(addition(name)), patch.Limits{})
			if r, ok := errors.AsType[*patch.Refusal](err); !ok || r.Kind != patch.BadPath {
				t.Errorf("got %v, want a refusal of the path", err)
			}
		})
	}
	for _, quoted := range []string{`"b/a\000b"`, `"b/a\nb"`, `"b/a\tb"`, `"b/a\033[31mb"`, `"b/\303"`} {
		t.Run(quoted, func(t *testing.T) {
			_, err := patch.Plan(memory{}, []byte("--- /dev/null\n+++ "+quoted+"\n@@ -0,0 +1 @@\n+x\n"), patch.Limits{})
			if r, ok := errors.AsType[*patch.Refusal](err); !ok || r.Kind != patch.BadPath {
				t.Errorf("got %v, want a refusal of the path", err)
			}
		})
	}
}

func TestNamesThatAreTaken(t *testing.T) {
	for _, name := range []string{"x", ".gitkeep", ".gitignore", "a/.github2/x", "with space.txt", "ünï/cöde.txt", "日本.txt", "auxiliary.go", "console.js", "git~x", "a...b", `quo"te`, "it's", "-dash", "a+b=c&d"} {
		t.Run(name, func(t *testing.T) {
			c, err := patch.Plan(memory{}, []byte(addition(name)), patch.Limits{})
			if err != nil || c.Files[0].Path != name {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tree := memory{files: map[string]patch.File{
		"a.txt":      {Mode: patch.Regular, Content: []byte("one\ntwo\nthree\nfour\nfive\n")},
		"b.txt":      {Mode: patch.Regular, Content: []byte("same\nsame\nsame\nsame\nsame\nsame\n")},
		"dir/C.txt":  {Mode: patch.Regular, Content: []byte("c\n")},
		"binary.bin": {Mode: patch.Regular, Content: []byte("a\x00b\n")},
		"two/a.txt":  {Mode: patch.Regular, Content: []byte("a\n")}, "two/b.txt": {Mode: patch.Regular, Content: []byte("b\n")},
		"mixed/a.txt": {Mode: patch.Regular, Content: []byte("a\n")},
	}, entries: map[string]patch.EntryKind{"link": patch.Symlink, "sub": patch.Gitlink, "mixed/link": patch.Symlink}}
	for _, tt := range []struct {
		name, diff string
		kind       patch.RefusalKind
		says       string
	}{
		{"no diff", "hello\n", patch.NotADiff, "diff --git"},
		{"a hunk without a file", "@@ -1 +1 @@\n-a\n+b\n", patch.NotADiff, "before any file header"},
		{"a file without hunks", "--- a/a.txt\n+++ b/a.txt\n", patch.NotADiff, "no hunks"},
		{"nothing changes", "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n two\n", patch.NotADiff, "changes nothing"},
		{"a combined diff", "diff --cc a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n", patch.NotADiff, "combined"},
		{"two names and no rename", "--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+1\n", patch.NotADiff, "two files"},
		{"a binary patch", "diff --git a/x.bin b/x.bin\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\nliteral 4\nLc\n", patch.Policy, "binary"},
		{"a binary file", "--- a/binary.bin\n+++ b/binary.bin\n@@ -1 +1 @@\n-a\n+b\n", patch.Policy, "binary"},
		{"a NUL", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+\x00\n", patch.Policy, "NUL"},
		{"a symbolic link made", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a.txt\n", patch.Policy, "symbolic link"},
		{"a submodule made", "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n", patch.Policy, "submodule"},
		{"set-user-id", "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 104755\n", patch.Policy, "104755"},
		{"a link changed", "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a\n+b\n", patch.BadPath, "symbolic link"},
		{"a file below a link", "--- /dev/null\n+++ b/link/x\n@@ -0,0 +1 @@\n+b\n", patch.BadPath, "symbolic link"},
		{"a file in a submodule", "--- /dev/null\n+++ b/sub/x\n@@ -0,0 +1 @@\n+b\n", patch.BadPath, "submodule"},
		{"a file below a file", "--- /dev/null\n+++ b/a.txt/x\n@@ -0,0 +1 @@\n+b\n", patch.BadPath, "not a directory"},
		{"no such file", "--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-a\n+b\n", patch.NoSuchFile, "no such file"},
		{"a name in another letter case", "--- a/dir/c.txt\n+++ b/dir/c.txt\n@@ -1 +1 @@\n-c\n+d\n", patch.NoSuchFile, "dir/C.txt"},
		{"a new file that is there", "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", patch.Exists, "already exists"},
		{"a new file that is there in another letter case", "--- /dev/null\n+++ b/DIR/x.txt\n@@ -0,0 +1 @@\n+x\n", patch.BadPath, "collides"},
		{"two new files that are one", addition("n.txt") + addition("N.txt"), patch.BadPath, "collides"},
		{"a new file and a directory of its name", addition("n") + addition("n/x"), patch.BadPath, "collides"},
		{"a file for a directory that keeps one", "--- a/two/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" + addition("two"), patch.Exists, "directory"},
		{"a file for a directory that keeps a link", "--- a/mixed/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" + addition("mixed"), patch.Exists, "directory"},
		{"a directory for a file that stays", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n" + addition("a.txt/x"), patch.BadPath, "not a directory"},
		{"a rename onto a file", "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n", patch.Exists, "already exists"},
		{"renamed and changed", "diff --git a/a.txt b/n.txt\nrename from a.txt\nrename to n.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", patch.NotADiff, "different files"},
		{"context not found", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n zwei\n-three\n+3\n", patch.ContextNotFound, ">    2  two"},
		{"deleted line differs", "--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n two\n-drei\n+3\n four\n", patch.DeletedLineDiffers, ">    3  three"},
		{"ambiguous", "--- a/b.txt\n+++ b/b.txt\n@@ ... @@\n same\n-same\n+other\n", patch.Ambiguous, "1, 2, 3, 4, 5"},
		{"an addition to nowhere", "--- a/a.txt\n+++ b/a.txt\n@@ ... @@\n+x\n", patch.Ambiguous, "shows no line"},
		{"already applied", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-zwei\n+two\n three\n", patch.AlreadyApplied, "already"},
		{"already inserted", "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n", patch.AlreadyApplied, "already"},
		{"hunks that overlap", "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -2,2 +2,2 @@\n-two\n+zwei\n three\n", patch.Overlap, "same lines as hunk 1"},
		{"a file deleted in part", "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", patch.DeletedLineDiffers, "every line"},
		{"a new file with deleted lines", "--- /dev/null\n+++ b/n.txt\n@@ -1 +1 @@\n-a\n+b\n", patch.NotADiff, "-a"},
		{"too many files", addition("n1") + addition("n2") + addition("n3") + addition("n4"), patch.TooBig, "more than 3 files"},
		{"too many hunks", "--- a/a.txt\n+++ b/a.txt\n" + strings.Repeat("@@ -1 +1 @@\n-one\n+1\n", 9), patch.TooBig, "hunks"},
		{"too many bytes", strings.Repeat("x", 3000), patch.TooBig, "bytes"},
		{"too long a line", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+" + strings.Repeat("x", 500) + "\n", patch.TooBig, "line 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := patch.Plan(tree, []byte(tt.diff), patch.Limits{Files: 3, Hunks: 8, Bytes: 2000, Line: 400})
			r, ok := errors.AsType[*patch.Refusal](err)
			if !ok || r.Kind != tt.kind || !strings.Contains(r.Error(), tt.says) {
				t.Errorf("got %v, %v; want %s that says %q", c, err, tt.kind, tt.says)
			}
		})
	}
}

// Findings, section 6: a broken quote is no part of a name.
func TestQuotesThatAreBroken(t *testing.T) {
	const hunk = "@@ -0,0 +1 @@\n+x\n"
	for _, diff := range []string{
		"--- /dev/null\n+++ \"b/unterminated\n" + hunk,
		"--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n",
		"--- /dev/null\n+++ \"b/x\"y\n" + hunk,
		"--- /dev/null\n+++ \"b/bad\\qescape\"\n" + hunk,
		"diff --git \"a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n" + hunk,
		"diff --git \"a/x\" \"b/x\nnew file mode 100644\n" + hunk,
		"diff --git a/x \"b/x\nnew file mode 100644\n" + hunk,
		"diff --git a/x b/y\nrename from x\nrename to \"y\n",
		"diff --git a/x b/y\ncopy from \"x\"z\ncopy to y\n",
	} {
		t.Run(diff, func(t *testing.T) {
			_, err := patch.Plan(memory{files: map[string]patch.File{"x": {Mode: patch.Regular, Content: []byte("x\n")}}}, []byte(diff), patch.Limits{})
			if r, ok := errors.AsType[*patch.Refusal](err); !ok || r.Kind != patch.NotADiff || !strings.Contains(r.Message, "quote") {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, quoted := range []string{`"b/x y"`, `"b/x y"	2026-01-01 00:00:00`, `"b/\"x"`, `b/"x"`} {
		if _, err := patch.Plan(memory{}, []byte("--- /dev/null\n+++ "+quoted+"\n"+hunk), patch.Limits{}); err != nil {
			t.Errorf("%s: %v", quoted, err)
		}
	}
}

func TestTreeThatFailsIsNoRefusal(t *testing.T) {
	broken := errors.New("no answer")
	_, err := patch.Plan(failing{broken}, []byte(addition("x")), patch.Limits{})
	if _, ok := errors.AsType[*patch.Refusal](err); ok || !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the tree", err)
	}
}

type failing struct{ err error }

func (f failing) Lookup(string) (patch.File, error) { return patch.File{}, f.err }
func (f failing) Names(string) ([]string, error)    { return nil, f.err }
