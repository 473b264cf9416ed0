package codex_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

func TestWhatTheClientSeesOfTheEnvironment(t *testing.T) {
	c := serve(t, func(p *peer) {
		p.greet()
		p.rest()
	})
	c.Environ = append(c.Environ,
		"LC_TIME=de_DE", "TERM=dumb", "CODEX_HOME=/home/of/codex", "OPENAI_API_KEY=sk-canary", "https_proxy=http://proxy",
		"ALLOWED=yes", "SECRET=canary", "TMPDIR="+t.TempDir())
	c.Allow = append(c.Allow, "ALLOWED", "ABSENT")
	s, _ := start(t, c, func(o *agent.Options) { o.Env = []string{"TERM=xterm", "MORE=1"} })
	got := environOf(t, s.PID())
	for name, want := range map[string]string{
		"PATH": "/usr/bin:/bin", "LC_TIME": "de_DE", "TERM": "xterm", "CODEX_HOME": "/home/of/codex", "OPENAI_API_KEY": "sk-canary",
		"https_proxy": "http://proxy", "ALLOWED": "yes", "MORE": "1", "SECRET": "", "ABSENT": "",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	scratch := got["TMPDIR"]
	if info, err := os.Stat(scratch); err != nil || !info.IsDir() {
		t.Errorf("temporary files go to %q: %v", scratch, err)
	}
	s.Stop(t.Context())
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", scratch, err)
	}
}

// environOf is the environment of the program that a supervisor runs.
func environOf(t *testing.T, supervisor int) map[string]string {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", supervisor))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(children)) + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for entry := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	return values
}
