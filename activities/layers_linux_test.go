package activities_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

const (
	plantWord = `echo planted > "$npm_config_cache/word" # npm`
	findWord  = `cat "$npm_config_cache/word" # npm`
)

// freshHome lets a worker's user have nothing but a home.
func freshHome(home string, vars ...string) func(*activities.Config) {
	return func(c *activities.Config) {
		c.LookupEnv = func(name string) (string, bool) {
			if name == "HOME" {
				return home, true
			}
			for i := 0; i < len(vars); i += 2 {
				if vars[i] == name {
					return vars[i+1], true
				}
			}
			if name == "PATH" {
				return os.LookupEnv(name)
			}
			return "", false
		}
	}
}

// TestOnlyWhatTheUserHasFillsTheLayer has runs that write a word into a cache, each in another way, and looks
// for it in another run on the same repository. The control is the check on the commit that the user has.
func TestOnlyWhatTheUserHasFillsTheLayer(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plant func(*fixture)
		kept  bool
	}{
		{"checks on the user's own commit", func(s *fixture) { s.checkOf("r1", plantWord) }, true},
		{"checks on the user's own commit that fail", func(s *fixture) { s.checkOf("r1", plantWord, "false") }, true},
		{"checks before the first call", func(s *fixture) { s.plantAtBaseline(false) }, true},
		{"checks before the first call of a run that an agent has started", func(s *fixture) { s.plantAtBaseline(true) }, false},
		{"checks on the base of a run that an agent has started", func(s *fixture) {
			s.prepare()
			must[any](s, s.acts.Check, activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{plantWord}, Timeout: time.Minute, CacheReadOnly: true})
		}, false},
		{"checks on a commit of the run", func(s *fixture) { s.checkMade("r1", plantWord) }, false},
		{"checks on the base after those on a commit of the run", func(s *fixture) {
			s.checkMade("r1", plantWord)
			s.checkOf("r1", "true # npm")
		}, false},
		{"checks on a patch of an attempt", func(s *fixture) {
			s.prepare()
			in := activities.TryInput{CheckInput: activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Commands: []string{plantWord}, Timeout: time.Minute}, Candidate: 1, Number: 1}
			in.Patch, _ = s.dir().Keep("execute/iter-0001.try-1.patch", []byte("--- a/log.txt\n+++ b/log.txt\n@@ -1 +1,2 @@\n one\n+two\n"))
			must[activities.Judgement](s, s.acts.Try, in)
		}, false},
		{"checks on a commit that the user does not have", func(s *fixture) {
			mine := s.base
			s.base = run.Commit(s.git("commit-tree", "-m", "a stranger's", "-p", string(mine), string(mine)+"^{tree}"))
			s.checkOf("r1", plantWord)
			s.base = mine
		}, false},
		{"checks on a commit from which the user's comes", func(s *fixture) {
			s.checkOf("r1", plantWord)
			s.write("log.txt", "more\n")
			s.git("commit", "-q", "-a", "-m", "the user goes on")
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", inBox(t), freshHome(t.TempDir()))
			tc.plant(s)
			c := s.checkOf("r2", findWord).Checks[0]
			if found := c.Status == "pass" && strings.Contains(c.Head, "planted"); found != tc.kept {
				t.Errorf("another run finds it: %v, want %v: %s", found, tc.kept, c.Head)
			}
		})
	}
}

// plantAtBaseline has the checks before the first call of a run write the word.
func (s *fixture) plantAtBaseline(readOnly bool) {
	s.t.Helper()
	in := s.checkInput(plantWord)
	in.Iteration, in.Evaluation, in.Baseline, in.CacheReadOnly = 0, 1, true, readOnly
	in.Entry = s.created()
	must[any](s, s.acts.Check, in)
}

// TestALayerIsOneRepositorys has two repositories on one worker.
func TestALayerIsOneRepositorys(t *testing.T) {
	s := newFixtureWith(t, "runs", inBox(t), freshHome(t.TempDir()))
	s.checkOf("r1", plantWord)
	own := s.repo
	s.repo = filepath.Join(t.TempDir(), "other")
	if out, err := gittest.Command(t.Context(), "", "clone", "-q", own, s.repo).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if c := s.checkOf("r2", findWord).Checks[0]; c.Status == "pass" {
		t.Errorf("another repository finds it: %s", c.Head)
	}
	s.repo = own
	if c := s.checkOf("r3", findWord).Checks[0]; c.Status != "pass" {
		t.Errorf("the repository itself does not: %s", c.Head)
	}
}

// recorder is a module proxy that serves a module cache and notes what it is asked for.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newRecorder(t *testing.T, dir string) *recorder {
	r := &recorder{}
	files := http.FileServer(http.Dir(dir))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q.URL.Path)
		r.mu.Unlock()
		files.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// TestNoModuleIsDownloadedTwice has a user without any cache, and a repository with a dependency: the first
// run downloads, by a proxy that records it, and the second asks for nothing, even on a patched commit and
// without a network.
func TestNoModuleIsDownloadedTwice(t *testing.T) {
	need.Suite(t, need.CI)
	need.Program(t, "go")
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	check(t, err)
	proxy := newRecorder(t, filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	for _, boxed := range []bool{true, false} {
		if !boxed && !need.Has(need.Nightly) {
			t.Log("the same without the box: with RATCHET_TEST=nightly")
			continue
		}
		settings := []func(*activities.Config){freshHome(t.TempDir(), "GOPROXY", proxy.URL, "GOSUMDB", "off", "GOFLAGS", "-mod=mod")}
		if boxed {
			settings = append(settings, inBox(t))
		}
		s := newFixtureWith(t, "runs", settings...)
		goSample(t, s)
		network := []string{strings.TrimPrefix(proxy.URL, "http://")}
		if !boxed {
			network = nil
		}
		checkWith := func(id run.ID, network []string) (string, []string) {
			h := s.place()
			h.RunID = id
			must[any](s, s.acts.Prepare, h)
			j := must[activities.Judgement](s, s.acts.Check, activities.CheckInput{Header: h, Iteration: 1, Commit: s.base, Commands: []string{"go test ./..."}, Timeout: 10 * time.Minute, Network: network})
			return string(j.Verdict) + strings.Join(j.Reasons, " "), proxy.take()
		}
		began := time.Now()
		if verdict, asked := checkWith("r1", network); verdict != string(run.Pass) || len(asked) == 0 {
			t.Errorf("in the box %v: first run: %s, asked for %q", boxed, verdict, asked)
		}
		first := time.Since(began)
		began = time.Now()
		for _, id := range []run.ID{"r2", "r3"} {
			if verdict, asked := checkWith(id, nil); verdict != string(run.Pass) || len(asked) != 0 {
				t.Errorf("in the box %v: %s: %s, asked for %q", boxed, id, verdict, asked)
			}
		}
		t.Logf("in the box %v: first run %v, two more %v", boxed, first, time.Since(began))
	}
}

// goSample makes the repository a Go module with a dependency.
func goSample(t *testing.T, s *fixture) {
	t.Helper()
	for name, text := range samples(t)[0].files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(s.repo, name)), 0o755))
		s.write(name, text)
	}
	s.git("add", ".")
	s.git("commit", "-q", "-m", "a module")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
}
