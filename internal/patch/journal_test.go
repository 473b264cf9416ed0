package patch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
)

// plantJournal writes a journal as a repository could bring it. In text, ORIGIN stands for the member that says where
// the journal was written: a guess of its author that happens to be right. The device, which an earlier form has, does
// not count.
func plantJournal(t *testing.T, dir, name, text string) {
	t.Helper()
	full := filepath.Join(dir, ".ratchet-patch", name)
	lay(t, dir, map[string]string{".ratchet-patch/" + name: ""})
	info, err := os.Stat(full)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	origin := fmt.Sprintf(`"origin":{"device":1,"inode":%d}`, stat.Ino)
	if err := os.WriteFile(full, []byte(strings.ReplaceAll(text, "ORIGIN", origin)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// isRefusedAsForeign applies an answer where a journal lies that is not ours. Nothing but the lock may be written.
func isRefusedAsForeign(t *testing.T, dir string) {
	t.Helper()
	before := picture(t, dir)
	r := patch.ApplyAnswer(open(t, dir), []byte(swap), "stop", patch.Limits{})
	if r.Result != patch.Refused || r.Error.Code != patch.CodeIO || !strings.Contains(r.Error.Message, "remove that directory") {
		t.Errorf("got %s %+v, want a refusal that says what to do", r.Result, r.Error)
	}
	after := picture(t, dir)
	if _, was := before[".ratchet-patch/lock"]; !was {
		delete(after, ".ratchet-patch/lock")
	}
	samePicture(t, after, before)
}

const oldAside, newAside = ".ratchet-ABCDEFGH-0.old", ".ratchet-ABCDEFGH-0.new"

// A repository can bring a journal. By one that is obeyed, any directory in it could become its .git, whose
// configuration names programs that git runs.
func TestAJournalThatTheRepositoryBringsIsNotObeyed(t *testing.T) {
	entry := `{"puts":[{"path":%q,"temp":%q,"old":%q,"existed":true%s}],"dirs":[%s],ORIGIN}`
	for name, text := range map[string]string{
		"a directory for .git":          `{"puts":[{"path":".git","temp":".old","old":"fixtures","existed":true,"tree":["nope"]}],"dirs":[]}`,
		"of another place":              `{"puts":[{"path":"x.txt","temp":"` + newAside + `","old":"` + oldAside + `","existed":true}],"dirs":[],"origin":{"device":1,"inode":1}}`,
		"of an older version":           `{"puts":[{"path":"x.txt","temp":"` + newAside + `","old":"` + oldAside + `","existed":true}],"dirs":[]}`,
		"no JSON":                       `{`,
		"path: git's directory":         fmt.Sprintf(entry, ".git", newAside, oldAside, `,"tree":["nope"]`, ""),
		"path: outside":                 fmt.Sprintf(entry, "../x", newAside, oldAside, "", ""),
		"path: none":                    fmt.Sprintf(entry, "", newAside, oldAside, "", ""),
		"old: a file of the repository": fmt.Sprintf(entry, "x.txt", newAside, "fixtures", "", ""),
		"old: in another directory":     fmt.Sprintf(entry, "x.txt", newAside, "fixtures/"+oldAside, "", ""),
		"old: a line more":              fmt.Sprintf(entry, "x.txt", newAside, oldAside+"\n", "", ""),
		"old: none":                     fmt.Sprintf(entry, "x.txt", newAside, "", "", ""),
		"temp: a file of the user":      fmt.Sprintf(entry, "x.txt", "mine.txt", oldAside, "", ""),
		"temp: called as old":           fmt.Sprintf(entry, "x.txt", oldAside, oldAside, "", ""),
		"temp: none":                    fmt.Sprintf(entry, "x.txt", "", oldAside, `,"tree":["mine.txt"]`, ""),
		"tree: outside":                 fmt.Sprintf(entry, "x.txt", newAside, oldAside, `,"tree":["../../mine.txt"]`, ""),
		"held: git's directory":         fmt.Sprintf(entry, "x.txt", newAside, oldAside, `,"held":[".git/config"]`, ""),
		"dirs: git's directory":         fmt.Sprintf(entry, "x.txt", newAside, oldAside, "", `".git/refs/tags"`),
		"old without a file before":     `{"puts":[{"path":"x.txt","temp":"` + newAside + `","old":"fixtures","existed":false}],"dirs":[],ORIGIN}`,
	} {
		for _, state := range []string{"staged", "placed", "done"} {
			t.Run(name+", "+state, func(t *testing.T) {
				dir := t.TempDir()
				lay(t, dir, map[string]string{"x.txt": "a\nb\n", "mine.txt": "mine\n", ".git/config": "[core]\n", "fixtures/config": "[core]\nfsmonitor = ./run\n",
					oldAside: "theirs\n", newAside: "theirs\n"})
				if err := os.MkdirAll(filepath.Join(dir, ".git/refs/tags"), 0o755); err != nil {
					t.Fatal(err)
				}
				plantJournal(t, dir, state, text)
				isRefusedAsForeign(t, dir)
			})
		}
	}
}

// The repository that brings the journal can bring the link to which the journal leads, too.
func TestAJournalDoesNotReachThroughALink(t *testing.T) {
	for name, row := range map[string]struct{ state, link, files string }{
		"for what was put aside": {"done", oldAside, `"held":["config"]`},
		"for what was staged":    {"staged", newAside, `"tree":["config"]`},
		"for all of it, placed":  {"placed", newAside, `"tree":["config","refs/tags/x"]`},
		"in what was put aside":  {"done", oldAside + "/sub", `"held":["sub/config"]`},
		"in what was staged":     {"staged", newAside + "/sub", `"tree":["sub/config"]`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, map[string]string{"x.txt": "a\nb\n", ".git/config": "[core]\n", ".git/refs/tags/x": "x\n"})
			link := filepath.Join(dir, row.link)
			target := strings.Repeat("../", strings.Count(row.link, "/")) + ".git"
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(target, link)); err != nil {
				t.Fatal(err)
			}
			plantJournal(t, dir, row.state, `{"puts":[{"path":"x.txt","temp":"`+newAside+`","old":"`+oldAside+`","existed":true,`+row.files+`}],"dirs":[],ORIGIN}`)
			isRefusedAsForeign(t, dir)
		})
	}
}

func TestADirectoryOfAJournalThatIsNotOursIsNotUsed(t *testing.T) {
	for name, bring := range map[string]func(dir string) error{
		"a file": func(dir string) error { return os.WriteFile(filepath.Join(dir, ".ratchet-patch"), nil, 0o644) },
		"a link": func(dir string) error { return os.Symlink(".git", filepath.Join(dir, ".ratchet-patch")) },
		"another file in it": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".ratchet-patch"), 0o755), os.WriteFile(filepath.Join(dir, ".ratchet-patch", "README"), nil, 0o644))
		},
		"a link for the lock": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".ratchet-patch"), 0o755), os.Symlink("../.git/index.lock", filepath.Join(dir, ".ratchet-patch", "lock")))
		},
		"a link for the journal": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".ratchet-patch"), 0o755), os.Symlink("../x.txt", filepath.Join(dir, ".ratchet-patch", "done")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, map[string]string{"x.txt": "a\nb\n", ".git/config": "[core]\n"})
			if err := bring(dir); err != nil {
				t.Fatal(err)
			}
			isRefusedAsForeign(t, dir)
		})
	}
}

// A copy of a directory in which a write was interrupted is left as it is; the directory itself is put right.
func TestACopyOfAnInterruptedWriteIsNotObeyed(t *testing.T) {
	for _, last := range []string{"stage", "place", "sync directory"} {
		t.Run(last, func(t *testing.T) {
			dir, twin := t.TempDir(), filepath.Join(t.TempDir(), "copy")
			lay(t, dir, map[string]string{"x.txt": "a\nb\n"})
			before := picture(t, dir)
			root := open(t, dir)
			failed := false
			_ = patch.WriteFaulty(root, plan(t, patch.DirTree(root), swap), func(step, _ string) error {
				if failed = failed || step == last; failed {
					return os.ErrPermission // as if the process had ended
				}
				return nil
			})
			if err := os.CopyFS(twin, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			isRefusedAsForeign(t, twin)
			if err := patch.Recover(root); err != nil {
				t.Fatal(err)
			}
			samePicture(t, picture(t, dir), before)
		})
	}
}

// The number of a file system's device may change when it is mounted again, as after the crash that a journal is for.
func TestAJournalIsObeyedWhenItsDeviceHasAnotherNumber(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"x.txt": "a\nb\n"})
	before := picture(t, dir)
	root := open(t, dir)
	failed := false
	_ = patch.WriteFaulty(root, plan(t, patch.DirTree(root), swap), func(step, _ string) error {
		if failed = failed || step == "sync directory"; failed {
			return os.ErrPermission // as if the process had ended
		}
		return nil
	})
	full := filepath.Join(dir, ".ratchet-patch/placed")
	raw, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(raw), `"origin"`)
	plantJournal(t, dir, "placed", text+"ORIGIN}")
	if err := patch.Recover(root); err != nil {
		t.Fatal(err)
	}
	samePicture(t, picture(t, dir), before)
}
