package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// history makes commits of files that grow and change, so that git packs them as deltas on each other.
func history(t *testing.T, r git.Repo, like git.ID) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 7))
	var lines []string
	for range 400 {
		lines = append(lines, fmt.Sprint(rnd.Uint64()))
	}
	pack := git.NewPack(like)
	parent, tip := "", ""
	for n := range 60 {
		lines[rnd.IntN(len(lines))] = fmt.Sprint(rnd.Uint64())
		lines = append(lines, fmt.Sprint("line ", n))
		file := pack.Add(git.Blob, []byte(strings.Join(lines, "\n")))
		var entries []git.Entry
		for i := range 40 {
			entries = append(entries, git.Entry{Name: fmt.Sprintf("file-%02d", i), Mode: git.ModeFile, ID: file})
		}
		entries[n%40].ID = pack.Add(git.Blob, bytes.Repeat([]byte{byte(n)}, 70_000)) // copied in pieces of 64 KiB
		tree := pack.Add(git.Tree, git.FormatTree(entries))
		who := "a <a@b> 1700000000 +0000"
		parent = string(pack.Add(git.Commit, fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\nn\n", tree, parent, who, who)))
		tip, parent = parent, "parent "+parent+"\n"
	}
	if err := r.StoreFiles(pack); err != nil {
		t.Fatal(err)
	}
	run(t, r, "update-ref", "refs/heads/x", tip)
}

// Every object that git has, loose or packed in any form, is read without a git and as git reads it.
func TestObjectsAreReadAsGitReadsThem(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "--object-format="+format)
			history(t, r, git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
			run(t, r, "tag", "-a", "-m", "m", "v1", "refs/heads/x")
			compare := func(name string) {
				t.Helper()
				ids := strings.Fields(run(t, r, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
				if len(ids) < 180 {
					t.Fatalf("%s: %d objects", name, len(ids))
				}
				ours, gits := git.NewObjects(r), git.NewObjects(git.Repo{Dir: r.Dir})
				defer ours.Close()
				defer gits.Close()
				for _, id := range ids {
					want, err := gits.Read(t.Context(), git.ID(id), 1<<30)
					if err != nil {
						t.Fatal(err)
					}
					got, err := ours.ReadFiles(git.ID(id))
					if err != nil || got.Kind != want.Kind || got.Size != want.Size || !bytes.Equal(got.Content, want.Content) {
						t.Fatalf("%s: %s: %s of %d bytes, %v; want %s of %d", name, id, got.Kind, got.Size, err, want.Kind, want.Size)
					}
				}
			}
			compare("loose")
			run(t, r, "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
			deltas := run(t, r, "verify-pack", "-s", lastPack(t, r))
			if !strings.Contains(deltas, "chain length = 20:") {
				t.Fatalf("no long chains of deltas: %s", deltas)
			}
			compare("packed, with deltas by offset")
			run(t, r, "-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
			compare("packed, with deltas by name")
			index := lastPack(t, r)
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
			run(t, r, "index-pack", "--index-version=2,0x100", "-o", index, strings.TrimSuffix(index, ".idx")+".pack")
			compare("packed, with large offsets")
		})
	}
}

func lastPack(t *testing.T, r git.Repo) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.GitDir, "objects", "pack", "*.idx"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no pack: %v", err)
	}
	return names[0]
}

// What a repository's files do not tell, git tells: what is borrowed, what has an index of an old form, and what was
// packed since.
func TestGitReadsTheRest(t *testing.T) {
	need.Suite(t, need.CI)
	r := newRepo(t)
	like := git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null"))
	history(t, r, like)
	tip := git.ID(run(t, r, "rev-parse", "refs/heads/x"))
	read := func(name string, objects *git.Objects) {
		t.Helper()
		if _, err := objects.ReadFiles(tip); err == nil {
			t.Errorf("%s: read without a git", name)
		}
		if o, err := objects.Read(t.Context(), tip, 1<<20); err != nil || git.Identify(tip, o.Kind, o.Content) != tip {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		if err := objects.Close(); err != nil {
			t.Error(err)
		}
	}
	borrower := newRepo(t)
	info := filepath.Join(borrower.GitDir, "objects", "info", "alternates")
	if err := os.WriteFile(info, []byte(filepath.Join(r.GitDir, "objects")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read("borrowed", git.NewObjects(borrower))
	early := git.NewObjects(r)
	if _, err := early.ReadFiles(like); err == nil {
		t.Fatal("the repository has the empty tree")
	}
	run(t, r, "repack", "-q", "-a", "-d")
	read("packed since", early)
	run(t, r, "-c", "pack.indexVersion=1", "repack", "-q", "-a", "-d", "-f")
	read("an old index", git.NewObjects(r))
}

// Files that are not what they say are believed neither here nor from git.
func TestWrongObjectsAreNotRead(t *testing.T) {
	r := newRepo(t)
	like := git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null"))
	pack := git.NewPack(like)
	one, other := pack.Add(git.Blob, []byte("one")), pack.Add(git.Blob, []byte("other"))
	if err := r.StoreFiles(pack); err != nil {
		t.Fatal(err)
	}
	file := func(id git.ID) string { return filepath.Join(r.GitDir, "objects", string(id[:2]), string(id[2:])) }
	if err := os.Rename(file(other), file(one)); err != nil {
		t.Fatal(err)
	}
	objects := git.NewObjects(r)
	defer objects.Close()
	if o, err := objects.Read(t.Context(), one, 1<<20); !errors.Is(err, git.ErrObject) {
		t.Errorf("an object of another content: %q, %v", o.Content, err)
	}
	for name, spoil := range map[string]func(string) error{
		"a link":  func(f string) error { return os.Symlink("/etc/passwd", f) },
		"a cut":   func(f string) error { return os.WriteFile(f, []byte{0x78, 1, 2}, 0o600) },
		"nothing": func(f string) error { return os.WriteFile(f, nil, 0o600) },
		"a huge size": func(f string) error {
			return os.WriteFile(f, deflate(t, "blob 99999999999\x00x"), 0o600)
		},
		"no size": func(f string) error { return os.WriteFile(f, deflate(t, "blob -1\x00x"), 0o600) },
	} {
		if err := os.Remove(file(one)); err != nil {
			t.Fatal(err)
		}
		if err := spoil(file(one)); err != nil {
			t.Fatal(err)
		}
		if o, err := objects.ReadFiles(one); err == nil {
			t.Errorf("%s: %q", name, o.Content)
		}
	}
}

// deflate is text as git compresses it.
func deflate(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := git.Compress(&out, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Objects are stored without a git as git stores them, and again, and where one is there in part.
func TestObjectsAreStoredAsGitStoresThem(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		r, theirs := newRepo(t, "--object-format="+format), newRepo(t, "--object-format="+format)
		pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
		blob := pack.Add(git.Blob, []byte("x"))
		big := pack.Add(git.Blob, bytes.Repeat([]byte("0123456789"), 300_000))
		tree := pack.Add(git.Tree, git.FormatTree([]git.Entry{{Name: "a", Mode: git.ModeFile, ID: blob}, {Name: "b", Mode: git.ModeFile, ID: big}}))
		for range 2 {
			if err := r.StoreFiles(pack); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(r.GitDir, "objects", string(tree[:2]), string(tree[2:]))); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.StoreFiles(pack); err != nil {
			t.Fatal(err)
		}
		if err := theirs.StoreByGit(t.Context(), pack); err != nil {
			t.Fatal(err)
		}
		for _, id := range []git.ID{blob, big, tree} {
			if ours, gits := run(t, r, "cat-file", "-p", string(id)), run(t, theirs, "cat-file", "-p", string(id)); ours != gits {
				t.Errorf("%s: %.80q, git: %.80q", id, ours, gits)
			}
			info, err := os.Stat(filepath.Join(r.GitDir, "objects", string(id[:2]), string(id[2:])))
			if err != nil || info.Mode()&^0o400 != 0 && info.Mode() != 0o444 { // as the umask says
				t.Errorf("%s: got mode %v, %v, want read-only", id, info.Mode(), err)
			}
		}
		run(t, r, "fsck", "--strict")
		if left, _ := filepath.Glob(filepath.Join(r.GitDir, "objects", "*", "tmp_obj_*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func TestWhoseObjectsAreStoredByGit(t *testing.T) {
	for name, args := range map[string][]string{
		"shared with a group": {"config", "core.sharedRepository", "group"},
		"spelled otherwise":   {"config", "core.SHAREDrepository", "0660"},
		"from another file":   {"config", "include.path", "/etc/gitconfig"},
		"with two names each": {"config", "extensions.compatObjectFormat", "sha256"},
		"for this work tree":  {"config", "-f", ".git/config.worktree", "core.sharedRepository", "group"},
	} {
		r := newRepo(t)
		if !git.StoresPlainly(r) {
			t.Fatal("a new repository is unusual")
		}
		run(t, r, args...)
		if git.StoresPlainly(r) {
			t.Error(name)
		}
	}
}

func FuzzApplyDelta(f *testing.F) {
	f.Add([]byte("base"), []byte("\x04\x05\x90\x04\x01!"))
	f.Add([]byte(""), []byte("\x00\x80\x80\x80\x80\x10"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		out, err := git.ApplyDelta(base, delta)
		if err == nil && len(out) > 32<<20 {
			t.Errorf("%d bytes", len(out))
		}
	})
}
