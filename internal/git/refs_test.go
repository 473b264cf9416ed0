package git_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// everything that a reading of references may see.
var allRefs = []string{"refs/heads/", "refs/remotes/", "refs/tags/"}

// gitsRefs are the references as git lists them.
func gitsRefs(t *testing.T, r git.Repo, patterns ...string) string {
	t.Helper()
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)"}
	for _, p := range patterns {
		args = append(args, strings.TrimSuffix(p, "/"))
	}
	return run(t, r, args...)
}

func asText(refs []git.Ref) string {
	var lines []string
	for _, r := range refs {
		lines = append(lines, string(r.ID)+" "+r.Name)
	}
	return strings.Join(lines, "\n")
}

// refRepo is a repository with two commits.
func refRepo(t *testing.T, args ...string) (r git.Repo, ids []string) {
	t.Helper()
	r = newRepo(t, args...)
	tree := run(t, r, "write-tree")
	first := run(t, r, "commit-tree", "-m", "first", tree)
	return r, []string{first, run(t, r, "commit-tree", "-m", "second", "-p", first, tree)}
}

// Whatever git makes of a repository's references, they are read as git reads them.
func TestRefsAreReadAsGitReadsThem(t *testing.T) {
	names := []string{
		"refs/heads/main", "refs/heads/a", "refs/heads/a-b", "refs/heads/a.b", "refs/heads/ratchet/x", "refs/heads/ü/深",
		"refs/remotes/origin/main", "refs/tags/v1", "refs/tags/v1.0/rc", "refs/notes/x",
	}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1))
			r, ids := refRepo(t, "--object-format="+[]string{"sha1", "sha256"}[seed%2])
			for range 1 + rnd.IntN(12) {
				name := names[rnd.IntN(len(names))]
				switch rnd.IntN(5) {
				case 0:
					run(t, r, "pack-refs", "--all")
				case 1:
					run(t, r, "update-ref", "-d", name)
				case 2:
					run(t, r, "tag", "-f", "-a", "-m", "m", "annotated", ids[rnd.IntN(2)])
				default:
					run(t, r, "update-ref", name, ids[rnd.IntN(2)])
				}
			}
			if rnd.IntN(2) == 0 {
				run(t, r, "update-ref", "refs/remotes/origin/main", ids[0])
				run(t, r, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
			}
			got, ok := git.ReadRefs(r.GitDir, allRefs...)
			if want := gitsRefs(t, r, allRefs...); !ok || asText(got) != want {
				t.Errorf("read %t:\n%s\ngit:\n%s", ok, asText(got), want)
			}
			one := names[rnd.IntN(len(names))]
			got, ok = git.ReadRefs(r.GitDir, one)
			if want := gitsRefs(t, r, one); !ok || asText(got) != want {
				t.Errorf("%s: read %t: %q, git: %q", one, ok, asText(got), want)
			}
		})
	}
}

// What is not as git writes it is left to git: the answer is git's, or none.
func TestUnusualRefsAreLeftToGit(t *testing.T) {
	need.Suite(t, need.CI)
	put := func(name, text string) func(*testing.T, git.Repo, []string) {
		return func(t *testing.T, r git.Repo, ids []string) {
			t.Helper()
			file := filepath.Join(r.GitDir, name)
			text := strings.NewReplacer("ID", ids[0], "OTHER", ids[1]).Replace(text)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(name, to string) func(*testing.T, git.Repo, []string) {
		return func(t *testing.T, r git.Repo, _ []string) {
			t.Helper()
			if err := os.Symlink(strings.ReplaceAll(to, "GITDIR", r.GitDir), filepath.Join(r.GitDir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(*testing.T, git.Repo, []string){
		"an empty file":                      put("refs/heads/x", ""),
		"no line feed":                       put("refs/heads/x", "ID"),
		"more than an id":                    put("refs/heads/x", "ID and more\n"),
		"capital letters":                    put("refs/heads/x", "ABCDEF0123456789ABCDEF0123456789ABCDEF01\n"),
		"the zero id":                        put("refs/heads/x", strings.Repeat("0", 40)+"\n"),
		"another name of nothing":            put("refs/heads/x", "ref: refs/heads/none\n"),
		"another name of itself":             put("refs/heads/x", "ref: refs/heads/x\n"),
		"another name of what is not listed": put("refs/heads/x", "ref: refs/notes/y\n"),
		"a name that git refuses":            put("refs/heads/a b", "ID\n"),
		"a name with two dots":               put("refs/heads/a..b", "ID\n"),
		"a packed name that git refuses":     put("packed-refs", "ID refs/heads/a..b\n"),
		"a packed line that is cut":          put("packed-refs", "ID refs/heads/a"),
		"a symbolic link to a reference":     link("refs/heads/x", "main"),
		"a symbolic link out":                link("refs/heads/x", "/etc/passwd"),
		"a directory that is a link out":     link("refs/remotes", "/etc"),
		"directories too deep":               put("refs/heads/"+strings.Repeat("d/", 70)+"x", "ID\n"),
		"references in another format":       put("HEAD", "ref: refs/heads/.invalid\n"),
		"a pipe": func(t *testing.T, r git.Repo, _ []string) {
			t.Helper()
			if err := syscall.Mkfifo(filepath.Join(r.GitDir, "refs", "heads", "x"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another name of one that is too long": func(t *testing.T, r git.Repo, ids []string) {
			t.Helper()
			long := "refs/heads/" + strings.Repeat("y", 5000)
			put("packed-refs", "ID "+long+"\n")(t, r, ids)
			put("refs/heads/x", "ref: "+long+"\n")(t, r, ids)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, ids := refRepo(t)
			run(t, r, "update-ref", "refs/heads/main", ids[1])
			spoil(t, r, ids)
			if got, ok := git.ReadRefs(r.GitDir, allRefs...); ok {
				t.Errorf("read\n%s", asText(got))
			}
		})
	}
	for name, spoil := range map[string]func(*testing.T, git.Repo, []string){
		"a lock":                     put("refs/heads/x.lock", "ID\n"),
		"a hidden file":              put("refs/heads/.x", "nonsense"),
		"an older packed value":      put("packed-refs", "# pack-refs with: peeled fully-peeled sorted \nID refs/heads/main\n^OTHER\n"),
		"a HEAD without a line feed": put("HEAD", "ref: refs/heads/main"),
		"another name of one":        put("refs/heads/x", "ref: refs/heads/main\n"),
		"a name that git refuses and nobody asks for": put("refs/notes/a..b", "ID\n"),
	} {
		t.Run(name, func(t *testing.T) {
			r, ids := refRepo(t)
			run(t, r, "update-ref", "refs/heads/main", ids[1])
			spoil(t, r, ids)
			got, ok := git.ReadRefs(r.GitDir, allRefs...)
			if want := gitsRefs(t, r, allRefs...); !ok || asText(got) != want {
				t.Errorf("read %t:\n%s\ngit:\n%s", ok, asText(got), want)
			}
		})
	}
}
