package patch_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// open gives the root of a directory for a test.
func open(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// lay writes files below dir; a name that ends in * is executable.
func lay(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name, executable := strings.CutSuffix(name, "*")
		mode := fs.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// picture is everything below dir: type, mode and content by path.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(raw)
		case info.Mode()&fs.ModeSymlink != 0:
			if text, err = os.Readlink(p); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, p)
		all[filepath.ToSlash(rel)] = fmt.Sprintf("%v\n%s", info.Mode(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const everyKind = `diff --git a/gone/old.txt b/gone/old.txt
deleted file mode 100644
--- a/gone/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git a/mod.txt b/mod.txt
--- a/mod.txt
+++ b/mod.txt
@@ -1,3 +1,3 @@
 a
-b
+B
 c
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/from.txt b/deep/er/to.txt
rename from from.txt
rename to deep/er/to.txt
diff --git a/mod.txt b/copy.txt
copy from mod.txt
copy to copy.txt
diff --git a/tool/main.go b/tool/main.go
new file mode 100755
--- /dev/null
+++ b/tool/main.go
@@ -0,0 +1 @@
+main
diff --git a/tool b/tool/deep/old.go
rename from tool
rename to tool/deep/old.go
diff --git a/pkg/a.txt b/pkg/a.txt
deleted file mode 100644
--- a/pkg/a.txt
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/pkg/sub/b.txt b/pkg
rename from pkg/sub/b.txt
rename to pkg
diff --git "a/caf\303\251 d.txt" "b/caf\303\251 d.txt"
new file mode 100755
--- /dev/null
+++ "b/caf\303\251 d.txt"
@@ -0,0 +1 @@
+new
\ No newline at end of file
`

func everyKindBefore() map[string]string {
	return map[string]string{"gone/old.txt": "old\n", "mod.txt": "a\nb\nc\n", "run.sh": "true\n", "from.txt": "from\n", "other.txt": "other\n",
		"tool": "tool\n", "pkg/a.txt": "a\n", "pkg/sub/b.txt": "b\n"}
}

func plan(t testing.TB, tree patch.Tree, diff string) *patch.Change {
	t.Helper()
	c, err := patch.Plan(tree, []byte(diff), patch.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWriteEveryKindOfChange(t *testing.T) {
	dir, want := t.TempDir(), t.TempDir()
	lay(t, dir, everyKindBefore())
	lay(t, want, map[string]string{"mod.txt": "a\nB\nc\n", "run.sh*": "true\n", "deep/er/to.txt": "from\n", "copy.txt": "a\nb\nc\n", "café d.txt*": "new", "other.txt": "other\n",
		"tool/main.go*": "main\n", "tool/deep/old.go": "tool\n", "pkg": "b\n"})
	root := open(t, dir)
	if err := patch.WriteChange(root, plan(t, patch.DirTree(root), everyKind)); err != nil {
		t.Fatal(err)
	}
	samePicture(t, picture(t, dir), picture(t, want))
}

func samePicture(t testing.TB, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: got %q, want %q", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there and should not be", name)
		}
	}
}

func TestWriteTwiceIsMoved(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, everyKindBefore())
	root := open(t, dir)
	c := plan(t, patch.DirTree(root), everyKind)
	if err := patch.WriteChange(root, c); err != nil {
		t.Fatal(err)
	}
	after := picture(t, dir)
	if err := patch.WriteChange(root, c); !errors.Is(err, patch.ErrMoved) {
		t.Errorf("the second write gave %v, want ErrMoved", err)
	}
	samePicture(t, picture(t, dir), after)
}

// A file that another program has changed since the plan, or that came since, stops the write before anything is
// written.
func TestWriteChecksFirst(t *testing.T) {
	for name, text := range map[string]string{"run.sh": "false\n", "gone/old.txt": "new\n", "from.txt": "", "copy.txt": "mine\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, everyKindBefore())
			root := open(t, dir)
			c := plan(t, patch.DirTree(root), everyKind)
			lay(t, dir, map[string]string{name: text})
			before := picture(t, dir)
			if err := patch.WriteChange(root, c); !errors.Is(err, patch.ErrMoved) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want ErrMoved of %s", err, name)
			}
			samePicture(t, picture(t, dir), before)
		})
	}
}

func TestWriteKeepsPermissionsAndHardLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	lay(t, outside, map[string]string{"precious.txt": "a\nb\nc\n"})
	if err := os.Link(filepath.Join(outside, "precious.txt"), filepath.Join(dir, "mod.txt")); err != nil {
		t.Skipf("no hard links between temporary directories: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, "mod.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	kept := picture(t, outside)
	root := open(t, dir)
	r := patch.ApplyAnswer(root, []byte("--- a/mod.txt\n+++ b/mod.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"), "stop", patch.Limits{})
	if r.Result != patch.Applied {
		t.Fatalf("%+v", r.Error)
	}
	samePicture(t, picture(t, outside), kept)
	if got := picture(t, dir)["mod.txt"]; got != "-rw-r-----\na\nB\nc\n" {
		t.Errorf("got %q", got)
	}
	mode := plan(t, patch.DirTree(root), "diff --git a/mod.txt b/mod.txt\nold mode 100644\nnew mode 100755\n")
	if err := patch.WriteChange(root, mode); err != nil || picture(t, dir)["mod.txt"] != "-rwxr-x---\na\nB\nc\n" {
		t.Errorf("executable: got %q, %v", picture(t, dir)["mod.txt"], err)
	}
}

func TestApplyRefusesWhatIsNoRegularFile(t *testing.T) {
	outside := t.TempDir()
	lay(t, outside, map[string]string{"keep.txt": "a\nb\nc\n"})
	for _, tt := range []struct {
		name string
		make func(dir string) error
		path string
	}{
		{"a FIFO", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "x"), 0o644) }, "x"},
		{"a symbolic link to a file outside", func(dir string) error {
			return os.Symlink(filepath.Join(outside, "keep.txt"), filepath.Join(dir, "x"))
		}, "x"},
		{"a symbolic link to a directory outside", func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "x")) }, "x/keep.txt"},
		{"a symbolic link to a directory inside", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o755), os.WriteFile(filepath.Join(dir, "real", "keep.txt"), []byte("a\nb\nc\n"), 0o644), os.Symlink("real", filepath.Join(dir, "x")))
		}, "x/keep.txt"},
		{"a directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "x"), 0o755) }, "x"},
		{"a repository inside", func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "x", ".git"), 0o755), os.WriteFile(filepath.Join(dir, "x", "keep.txt"), []byte("a\nb\nc\n"), 0o644))
		}, "x/keep.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			before, kept := picture(t, dir), picture(t, outside)
			for _, diff := range []string{
				"--- a/%[1]s\n+++ b/%[1]s\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
				"--- a/%[1]s\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n",
				"--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+a\n",
				"--- /dev/null\n+++ b/%[1]s/new.txt\n@@ -0,0 +1 @@\n+a\n",
			} {
				if tt.name == "a directory" && strings.Contains(diff, "new.txt") {
					continue
				}
				r := patch.ApplyAnswer(open(t, dir), fmt.Appendf(nil, diff, tt.path), "stop", patch.Limits{})
				if r.Result != patch.Refused || r.Error.Path == "" {
					t.Errorf("got %s %+v for\n%s", r.Result, r.Error, fmt.Sprintf(diff, tt.path))
				}
			}
			samePicture(t, picture(t, dir), before)
			samePicture(t, picture(t, outside), kept)
		})
	}
}
