package activities_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// TestChecksSeeTheUsersVirtualEnvironment has a module that only a virtual environment in the user's checkout has,
// which no commit has. A check cannot write there, and a link that a commit has in its place leads nowhere.
func TestChecksSeeTheUsersVirtualEnvironment(t *testing.T) {
	python := need.Program(t, "python3")
	s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) { c.LookupEnv = os.LookupEnv })
	venv := filepath.Join(s.repo, ".venv")
	if out, err := exec.Command(python, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Skipf("no virtual environment can be made here: %v %s", err, out)
	}
	places, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	if err != nil || len(places) != 1 {
		t.Fatalf("%q, %v", places, err)
	}
	check(t, os.WriteFile(filepath.Join(places[0], "special.py"), []byte("word = 'from the environment'\n"), 0o600))
	const use = `python3 -c 'import special; print(special.word)' && ! touch "$VIRTUAL_ENV/planted"`
	if c := s.checkOf("r1", use).Checks[0]; c.Status != "pass" {
		t.Errorf("%s %s\n%s", c.Status, c.Reason, c.Head)
	}
	if _, err := os.Lstat(filepath.Join(venv, "planted")); err == nil {
		t.Error("the check could write there")
	}

	secret := t.TempDir()
	check(t, os.WriteFile(filepath.Join(secret, "pyvenv.cfg"), []byte("home = /usr/bin\n"), 0o600))
	check(t, os.MkdirAll(filepath.Join(secret, "bin"), 0o700))
	check(t, os.Symlink("/usr/bin/python3", filepath.Join(secret, "bin", "python3")))
	check(t, os.RemoveAll(venv))
	check(t, os.Symlink(secret, venv))
	s.git("add", "-f", ".venv")
	s.git("commit", "-q", "-m", "a link")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	if c := s.checkOf("r2", `test -z "$VIRTUAL_ENV" && ! cat `+secret+`/pyvenv.cfg # python3`).Checks[0]; c.Status != "pass" {
		t.Errorf("a commit chose what a check reads: %s\n%s", c.Reason, c.Head)
	}

	check(t, os.Remove(venv))
	check(t, os.MkdirAll(filepath.Join(venv, "bin"), 0o755))
	s.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
	check(t, os.Symlink("/usr/bin/python3", filepath.Join(venv, "bin", "python3")))
	s.git("add", "-f", "-A")
	s.git("commit", "-q", "-m", "a directory")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	if c := s.checkOf("r3", `test -z "$VIRTUAL_ENV" # python3`).Checks[0]; c.Status != "pass" {
		t.Errorf("a commit chose the environment: %s\n%s", c.Reason, c.Head)
	}
}
