package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/command/initialize"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// initIn runs init for a user who has a home and the system's programs, and returns its exit code and what it
// said.
func initIn(t *testing.T, dir string, args ...string) (code int, out, complaint string) {
	t.Helper()
	var o, e bytes.Buffer
	c := newFactory(console.Console{
		Args: append([]string{"init", "--repo", dir, "--runs-dir", filepath.Join(t.TempDir(), "none")}, args...), Out: &o, Err: &e,
		Environ: []string{"HOME=" + t.TempDir(), "PATH=/usr/local/bin:/usr/bin:/bin"},
	})
	code = c.Run(t.Context())
	return code, o.String(), e.String()
}

func makefile(t *testing.T, recipe string) string {
	t.Helper()
	dir := clitest.Repository(t)
	clitest.Write(t, filepath.Join(dir, "Makefile"), "test:\n\t"+recipe+"\n")
	clitest.Git(t, dir, "add", "-A")
	clitest.Git(t, dir, "commit", "-q", "-m", "a makefile")
	return dir
}

func TestInitWritesWhatARunReads(t *testing.T) {
	need.Sandbox(t)
	need.Program(t, "make")
	dir := makefile(t, "echo tested > trace && test -f state.txt")
	code, out, complaint := initIn(t, dir)
	if code != 0 || !strings.Contains(out, "✓ make test passes in ") || !strings.Contains(out, "git -C ") || !strings.Contains(out, "no agent was found") {
		t.Fatalf("%d: %s%s", code, out, complaint)
	}
	if status := clitest.Git(t, dir, "status", "--porcelain", "--ignored"); status != "?? .ratchet.toml\n" {
		t.Errorf("the user's tree: %q", status)
	}
	clitest.Git(t, dir, "add", "-A")
	clitest.Git(t, dir, "commit", "-q", "-m", "settings")
	c, err := settings.ReadCommitted(t.Context(), dir, "", "HEAD", "config.toml")
	if err != nil || !c.There || c.Values["check"].Texts[0] != "make test" || c.Values["check-timeout"].Texts[0] != "3m" {
		t.Fatalf("%+v, %v", c, err)
	}
	for name := range c.Values {
		if name == "provider" {
			t.Error("a provider that is not there is written")
		}
	}
}

func TestInitTellsHowChecksEnd(t *testing.T) {
	need.Sandbox(t)
	dir := makefile(t, "true")
	nasty := "true \"quoted\\\" 'é' ${x}"
	code, out, complaint := initIn(t, dir, "--json", "--dry-run", "--provider", "codex", "--check", "false", "--check", "no-such-program", "--check", nasty, "--check", "sleep 60", "--check-timeout", "2s")
	var r initialize.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 {
		t.Fatalf("%d, %v: %s%s", code, err, out, complaint)
	}
	want := []check.Status{check.Fail, check.Error, check.Fail, check.Timeout}
	for i, once := range r.Checks {
		if once.Status != want[i] {
			t.Errorf("%s: %s, want %s", once.Command, once.Status, want[i])
		}
	}
	if _, err := os.Lstat(r.Path); err == nil || r.Written || !strings.Contains(r.Content, "no-such-program cannot run") {
		t.Errorf("%+v", r)
	}
	clitest.Write(t, r.Path, r.Content)
	clitest.Git(t, dir, "add", "-A")
	clitest.Git(t, dir, "commit", "-q", "-m", "settings")
	c, err := settings.ReadCommitted(t.Context(), dir, "", "HEAD", "config.toml")
	if err != nil || len(c.Values["check"].Texts) != 4 || c.Values["check"].Texts[2] != nasty || c.Values["provider"].Texts[0] != "codex" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestInitShowsWhyACheckFails(t *testing.T) {
	need.Sandbox(t)
	code, out, complaint := initIn(t, clitest.Repository(t), "--check", "seq 40; echo no such table >&2; exit 3", "--check", "echo fine")
	if code != 0 || !strings.Contains(out, "    │ 40\n    │ no such table\n") {
		t.Errorf("got %d: %s%s, want the last lines of the output", code, out, complaint)
	}
	if strings.Contains(out, "│ 1\n") || strings.Contains(out, "│ fine") {
		t.Errorf("got %s, want the last lines of the failing check alone", out)
	}
}

func TestInitReplacesNothingUnasked(t *testing.T) {
	need.Sandbox(t)
	dir, outside := makefile(t, "true"), filepath.Join(t.TempDir(), "users")
	clitest.Write(t, outside, "own\n")
	at := filepath.Join(dir, ".ratchet.toml")
	clitest.Must(t, os.Symlink(outside, at))
	if code, _, complaint := initIn(t, dir); code != 1 || !strings.Contains(complaint, "give --force") || strings.Count(complaint, "\n") != 1 {
		t.Errorf("%d: %s", code, complaint)
	}
	if code, out, complaint := initIn(t, dir, "--force"); code != 0 {
		t.Fatalf("%d: %s%s", code, out, complaint)
	}
	b, err := os.ReadFile(outside)
	if info, lerr := os.Lstat(at); err != nil || string(b) != "own\n" || lerr != nil || !info.Mode().IsRegular() {
		t.Errorf("the file that the link led to holds %q, %v, %v", b, err, lerr)
	}
}

func TestInitOfABareRepositoryPrintsAlone(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "bare.git")
	clitest.Git(t, ".", "clone", "-q", "--bare", clitest.Repository(t), bare)
	code, out, complaint := initIn(t, bare, "--json", "--dry-run", "--check", "true", "--sandbox", "off")
	var r initialize.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r.Written || !strings.Contains(r.Content, "check = [") || strings.Contains(out, "git -C") {
		t.Errorf("%d, %v: %s%s", code, err, out, complaint)
	}
}

func TestInitPrintsNoNameThatATerminalObeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ev\x1b[2J\ril")
	clitest.Must(t, os.Rename(clitest.Repository(t), dir))
	code, out, complaint := initIn(t, dir, "--check", "true", "--sandbox", "off")
	if code != 0 || strings.ContainsAny(out+complaint, "\x1b\r") || !strings.Contains(out, "wrote ") {
		t.Errorf("%d: %q%q", code, out, complaint)
	}
}

func TestInitRefuses(t *testing.T) {
	plain := clitest.Repository(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	clitest.Git(t, plain, "clone", "-q", "--bare", plain, bare)
	for name, tc := range map[string]struct {
		dir  string
		args []string
		code int
		says string
	}{
		"no check":                  {plain, nil, 1, "name a command with --check CMD"},
		"an empty check":            {plain, []string{"--check", " "}, 2, "--check is empty"},
		"no repository":             {t.TempDir(), nil, 1, "not a git repository"},
		"a provider of the command": {plain, []string{"--check", "true", "--sandbox", "off", "--provider", "command:./x"}, 2, "a repository's file cannot choose it"},
		"an unknown provider":       {plain, []string{"--check", "true", "--sandbox", "off", "--provider", "oracle"}, 2, "unknown kind"},
		"a bare repository":         {bare, []string{"--check", "true", "--sandbox", "off"}, 1, "run init in a work tree of it, or commit the output of --dry-run as .ratchet.toml"},
		"an argument":               {plain, []string{"more"}, 2, "no arguments"},
	} {
		code, _, complaint := initIn(t, tc.dir, tc.args...)
		if code != tc.code || !strings.Contains(complaint, tc.says) || strings.Count(complaint, "\n") != 1 {
			t.Errorf("%s: %d: %s", name, code, complaint)
		}
		if _, err := os.Lstat(filepath.Join(tc.dir, ".ratchet.toml")); err == nil {
			t.Errorf("%s: the file is there", name)
		}
	}
}
