package patch_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// swapNames are names of which some are directories of others.
var swapNames = []string{"a", "a/x", "a/y", "a/x/z", "b", "b/x", "b/x/y/z", "c", "d/e", "d/e/f", "d/g", "a-b"}

// drawTree draws files of which none lies below another.
func drawTree(t *rapid.T, label string) map[string]string {
	files := make(map[string]string)
	for _, name := range rapid.Permutation(swapNames).Draw(t, label) {
		clash := false
		for other := range files {
			clash = clash || strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")
		}
		if !clash && rapid.IntRange(0, 2).Draw(t, name) > 0 {
			files[name] = fmt.Sprintf("%s of %s\n", name, label)
		}
	}
	return files
}

// section is a diff that makes, deletes or moves one file.
func section(from, to, before, after string) string {
	switch {
	case from == "":
		return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100644\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+%[2]s", to, after)
	case to == "":
		return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\ndeleted file mode 100644\n--- a/%[1]s\n+++ /dev/null\n@@ -1 +0,0 @@\n-%[2]s", from, before)
	case from == to:
		return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1 +1 @@\n-%[2]s+%[3]s", from, before, after)
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[2]s\nsimilarity index 100%%\nrename from %[1]s\nrename to %[2]s\n", from, to)
}

// drawDiff draws a diff from before to after, its sections in any order. A rename
// keeps its bytes, so it changes after.
func drawDiff(t *rapid.T, before, after map[string]string) string {
	var gone, made, sections []string
	for name, text := range before {
		if _, stays := after[name]; stays {
			sections = append(sections, section(name, name, text, after[name]))
		} else {
			gone = append(gone, name)
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			made = append(made, name)
		}
	}
	slices.Sort(sections)
	slices.Sort(gone)
	slices.Sort(made)
	for len(gone) > 0 && len(made) > 0 && rapid.Bool().Draw(t, "rename") {
		from := rapid.SampledFrom(gone).Draw(t, "from")
		to := rapid.SampledFrom(made).Draw(t, "to")
		gone, made = without(gone, from), without(made, to)
		after[to] = before[from]
		sections = append(sections, section(from, to, "", ""))
	}
	for _, name := range gone {
		sections = append(sections, section(name, "", before[name], ""))
	}
	for _, name := range made {
		sections = append(sections, section("", name, "", after[name]))
	}
	if len(sections) == 0 {
		return ""
	}
	return strings.Join(rapid.Permutation(sections).Draw(t, "order"), "")
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
}

// Finding H6: a file that becomes a directory, and back, in any order of the
// sections, is taken as git apply takes it, and written whole.
func TestFilesAndDirectoriesSwapAsGitSwapsThem(t *testing.T) {
	git := need.Program(t, "git")
	swaps := 0
	rapid.Check(t, func(r *rapid.T) {
		before, after := drawTree(r, "before"), drawTree(r, "after")
		diff := drawDiff(r, before, after)
		if diff == "" {
			return
		}
		for name := range before {
			for other := range after {
				if strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
					swaps++
				}
			}
		}
		ours, theirs := scratch(t), scratch(t)
		defer os.RemoveAll(ours)
		defer os.RemoveAll(theirs)
		lay(t, ours, before)
		lay(t, theirs, before)
		for _, args := range [][]string{{"apply", "--check"}, {"apply"}} {
			cmd := exec.Command(git, args...)
			cmd.Dir, cmd.Stdin = theirs, strings.NewReader(diff)
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(theirs), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				r.Fatalf("git %v refuses the control: %v\n%s\n%s", args, err, out, diff)
			}
		}
		root := open(t, ours)
		defer root.Close()
		tree := patch.DirTree(root)
		c, err := patch.Plan(tree, []byte(diff), patch.Limits{})
		if err != nil {
			r.Fatalf("refused: %v\n%s", err, diff)
		}
		again, err := patch.Plan(tree, c.Diff(), patch.Limits{})
		if err != nil || !sameFiles(c.Files, again.Files) || !bytes.Equal(again.Diff(), c.Diff()) {
			r.Fatalf("the canonical diff makes another change: %v\n%s", err, c.Diff())
		}
		if err := patch.WriteChange(root, c); err != nil {
			r.Fatalf("write: %v\n%s", err, diff)
		}
		if got, want := picture(t, ours), picture(t, theirs); !maps.Equal(got, want) {
			r.Fatalf("got %q, git made %q\n%s", got, want, diff)
		}
		if err := patch.WriteChange(root, c); !errors.Is(err, patch.ErrMoved) && len(c.Files) > 0 {
			r.Fatalf("the second write gave %v, want ErrMoved\n%s", err, diff)
		}
	})
	if swaps == 0 {
		t.Error("no file became a directory, and no directory a file")
	}
}

// TestADirectoryThatIsNotAsPlannedStays puts something into a directory between plan and write that the plan knows
// nothing of.
func TestADirectoryThatIsNotAsPlannedStays(t *testing.T) {
	for name, tt := range map[string]struct {
		meddle func(dir string) error
		part   bool // only what the plan knows is deleted
	}{
		"another file":        {func(dir string) error { return os.WriteFile(filepath.Join(dir, "more"), []byte("mine"), 0o644) }, true},
		"an empty directory":  {func(dir string) error { return os.Mkdir(filepath.Join(dir, "more"), 0o755) }, true},
		"a file that differs": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "b"), []byte("mine"), 0o644) }, false},
		"a file that is gone": {func(dir string) error { return os.Remove(filepath.Join(dir, "b")) }, false},
		"a link for a file": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "b")), os.Symlink("/etc/passwd", filepath.Join(dir, "b")))
		}, false},
		"a repository": {func(dir string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o755) }, false},
		"a file for all of it": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("mine"), 0o644))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, map[string]string{"d/a": "a\n", "d/b": "b\n", "other": "x\n"})
			root := open(t, dir)
			diff := section("d/a", "", "a\n", "") + section("d/b", "", "b\n", "") + section("", "d", "", "file\n") + section("", "e/f", "", "f\n")
			c := plan(t, patch.DirTree(root), diff)
			if err := tt.meddle(filepath.Join(dir, "d")); err != nil {
				t.Fatal(err)
			}
			want := picture(t, dir)
			if tt.part {
				delete(want, "d/a")
				delete(want, "d/b")
				want["e"], want["e/f"] = "drwxr-xr-x\n", "-rw-r--r--\nf\n"
			}
			err := patch.WriteChange(root, c)
			if !errors.Is(err, patch.ErrMoved) && !errors.As(err, new(*patch.EntryError)) {
				t.Errorf("got %v, want ErrMoved", err)
			}
			if tt.part != strings.Contains(fmt.Sprint(err), "git diff") {
				t.Errorf("got %v, which names git diff: want %t", err, tt.part)
			}
			samePicture(t, picture(t, dir), want)
		})
	}
}
