package activities_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// checkOf runs checks of a run of its own on the site's repository.
func (s *fixture) checkOf(id run.ID, commands ...string) activities.Evaluation {
	s.t.Helper()
	h := s.place()
	h.RunID = id
	must[any](s, s.acts.Prepare, h)
	j := must[activities.Judgement](s, s.acts.Check, activities.CheckInput{Header: h, Iteration: 1, Commit: s.base, Commands: commands, Timeout: 10 * time.Minute})
	var e activities.Evaluation
	b, err := s.runs.Run(id).Load(j.Report)
	check(s.t, err)
	check(s.t, json.Unmarshal(b, &e))
	return e
}

// checkMade runs checks of a run on a commit that the run has made.
func (s *fixture) checkMade(id run.ID, commands ...string) activities.Evaluation {
	s.t.Helper()
	h := s.place()
	h.RunID = id
	must[any](s, s.acts.Prepare, h)
	made := s.git("commit-tree", "-m", "the run's", "-p", string(s.base), string(s.base)+"^{tree}")
	s.git("update-ref", "refs/heads/"+id.Branch(), made)
	j := must[activities.Judgement](s, s.acts.Check, activities.CheckInput{Header: h, Iteration: 1, Commit: run.Commit(made), Commands: commands, Timeout: 10 * time.Minute})
	s.git("update-ref", "refs/heads/"+id.Branch(), string(s.base))
	var e activities.Evaluation
	b, err := s.runs.Run(id).Load(j.Report)
	check(s.t, err)
	check(s.t, json.Unmarshal(b, &e))
	return e
}

// TestWhatOneRunBuildsNoOtherRunSees has the checks of one run plant files in every cache that they
// find. Neither other runs nor its own next evaluation see them. The control is the same on a worker without the box.
func TestWhatOneRunBuildsNoOtherRunSees(t *testing.T) {
	home := t.TempDir()
	warm := filepath.Join(home, ".npm", "warm")
	check(t, os.MkdirAll(filepath.Dir(warm), 0o700))
	check(t, os.WriteFile(warm, []byte("the user's\n"), 0o600))
	atHome := func(c *activities.Config) {
		c.LookupEnv = func(name string) (string, bool) {
			v, ok := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
			return v, ok
		}
	}
	boxed, plain := newFixtureWith(t, "runs", inBox(t), atHome), newFixtureWith(t, "runs", atHome)
	const cache = `for npm in "$npm_config_cache" "$XDG_CACHE_HOME"; do test -z "$npm" || `
	plant := cache + `{ mkdir -p "$npm"; echo evil > "$npm/planted"; echo evil > "$npm/warm"; } || exit 1; done`
	find := cache + `! grep -rq evil "$npm" || { echo found in $npm; exit 1; }; done`
	for _, s := range []*fixture{boxed, plain} {
		var ends []string
		for _, e := range []activities.Evaluation{s.checkMade("r1", plant), s.checkMade("r1", find), s.checkOf("r2", find)} {
			ends = append(ends, string(e.Checks[0].Status))
		}
		want := "pass pass pass"
		if s == plain {
			want = "pass fail fail"
		}
		if got := strings.Join(ends, " "); got != want {
			t.Errorf("in the box %v: planting, the same run, another run: %s, want %s", s == boxed, got, want)
		}
		if b, err := os.ReadFile(warm); err != nil || string(b) != "the user's\n" {
			t.Errorf("in the box %v: the user's cache holds %q, %v", s == boxed, b, err)
		}
	}
	if e := boxed.checkOf("r2", `cat "$npm_config_cache/warm" # npm`); !strings.Contains(e.Checks[0].Head, "the user's") {
		t.Errorf("the user's cache is not there: %+v", e.Checks)
	}
	h := boxed.place()
	must[any](boxed, boxed.acts.CleanUp, h)
	if _, err := os.Stat(boxed.runs.Scratch("r1")); err == nil {
		t.Error("what a run built is left behind")
	}
}

// TestACheckCannotMakeDirectoriesOfTheHost has a check replace a directory above one of its caches. The
// worker makes the caches of the next check.
func TestACheckCannotMakeDirectoriesOfTheHost(t *testing.T) {
	home, victim := t.TempDir(), t.TempDir()
	check(t, os.MkdirAll(filepath.Join(home, ".cargo", "registry"), 0o700))
	for name, lay := range map[string]string{
		"a link to a directory": "ln -s '" + victim + "' cargo",
		"a link to itself":      "ln -s cargo cargo",
		"a file":                "touch cargo",
		"a link below":          "mkdir cargo && ln -s '" + victim + "' cargo/registry",
		"a file below":          "mkdir cargo && touch cargo/registry",
		"no temporary files":    `mv moved cargo && rm -rf "$HOME/tmp" && touch "$HOME/tmp"`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) {
				c.LookupEnv = func(name string) (string, bool) {
					v, ok := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}[name]
					return v, ok
				}
			})
			for i, command := range []string{`cd "$CARGO_HOME/.." && mv cargo moved && ` + lay, `ls "$CARGO_HOME/registry"`} {
				if c := s.checkOf("r1", command+" # cargo").Checks[0]; c.Status != "pass" {
					t.Errorf("check %d: %s\n%s%s", i+1, c.Reason, c.Head, c.Tail)
				}
			}
			if made, err := os.ReadDir(victim); err != nil || len(made) > 0 {
				t.Errorf("made on the host: %v, %v", made, err)
			}
		})
	}
}

// TestACacheThatHoldsTheHomeIsNotShown names the home directory, and a link to it, as the cache of a tool.
func TestACacheThatHoldsTheHomeIsNotShown(t *testing.T) {
	home, linked := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	check(t, os.WriteFile(filepath.Join(home, "id_secret"), []byte("the user's key\n"), 0o600))
	check(t, os.Symlink(home, linked))
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{Home: home})
	check(t, err)
	for _, cache := range []string{home, linked, filepath.Dir(home)} {
		s := newFixtureWith(t, "runs", func(c *activities.Config) {
			c.Sandbox = activities.Sandbox{Policy: run.SandboxRequired, Box: b}
			c.LookupEnv = func(name string) (string, bool) {
				v, ok := map[string]string{"HOME": home, "npm_config_cache": cache, "PATH": os.Getenv("PATH")}[name]
				return v, ok
			}
		})
		c := s.checkOf("r1", `! grep -rs "the user's key" "$npm_config_cache" "$XDG_CACHE_HOME" # npm`).Checks[0]
		if c.Status != "pass" {
			t.Errorf("%s: %s\n%s", cache, c.Reason, c.Head)
		}
		if log := s.logOf("r1", "check"); !strings.Contains(log, cache) || !strings.Contains(log, "home directory") {
			t.Errorf("%s: the log does not say that it is left out: %q", cache, log)
		}
	}
}

// TestRepositoriesShareNoCache has two repositories on a worker without the box.
func TestRepositoriesShareNoCache(t *testing.T) {
	s := newFixture(t)
	a, b, again := s.runs.Cache("/src/a"), s.runs.Cache("/src/b"), s.runs.Cache("/src/a")
	if a == b || a != again {
		t.Errorf("%s, %s and again %s", a, b, again)
	}
	e := s.checkOf("r1", `test "$XDG_CACHE_HOME" = '`+s.runs.Cache(s.repo)+`'`)
	if e.Checks[0].Status != "pass" {
		t.Errorf("%+v", e.Checks)
	}
}

// TestAPasswordOfTheRemoteIsNotReadInTheBox searches all that a check can reach of the repository. The
// control is the same without the box.
func TestAPasswordOfTheRemoteIsNotReadInTheBox(t *testing.T) {
	boxed, plain := newFixtureWith(t, "runs", inBox(t)), newFixture(t)
	for _, s := range []*fixture{boxed, plain} {
		s.git("config", "remote.origin.url", "https://kim:sesame-of-kim@git.example/shop.git")
		search := `borrowed=$(cat .git/objects/info/alternates); git config --list
cat .git/config "$borrowed/../config" '` + s.repo + `/.git/config'; ls "$borrowed/.."; env; git remote -v; true`
		e := s.checkOf("r1", search)
		told := e.Checks[0].Head + e.Checks[0].Tail
		if read := strings.Contains(told, "sesame-of-kim"); read != (s == plain) {
			t.Errorf("in the box %v: the password is read: %v\n%s", s == boxed, read, told)
		}
	}
}

// sample is a small project and its check.
type sample struct {
	name, check string
	needs       func(*testing.T)
	files       map[string]string
}

func samples(t *testing.T) []sample {
	sums, err := os.ReadFile("../go.sum")
	check(t, err)
	return []sample{
		{"go, with a module of the user's cache", "go test ./...", func(t *testing.T) { need.Program(t, "go") }, map[string]string{
			"go.mod":         "module example.com/sum\n\ngo 1.24\n\nrequire github.com/google/uuid v1.6.0\n",
			"go.sum":         string(sums),
			"sum.go":         "package sum\n\nimport \"github.com/google/uuid\"\n\nfunc Id() string { return uuid.Nil.String() }\n",
			"sum_test.go":    "package sum\n\nimport \"testing\"\n\nfunc TestId(t *testing.T) {\n\tif len(Id()) != 36 {\n\t\tt.Fatal(Id())\n\t}\n}\n",
			"made/empty.txt": "",
		}},
		{"npm", "npm test", func(t *testing.T) { need.Program(t, "npm") }, map[string]string{
			"package.json": `{"name": "sum", "version": "1.0.0", "scripts": {"test": "node --test"}}`,
			"sum.test.js":  "const test = require('node:test');\nconst assert = require('node:assert');\ntest('sum', () => assert.strictEqual(1 + 1, 2));\n",
		}},
		{"pytest", "pytest -q", func(t *testing.T) { need.Program(t, "pytest") }, map[string]string{
			"sum.py":      "def add(a, b):\n    return a + b\n",
			"test_sum.py": "from sum import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n",
		}},
		{"cargo", "cargo test", func(t *testing.T) {
			if _, err := exec.LookPath("cargo"); err != nil {
				t.Skip("cargo is not installed, and CI does not install a toolchain of its size")
			}
		}, map[string]string{
			"Cargo.toml": "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/lib.rs": "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[test]\nfn adds() { assert_eq!(add(1, 1), 2); }\n",
		}},
	}
}

// A program of a directory in the home of somebody is there for checks only if the operator names it.
func TestAToolchainThatIsNamedIsInTheBox(t *testing.T) {
	dir := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	check(t, proctest.WriteProgram(filepath.Join(dir, "bin", "special-tool"), "#!/bin/sh\necho special\n"))
	for _, named := range []bool{true, false} {
		s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) {
			if c.LookupEnv = os.LookupEnv; named {
				c.Toolchains = []string{dir}
			}
		})
		c := s.checkOf("r1", "special-tool && ! touch '"+dir+"/bin/planted'").Checks[0]
		if (c.Status == "pass") != named {
			t.Errorf("named %t: %s %s\n%s", named, c.Status, c.Reason, c.Head)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "planted")); err == nil {
		t.Error("the check could write it")
	}
}

func TestProjectsBuildInTheBoxOffline(t *testing.T) {
	need.Suite(t, need.CI)
	for _, p := range samples(t) {
		t.Run(p.name, func(t *testing.T) {
			p.needs(t)
			s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) { c.LookupEnv = os.LookupEnv })
			for name, text := range p.files {
				check(t, os.MkdirAll(filepath.Dir(filepath.Join(s.repo, name)), 0o755))
				s.write(name, text)
			}
			s.git("add", ".")
			s.git("commit", "-q", "-m", "second")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			c := s.checkOf("r1", p.check).Checks[0]
			t.Logf("%s in %d ms, in %s", c.Status, c.DurationMs, c.Sandbox)
			if c.Status != "pass" || c.Sandbox == "" {
				t.Errorf("%s\n%s%s", c.Reason, c.Head, c.Tail)
			}
		})
	}
}

// logOf returns the log of a run about a subject.
func (s *fixture) logOf(id run.ID, subject string) string {
	b, err := os.ReadFile(filepath.Join(s.runs.Run(id).Path(), "logs", subject+".log"))
	check(s.t, err)
	return string(b)
}
