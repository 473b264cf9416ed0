package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/remote"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

func TestMain(m *testing.M) {
	gittest.Isolate()
	os.Setenv("GIT_ALLOW_PROTOCOL", "https:file")
	os.Exit(m.Run())
}

// origin is a repository with a commit on main, and a mirror of it.
type origin struct {
	*gittest.Origin
	t       *testing.T
	mirrors remote.Mirrors
}

func newOrigin(t *testing.T) origin {
	t.Helper()
	return origin{gittest.NewOrigin(t), t, remote.Mirrors{Dir: filepath.Join(t.TempDir(), "mirrors")}}
}

// fetch fetches a base and fails the test unless it is the commit.
func (o origin) fetch(url, base, want string) git.Repo {
	o.t.Helper()
	got, err := o.mirrors.Fetch(o.t.Context(), url, base)
	if err != nil || string(got.Commit) != want {
		o.t.Fatalf("fetch %q of %s: got %+v, %v; want commit %s", base, url, got, err, want)
	}
	return git.Repo{Dir: got.Path, GitDir: got.Path}
}

func TestMirrorOfABase(t *testing.T) {
	o := newOrigin(t)
	first := o.Git("rev-parse", "main")
	o.Git("tag", "-a", "-m", "one", "v1", first)
	second := o.Commit("main", "second")
	o.Git("branch", "topic/a", first)
	for base, want := range map[string]string{"": second, "HEAD": second, "main": second, "refs/heads/main": second, "v1": first, "topic/a": first, first: first, second: second} {
		o.fetch(o.FileURL(), base, want)
	}
	// What is new is fetched, also where a branch has gone back or has taken the place of a directory.
	third := o.Commit("main", "third")
	o.fetch(o.FileURL(), "", third)
	o.Git("update-ref", "refs/heads/main", first)
	o.Git("branch", "-D", "topic/a")
	o.Git("branch", "topic", second)
	o.fetch(o.FileURL(), "main", first)
	repo := o.fetch(o.FileURL(), "topic", second)
	out, err := repo.Run(t.Context(), "for-each-ref", "refs/heads", "refs/tags")
	if err != nil || len(out) > 0 {
		t.Errorf("the mirror has branches or tags of its own: %s, %v", out, err)
	}
	for _, base := range []string{"nothing", "-x", "a b", "--upload-pack=x", "main:x", first[:10], strings.Repeat("0", 39) + "1"} {
		got, err := o.mirrors.Fetch(t.Context(), o.FileURL(), base)
		if failed, ok := errors.AsType[*remote.Error](err); !ok || !failed.Final || strings.Contains(err.Error(), "\n") {
			t.Errorf("base %q: got %+v, %v; want a refusal in one line", base, got, err)
		}
	}
}

func TestMirrorOfSHA256(t *testing.T) {
	o := newOrigin(t)
	other := filepath.Join(t.TempDir(), "256.git")
	gittest.Run(t, ".", "init", "-q", "--bare", "-b", "main", "--object-format=sha256", other)
	tree := gittest.Run(t, other, "mktree", "--missing")
	commit := gittest.Run(t, other, "commit-tree", "-m", "one", tree)
	gittest.Run(t, other, "update-ref", "refs/heads/main", commit)
	o.fetch("file://"+other, "", commit)
}

// The server asks for a password, which the credential helper of the worker's user has.
func TestServerWithACredentialHelper(t *testing.T) {
	o := newOrigin(t)
	url := o.Serve(t)
	base := o.Git("rev-parse", "main")
	if _, err := o.mirrors.Fetch(t.Context(), url, ""); err == nil || !strings.Contains(err.Error(), "no permission") {
		t.Fatalf("without the helper: got %v, want no permission", err)
	}
	o.UseHelper(t)
	repo, m := o.fetch(url, "", base), remote.Remote{URL: url}
	if err := m.MayPush(t.Context(), repo, "ratchet/x", base); err != nil {
		t.Fatal(err)
	}
	if got := o.Git("for-each-ref", "refs/heads/ratchet"); got != "" {
		t.Errorf("the look made %s", got)
	}
	if err := m.Push(t.Context(), repo, "ratchet/x", base, ""); err != nil {
		t.Fatal(err)
	}
	if got := o.Git("rev-parse", "ratchet/x"); got != base {
		t.Errorf("got the branch at %s, want %s", got, base)
	}
	for _, where := range []string{repo.Dir, o.mirrors.Dir} {
		err := filepath.WalkDir(where, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(name)
			if strings.Contains(string(b), gittest.Password) {
				t.Errorf("the password is in %s", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	o.ReadOnly()
	if err := m.MayPush(t.Context(), repo, "ratchet/y", base); err == nil || !strings.Contains(err.Error(), "no permission") {
		t.Errorf("a server that takes no push: got %v, want no permission", err)
	}
}

func TestPushByLease(t *testing.T) {
	o := newOrigin(t)
	base := o.Git("rev-parse", "main")
	repo, m := o.fetch(o.FileURL(), "", base), remote.Remote{URL: o.FileURL()}
	commit := func(message string) string {
		return gittest.Run(t, repo.Dir, "commit-tree", "-p", base, "-m", message, base+"^{tree}")
	}
	one, two := commit("one"), commit("two")
	push := func(what, commit, expected string, want error) {
		t.Helper()
		if err := m.Push(t.Context(), repo, "ratchet/x", commit, expected); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	push("new", one, "", nil)
	push("the same again, whose answer was lost", one, "", nil)
	push("another in the place of none", two, "", remote.ErrMoved)
	push("another in the place of another", two, base, remote.ErrMoved)
	push("another by its lease", two, one, nil)
	if got := o.Git("rev-parse", "ratchet/x"); got != two {
		t.Errorf("got the branch at %s, want %s", got, two)
	}
	// Of many that push at once one wins.
	errs := make([]error, 6)
	var all sync.WaitGroup
	for i := range errs {
		mine := commit(fmt.Sprint("racer ", i))
		all.Go(func() { errs[i] = m.Push(t.Context(), repo, "ratchet/race", mine, "") })
	}
	all.Wait()
	lost := 0
	for _, err := range errs {
		if errors.Is(err, remote.ErrMoved) {
			lost++
		} else if err != nil {
			t.Error(err)
		}
	}
	if lost != len(errs)-1 {
		t.Errorf("%d of %d pushes lost, want all but one", lost, len(errs))
	}
}

// A repository on this machine is a hostile one: none of its hooks and programs runs.
func TestTheOtherSideStartsNothing(t *testing.T) {
	o := newOrigin(t)
	base := o.Git("rev-parse", "main")
	mark := filepath.Join(t.TempDir(), "mark")
	arm := func(dir string) {
		for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive", "pre-push", "post-checkout"} {
			name := filepath.Join(dir, "hooks", hook)
			must(t, os.MkdirAll(filepath.Dir(name), 0o755))
			must(t, proctest.WriteProgram(name, "#!/bin/sh\ntouch "+mark+"\n"))
		}
		for _, set := range []string{"core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "core.gitProxy"} {
			gittest.Run(t, dir, "config", set, "touch "+mark)
		}
	}
	borrowed := filepath.Join(t.TempDir(), "borrowed.git")
	gittest.Run(t, ".", "clone", "-q", "--bare", o.Dir, borrowed)
	must(t, os.WriteFile(filepath.Join(o.Dir, "objects", "info", "alternates"), []byte(filepath.Join(borrowed, "objects")+"\n"), 0o644))
	arm(o.Dir)
	repo, m := o.fetch(o.FileURL(), "", base), remote.Remote{URL: o.FileURL()}
	must(t, m.Push(t.Context(), repo, "ratchet/x", base, ""))
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository was run")
	}
	// The control: git by itself runs them.
	gittest.Run(t, repo.Dir, "push", "-q", o.Dir, base+":refs/heads/control")
	if _, err := os.Stat(mark); err != nil {
		t.Error("the hooks are not armed")
	}
}

func TestSubmodulesAreNotFetched(t *testing.T) {
	o := newOrigin(t)
	mark := filepath.Join(t.TempDir(), "mark")
	modules := o.Blob("[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c \"touch% " + mark + "\"\n")
	tree := o.Tree("100644 blob " + modules + "\t.gitmodules\n160000 commit " + o.Git("rev-parse", "main") + "\tx\n")
	commit := o.Git("commit-tree", "-m", "module", tree)
	o.Git("update-ref", "refs/heads/main", commit)
	_, err := o.mirrors.Fetch(t.Context(), o.FileURL(), "")
	t.Logf("fetch: %v", err) // git's check of objects may refuse the URL
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program was run")
	}
}

func TestWhatIsRefused(t *testing.T) {
	o := newOrigin(t)
	o.UseHelper(t)
	elsewhere := o.Serve(t)
	asked := 0
	redirect := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := strings.TrimPrefix(elsewhere, "https") + strings.TrimPrefix(r.URL.RequestURI(), "/shop.git")
		http.Redirect(w, r, map[bool]string{true: "https", false: "http"}[asked%2 == 0]+to, http.StatusFound)
		asked++
	}))
	defer redirect.Close()
	trust(t, redirect)
	for url, want := range map[string]string{
		redirect.URL + "/shop.git":                              "leads elsewhere",
		"https://no-such-host.invalid/x":                        "unknown host",
		"https://127.0.0.1:1/x":                                 "cannot be reached",
		"ssh://git@127.0.0.1/x":                                 "protocol ssh",
		"file:///nowhere/at/all.git":                            "no such repository",
		"ext::sh -c true":                                       "not a URL",
		"--upload-pack=true":                                    "not a URL",
		strings.TrimSuffix(elsewhere, "shop.git") + "other.git": "no such repository",
	} {
		_, err := o.mirrors.Fetch(t.Context(), url, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", url, err, want)
		}
	}
	// A server that refuses the branch.
	base := o.Git("rev-parse", "main")
	repo := o.fetch(elsewhere, "", base)
	must(t, os.MkdirAll(filepath.Join(o.Dir, "hooks"), 0o755))
	must(t, proctest.WriteProgram(filepath.Join(o.Dir, "hooks", "update"), "#!/bin/sh\necho only feature/ here >&2\nexit 1\n"))
	err := remote.Remote{URL: elsewhere}.Push(t.Context(), repo, "ratchet/x", base, "")
	failed, ok := errors.AsType[*remote.Error](err)
	if !ok || !failed.Final || !strings.Contains(err.Error(), "refuses the branch") || !strings.Contains(err.Error(), "only feature/ here") {
		t.Errorf("got %v, want the server's refusal", err)
	}
}

// What a killed fetch leaves is removed, and the mirror is whole.
func TestMirrorAfterAKill(t *testing.T) {
	o := newOrigin(t)
	base := o.Git("rev-parse", "main")
	path := o.mirrors.Path(o.FileURL())
	must(t, os.MkdirAll(filepath.Join(path+".new", "objects"), 0o755)) // killed while the mirror was made
	o.fetch(o.FileURL(), "", base)
	refs, err := filepath.Glob(filepath.Join(path, "refs", "fetched", "*"))
	if err != nil || len(refs) != 1 {
		t.Fatalf("got references %v, %v; want one", refs, err)
	}
	left := []string{filepath.Join(path, "objects", "pack", "tmp_pack_x"), refs[0] + ".lock", filepath.Join(path, "shallow.lock"), filepath.Join(path, "HEAD.lock")}
	for _, name := range left {
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte("half"), 0o644))
	}
	o.fetch(o.FileURL(), "", o.Commit("main", "second"))
	if i := slices.IndexFunc(left, func(name string) bool { _, err := os.Stat(name); return err == nil }); i >= 0 {
		t.Errorf("%s is left", left[i])
	}
	gittest.Run(t, path, "fsck", "--strict")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trust has git trust the certificate of a server.
func trust(t *testing.T, s *httptest.Server) {
	t.Helper()
	gittest.Run(t, ".", "config", "--file", os.Getenv("GIT_CONFIG_GLOBAL"), "http."+s.URL+".sslVerify", "false")
}
