package child_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// A session finds its transcripts in its next process. What else an agent has left in its home is gone: a link would lead
// the worker, which writes a copy of a login and has places of mounts made there, to files of the user.
func TestASessionHasItsHomeAgain(t *testing.T) {
	s, home, own, o := child.Sandbox{Box: openBox(t)}, t.TempDir(), t.TempDir(), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
	o.Home = own
	target := filepath.Join(home, "target")
	write(t, filepath.Join(target, "file"), "mine", 0o600)
	run := func(script string) string {
		t.Helper()
		c := child.Client{Argv: []string{"/bin/sh", "-c", "cd '" + home + "/.claude' && " + script}, Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}}
		claude.AddHome(&c, child.ParseEnviron(c.Env))
		in, err := s.Enclose(c, o)
		if err != nil {
			t.Fatal(err)
		}
		return runEnclosed(t, c.Argv, o.Dir, in)
	}
	first := run("mkdir -p projects/p && echo kept > projects/p/s.jsonl; echo x > notes; for f in settings.json .credentials.json; do ln -s '" + target + "/file' $f; done; ln -s '" + target + "' skills; mkdir -m 0 closed; echo begun")
	if first != "begun" {
		t.Fatalf("got %q", first)
	}
	write(t, home+"/.claude/settings.json", "settings", 0o600)
	write(t, home+"/.claude/.credentials.json", loginText("first", "k"), 0o600)
	write(t, home+"/.claude/skills/s/SKILL.md", "skill", 0o600)
	if got, want := run("cat projects/p/s.jsonl settings.json skills/s/SKILL.md; grep -q first .credentials.json && echo login; ls -d notes closed 2>/dev/null; rm -r projects && ln -s '"+target+"' projects"), "kept\nsettingsskilllogin"; got != want {
		t.Errorf("the next process has %q, want %q", got, want)
	}
	if got := run("ls projects"); !strings.Contains(got, "No such file") {
		t.Errorf("a link in the place of the transcripts: got %q", got)
	}
	entries, err := os.ReadDir(target)
	text, readErr := os.ReadFile(target + "/file")
	if err != nil || readErr != nil || len(entries) != 1 || string(text) != "mine" {
		t.Errorf("the user's files: %v, %q, %v, %v", entries, text, err, readErr)
	}
	if _, err := os.Lstat(filepath.Join(own, home, ".claude/.credentials.json")); err == nil {
		t.Error("the copy of the login is still there")
	}
}

// Two boxes have one login, and a token is good once. What one renews the other has, and a box that ends later
// does not put an older one back.
func TestBoxesOfOneLogin(t *testing.T) {
	s, home := child.Sandbox{Box: openBox(t)}, t.TempDir()
	path := filepath.Join(home, ".pi/agent/auth.json")
	write(t, path, loginText("first", "mine"), 0o600)
	start := func(script string) *child.Child {
		return startClient(t, s, pi.AddHome, home, t.TempDir(), "cd '"+home+"/.pi/agent'; until_() { until grep -q $1 auth.json; do sleep 0.05; done; }; echo ready; "+script)
	}
	renew := "echo '" + loginText("second", "mine") + "' > n && mv n auth.json; "
	one, other := start("read go; "+renew+"until_ third"), start("until_ second; echo '"+loginText("third", "mine")+"' > auth.json")
	for _, c := range []*child.Child{one, other} {
		if line, err := c.ReadLine(); err != nil || string(line) != "ready" {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	if _, err := io.WriteString(one.Stdin(), "go\n"); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "both have the newest tokens", func() bool { return !one.Alive() && !other.Alive() })
	if got := accessIn(t, path); got != "third" {
		t.Errorf("the user's login has the token %q, want the third", got)
	}
}
