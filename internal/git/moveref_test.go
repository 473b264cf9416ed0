package git_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// moveByGit moves a branch as git.Repo.MoveRef does, by git.
func moveByGit(t *testing.T, r git.Repo, m git.RefMove) bool {
	t.Helper()
	_, err := r.Run(t.Context(), "update-ref", "--no-deref", "-m", m.Message, m.Name, string(m.New), string(m.Old))
	return err == nil
}

func moveRef(t *testing.T, r git.Repo, m git.RefMove) bool {
	t.Helper()
	objects := git.NewObjects(r)
	defer objects.Close()
	return r.MoveRef(objects, m)
}

// refFiles is everything that a repository keeps of its references: names, modes and contents, without the times in
// the logs.
func refFiles(t *testing.T, r git.Repo) string {
	t.Helper()
	var out strings.Builder
	times := regexp.MustCompile(`> \d+ [+-]\d{4}`)
	for _, top := range []string{"refs", "logs", "packed-refs", "HEAD"} {
		err := filepath.WalkDir(filepath.Join(r.GitDir, top), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(r.GitDir, name)
			fmt.Fprintf(&out, "%s %s", info.Mode(), rel)
			if info.Mode().IsRegular() {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(&out, " %s", times.ReplaceAll(text, []byte("> TIME")))
			}
			out.WriteByte('\n')
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Two repositories live through the same: one's branches are moved by git, the other's without one. Their files stay
// the same, byte by byte.
func TestBranchesAreMovedAsGitMovesThem(t *testing.T) {
	need.Suite(t, need.CI)
	names := []string{"refs/heads/main", "refs/heads/ratchet/x", "refs/heads/ratchet/y", "refs/heads/ratchet", "refs/heads/a/b/c/d", "refs/heads/ü"}
	type outcome struct{ ours, gits bool }
	counts := map[outcome]int{}
	for seed := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		format := "--object-format=" + []string{"sha1", "sha256"}[seed%2]
		ours, ids := refRepo(t, "-b", "other", format)
		gits, same := refRepo(t, "-b", "other", format)
		none := string(git.ID(ids[0]).Zero())
		ids, same = append(ids, none), append(same, none)
		both := func(args ...string) {
			_, err1 := ours.Run(t.Context(), args...)
			_, err2 := gits.Run(t.Context(), args...)
			if (err1 == nil) != (err2 == nil) {
				t.Errorf("git %q: %v and %v", args, err1, err2)
			}
		}
		for step := range 30 {
			name := names[rnd.IntN(len(names))]
			switch rnd.IntN(8) {
			case 0:
				both("pack-refs", "--all", "--prune")
			case 1:
				both("update-ref", "-d", name)
			default:
				from, to := rnd.IntN(3), rnd.IntN(2)
				if at, _ := ours.Run(t.Context(), "rev-parse", "--verify", "-q", name); rnd.IntN(3) > 0 { // empty: there is none
					from = slices.Index(ids, cmp.Or(strings.TrimSpace(string(at)), none))
				}
				move := git.RefMove{Name: name, Old: git.ID(ids[from]), New: git.ID(ids[to]), Message: "ratchet"}
				var did outcome
				if did.ours = moveRef(t, ours, move); !did.ours {
					moveByGit(t, ours, move) // as a caller does
				}
				move.Old, move.New = git.ID(same[from]), git.ID(same[to])
				did.gits = moveByGit(t, gits, move)
				counts[did]++
			}
			got := strings.NewReplacer(ids[0], "ONE", ids[1], "TWO").Replace(refFiles(t, ours))
			want := strings.NewReplacer(same[0], "ONE", same[1], "TWO").Replace(refFiles(t, gits))
			if got != want {
				t.Fatalf("seed %d, step %d: without a git\n%s\nby git\n%s", seed, step, got, want)
			}
		}
		run(t, ours, "fsck", "--strict")
	}
	t.Logf("moves without a git and by git: %v", counts)
	if counts[outcome{true, true}] < 50 || counts[outcome{false, false}] < 20 || counts[outcome{true, false}] > 0 {
		t.Errorf("moves without a git and by git: %v", counts)
	}
}

// Whatever is not as git writes it is left to git, and stays as it is.
func TestUnusualBranchesAreNotMoved(t *testing.T) {
	const name = "refs/heads/ratchet/x"
	file := func(parts ...string) func(git.Repo) string {
		return func(r git.Repo) string { return filepath.Join(append([]string{r.GitDir}, parts...)...) }
	}
	put := func(text string, parts ...string) func(git.Repo, []string) error {
		return func(r git.Repo, ids []string) error {
			at := file(parts...)(r)
			text := strings.NewReplacer("OLD", ids[0], "NEW", ids[1], "TREE", ids[2]).Replace(text)
			return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
		}
	}
	packed := func(text string) func(git.Repo, []string) error {
		return func(r git.Repo, ids []string) error {
			return errors.Join(os.Remove(file(name)(r)), put(text, "packed-refs")(r, ids))
		}
	}
	link := func(to string, parts ...string) func(git.Repo, []string) error {
		return func(r git.Repo, _ []string) error {
			at := file(parts...)(r)
			aside := at + "-aside"
			if err := os.Rename(at, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return os.Symlink(cmp.Or(to, filepath.Base(aside)), at)
		}
	}
	config := func(lines string) func(git.Repo, []string) error {
		return func(r git.Repo, _ []string) error {
			text, err := os.ReadFile(file("config")(r))
			return errors.Join(err, os.WriteFile(file("config")(r), append(text, lines...), 0o600))
		}
	}
	for title, spoil := range map[string]func(git.Repo, []string) error{
		"another value":                      put("NEW\n", name),
		"another name of a branch":           put("ref: refs/heads/other\n", name),
		"an empty file":                      put("", name),
		"a value without its line feed":      put("OLD", name),
		"a lock":                             put("", name+".lock"),
		"a lock that is a link":              link("/nonexistent", name+".lock"),
		"a link to another branch":           link("", name),
		"a link out":                         link("/etc/passwd", name),
		"a link in the place of a directory": link("", "refs", "heads", "ratchet"),
		"a link in the place of heads":       link("", "refs", "heads"),
		"a link in the place of refs":        link("", "refs"),
		"a link in the place of a log":       link("", "logs", name),
		"a log that is a link to nothing":    link("/nonexistent", "logs", name),
		"a link among the logs":              link("", "logs", "refs", "heads", "ratchet"),
		"a link in the place of all logs":    link("", "logs"),
		"a link in the place of packed-refs": func(r git.Repo, ids []string) error {
			return errors.Join(packed("OLD "+name+"\n")(r, ids), link("", "packed-refs")(r, ids))
		},
		"a link in the place of HEAD":         link("", "HEAD"),
		"a link in the place of config":       link("", "config"),
		"the branch is checked out":           put("ref: "+name+"\n", "HEAD"),
		"references in another format":        put("ref: refs/heads/.invalid\n", "HEAD"),
		"a git directory with another beside": put("../elsewhere\n", "commondir"),
		"packed at another value":             packed("NEW " + name + "\n"),
		"packed twice":                        packed("OLD " + name + "\nNEW " + name + "\n"),
		"packed out of order":                 packed("# pack-refs with: peeled fully-peeled sorted \nOLD refs/heads/z\nOLD " + name + "\n"),
		"packed without a line feed":          packed("OLD " + name),
		"packed with a branch in its way":     packed("OLD refs/heads/ratchet\nOLD " + name + "\n"),
		"packed with branches below":          packed("OLD " + name + "\nOLD " + name + "/below\n"),
		"packed after a strange line":         packed("# strange\nOLD " + name + "\n"),
		"packed and peeled twice":             packed("OLD refs/heads/a\n^OLD\n^OLD\nOLD " + name + "\n"),
		"logs of all references":              config("[core]\n\tlogAllRefUpdates = always\n"),
		"no logs":                             config("[core]\n\tLogAllRefUpdates = false\n"),
		"no logs, by a value that is split":   config("[x]\n\ty = a \\\n[core]\n\tlogAllRefUpdates = \\\nfalse\n"),
		"a bare repository":                   config("[core]\n\tbare\n"),
		"a bare repository in one line":       config("[CORE] bare = yes\n"),
		"settings elsewhere":                  config("[include]\n\tpath = other\n"),
		"settings of a work tree":             put("[core]\n\tbare = true\n", "config.worktree"),
		"files shared with a group":           config("[core]\n\tsharedRepository = group\n"),
		"an extension":                        config("[extensions]\n\tnewer = true\n"),
		"an extension of references":          config("[extensions]\n\trefStorage = reftable\n"),
		"a repository of a later version":     config("[core]\n\trepositoryFormatVersion = 2\n"),
		"not said that it has a work tree":    put("[core]\n\trepositoryformatversion = 0\n", "config"),
		"a directory": func(r git.Repo, _ []string) error {
			return errors.Join(os.Remove(file(name)(r)), os.Mkdir(file(name)(r), 0o700))
		},
		"a directory in the place of its log": func(r git.Repo, _ []string) error {
			return errors.Join(os.Remove(file("logs", name)(r)), os.Mkdir(file("logs", name)(r), 0o700))
		},
		"a pipe": func(r git.Repo, _ []string) error {
			return errors.Join(os.Remove(file(name)(r)), syscall.Mkfifo(file(name)(r), 0o600))
		},
		"a pipe in the place of its log": func(r git.Repo, _ []string) error {
			log := file("logs", name)(r)
			err := errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o600))
			reader, err2 := os.OpenFile(log, os.O_RDWR, 0)
			t.Cleanup(func() { reader.Close() })
			return errors.Join(err, err2)
		},
		"a file in the place of a directory": func(r git.Repo, ids []string) error {
			return errors.Join(os.RemoveAll(file("refs/heads/ratchet")(r)), put("OLD\n", "refs", "heads", "ratchet")(r, ids))
		},
		"a file in the place of all logs": func(r git.Repo, ids []string) error {
			return errors.Join(os.RemoveAll(file("logs")(r)), put("", "logs")(r, ids))
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			r, ids := refRepo(t, "-b", "other")
			ids = append(ids, run(t, r, "write-tree"))
			for _, branch := range []string{"refs/heads/other", name} {
				run(t, r, "update-ref", "-m", "made", branch, ids[0])
			}
			m := git.RefMove{Name: name, Old: git.ID(ids[0]), New: git.ID(ids[1]), Message: "ratchet"}
			if err := spoil(r, ids); err != nil {
				t.Fatal(err)
			}
			before := refFiles(t, r)
			if moveRef(t, r, m) {
				t.Error("moved")
			}
			if after := refFiles(t, r); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
		})
	}
	t.Run("what is asked for", func(t *testing.T) {
		r, ids := refRepo(t, "-b", "other")
		run(t, r, "update-ref", name, ids[0])
		one, two := git.ID(ids[0]), git.ID(ids[1])
		tree := git.ID(run(t, r, "write-tree"))
		usual := git.RefMove{Name: name, Old: one, New: two, Message: "ratchet"}
		before := refFiles(t, r)
		for title, change := range map[string]func(*git.RefMove){
			"the same value":            func(m *git.RefMove) { m.New = one },
			"a tree":                    func(m *git.RefMove) { m.New = tree },
			"no such object":            func(m *git.RefMove) { m.New = git.ID(strings.Repeat("1", 40)) },
			"a removal":                 func(m *git.RefMove) { m.New = one.Zero() },
			"no id":                     func(m *git.RefMove) { m.New = "main" },
			"no id before":              func(m *git.RefMove) { m.Old = "" },
			"another value before":      func(m *git.RefMove) { m.Old = tree },
			"none before":               func(m *git.RefMove) { m.Old = one.Zero() },
			"a tag":                     func(m *git.RefMove) { m.Name, m.Old = "refs/tags/x", one.Zero() },
			"a name out of refs":        func(m *git.RefMove) { m.Name, m.Old = "refs/heads/../../x", one.Zero() },
			"HEAD":                      func(m *git.RefMove) { m.Name = "HEAD" },
			"a message of two lines":    func(m *git.RefMove) { m.Message = "a\nb" },
			"a message with two spaces": func(m *git.RefMove) { m.Message = "a  b" },
		} {
			m := usual
			if change(&m); moveRef(t, r, m) {
				t.Errorf("%s: moved", title)
			}
		}
		if after := refFiles(t, r); after != before {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
		if !moveRef(t, r, usual) {
			t.Error("the usual move is not made")
		}
	})
}
