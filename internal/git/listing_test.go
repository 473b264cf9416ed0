package git_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// gitsFiles are the regular files below a tree as git lists them.
func gitsFiles(t *testing.T, r git.Repo, tree git.ID) string {
	t.Helper()
	var out strings.Builder
	for record := range strings.SplitSeq(run(t, r, "ls-tree", "-r", "-l", "-z", string(tree)), "\x00") {
		meta, name, _ := strings.Cut(record, "\t")
		if fields := strings.Fields(meta); strings.HasPrefix(meta, "100") {
			fmt.Fprintf(&out, "%s %s %q\n", fields[0], fields[3], name)
		}
	}
	return out.String()
}

func listFiles(r git.Repo, tree git.ID) (text string, ok bool) {
	objects := git.NewObjects(r)
	defer objects.Close()
	files, ok := objects.ListFiles(tree)
	var out strings.Builder
	for _, f := range files {
		mode := git.ModeFile
		if f.Mode.Executable() {
			mode = git.ModeExecutable
		}
		fmt.Fprintf(&out, "%s %d %q\n", mode, f.Size, f.Path)
	}
	return out.String(), ok
}

// randomTree adds a tree with all kinds of entries to a pack. lines grow, so that git packs contents as deltas.
func randomTree(rnd *rand.Rand, pack *git.Pack, lines *[]string, depth int) git.ID {
	names := []string{"a", "a.b", "a-b", "ab", "ü", "with space", "tab\tand\nline", "\xff", "Z", "long" + strings.Repeat("g", 200)}
	modes := []git.Mode{git.ModeFile, git.ModeExecutable, git.ModeSymlink, git.ModeGitlink, 0o100664, 0o100600, 0o100744, git.ModeTree}
	var entries []git.Entry
	for _, name := range names {
		if depth < 3 && rnd.IntN(2) == 0 {
			continue
		}
		e := git.Entry{Name: name, Mode: modes[rnd.IntN(len(modes))]}
		if e.Mode == git.ModeTree {
			if depth == 0 {
				continue
			}
			e.ID = randomTree(rnd, pack, lines, depth-1)
		} else {
			*lines = append(*lines, fmt.Sprint(rnd.Uint64()))
			e.ID = pack.Add(git.Blob, []byte(strings.Join((*lines)[rnd.IntN(min(3, len(*lines))):], "\n")))
		}
		entries = append(entries, e)
	}
	return pack.Add(git.Tree, git.FormatTree(entries))
}

// Trees are listed as git lists them, in whatever form their objects are kept.
func TestFilesAreListedAsGitListsThem(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 3))
			r := newRepo(t, "--object-format="+[]string{"sha1", "sha256"}[seed%2])
			pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
			lines := strings.Fields(strings.Repeat("line ", 100))
			tree := randomTree(rnd, pack, &lines, 3)
			if err := r.StoreFiles(pack); err != nil {
				t.Fatal(err)
			}
			compare := func(form string) {
				t.Helper()
				got, ok := listFiles(r, tree)
				if want := gitsFiles(t, r, tree); !ok || got != want || want == "" {
					t.Errorf("%s: listed %t\n%s\ngit's\n%s", form, ok, got, want)
				}
			}
			compare("loose")
			run(t, r, "update-ref", "refs/heads/x", run(t, r, "commit-tree", "-m", "m", string(tree)))
			run(t, r, "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
			compare("packed, with deltas by offset")
			run(t, r, "-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
			compare("packed, with deltas by name")
			if deltas := run(t, r, "verify-pack", "-s", lastPack(t, r)); !strings.Contains(deltas, "chain length = 1:") {
				t.Errorf("no deltas: %s", deltas)
			}
		})
	}
}

// What is large, or not in the repository's own files, is left to git.
func TestUnusualTreesAreNotListed(t *testing.T) {
	need.Suite(t, need.CI)
	r := newRepo(t)
	pack := git.NewPack(git.ID(run(t, r, "hash-object", "-t", "tree", "/dev/null")))
	blob := pack.Add(git.Blob, []byte("x"))
	spoiled := pack.Add(git.Blob, []byte("spoiled"))
	tree := func(entries ...git.Entry) git.ID { return pack.Add(git.Tree, git.FormatTree(entries)) }
	file := git.Entry{Name: "f", Mode: git.ModeFile, ID: blob}
	wide := make([]git.Entry, 129)
	for i := range wide {
		wide[i] = git.Entry{Name: fmt.Sprint(i), Mode: git.ModeFile, ID: blob}
	}
	deep, bomb := tree(file), tree(file)
	for range 300 {
		deep = tree(git.Entry{Name: "d", Mode: git.ModeTree, ID: deep})
	}
	for range 40 {
		bomb = tree(git.Entry{Name: "a", Mode: git.ModeTree, ID: bomb}, git.Entry{Name: "b", Mode: git.ModeTree, ID: bomb})
	}
	missing := git.ID(strings.Repeat("1", 40))
	trees := map[string]git.ID{
		"many files":                  tree(wide...),
		"trees too deep":              deep,
		"a tree that is many times":   bomb,
		"a missing file":              tree(file, git.Entry{Name: "g", Mode: git.ModeFile, ID: missing}),
		"a missing tree":              tree(file, git.Entry{Name: "g", Mode: git.ModeTree, ID: missing}),
		"a file that is spoiled":      tree(file, git.Entry{Name: "g", Mode: git.ModeFile, ID: spoiled}),
		"a file in a tree's place":    tree(git.Entry{Name: "g", Mode: git.ModeTree, ID: blob}),
		"a file that reads as a tree": pack.Add(git.Blob, git.FormatTree([]git.Entry{file})),
		"a name that is empty":        pack.Add(git.Tree, append([]byte("100644 \x00"), make([]byte, 20)...)),
		"a tree that is cut":          pack.Add(git.Tree, []byte("100644 a\x00short")),
		"a file":                      blob,
		"nothing":                     missing,
		"no id":                       "HEAD",
		"a mode that is no number":    pack.Add(git.Tree, append([]byte("1006x4 a\x00"), make([]byte, 20)...)),
		"a mode with too many digits": pack.Add(git.Tree, append([]byte("777777777777100644 a\x00"), make([]byte, 20)...)),
	}
	usual := tree(file, git.Entry{Name: "gone", Mode: git.ModeSymlink, ID: missing}, git.Entry{Name: "sub", Mode: git.ModeGitlink, ID: missing})
	if err := r.StoreFiles(pack); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(r.GitDir, "objects", string(spoiled[:2]), string(spoiled[2:]))
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("spoiled"), 0o600); err != nil {
		t.Fatal(err)
	}
	for title, id := range trees {
		if got, ok := listFiles(r, id); ok || got != "" {
			t.Errorf("%s: listed %d files", title, strings.Count(got, "\n"))
		}
	}
	if got, ok := listFiles(r, usual); !ok || got != "100644 1 \"f\"\n" {
		t.Errorf("a file, a link and a submodule: %t, %s", ok, got)
	}
}

// BenchmarkListFiles tells at which size git becomes quicker.
func BenchmarkListFiles(b *testing.B) {
	for _, n := range []int{10, 100, 400, 1600} {
		r := git.Repo{Dir: b.TempDir()}
		if _, err := r.Run(b.Context(), "init", "-q"); err != nil {
			b.Fatal(err)
		}
		r.GitDir = filepath.Join(r.Dir, ".git")
		pack := git.NewPack("0000000000000000000000000000000000000000")
		var top []git.Entry
		for d := range n / 10 {
			var entries []git.Entry
			for i := range 10 {
				id := pack.Add(git.Blob, []byte(strings.Repeat(fmt.Sprintln("line", d, i), 100)))
				entries = append(entries, git.Entry{Name: fmt.Sprint(i), Mode: git.ModeFile, ID: id})
			}
			top = append(top, git.Entry{Name: fmt.Sprint(d), Mode: git.ModeTree, ID: pack.Add(git.Tree, git.FormatTree(entries))})
		}
		tree := pack.Add(git.Tree, git.FormatTree(top))
		if err := r.StoreFiles(pack); err != nil {
			b.Fatal(err)
		}
		for _, form := range []string{"loose", "packed"} {
			b.Run(fmt.Sprint(n, " ", form, ", by git"), func(b *testing.B) {
				for b.Loop() {
					if _, err := r.Run(b.Context(), "ls-tree", "-r", "-l", "-z", string(tree)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprint(n, " ", form), func(b *testing.B) {
				for b.Loop() {
					if _, ok := listFiles(r, tree); !ok {
						b.Skip("too many")
					}
				}
			})
			if _, err := r.Run(b.Context(), "tag", "x", string(tree)); err == nil {
				if _, err := r.Run(b.Context(), "repack", "-q", "-a", "-d"); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
