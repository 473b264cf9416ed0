package child_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
)

// A variable that names the directory of a client must name it wherever the worker runs. Nothing is made before that.
func TestADirectoryThatIsNotAbsoluteIsRefused(t *testing.T) {
	s := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add             func(*child.Client, map[string]string)
		variable, value string
		dir             string // below the home; empty: it is refused
	}{
		"of Claude Code":           {claude.AddHome, "CLAUDE_CONFIG_DIR", "conf", ""},
		"of Codex, by a tilde":     {codex.AddHome, "CODEX_HOME", "~/conf", ""},
		"of opencode":              {acp.AddOpencode, "XDG_DATA_HOME", "./conf", ""},
		"the settings of opencode": {acp.AddOpencode, "OPENCODE_CONFIG", "opencode.json", ""},
		"of pi":                    {pi.AddHome, "PI_CODING_AGENT_DIR", "conf", ""},
		"of pi, by a user's name":  {pi.AddHome, "PI_CODING_AGENT_DIR", "~user/conf", ""},
		"the home":                 {acp.AddGemini, "HOME", "home", ""},
		"of pi, by a tilde":        {pi.AddHome, "PI_CODING_AGENT_DIR", "~/conf", "conf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			home := t.TempDir()
			c := child.Client{Argv: []string{"/bin/true"}, Env: []string{"PATH=/usr/bin", "HOME=" + home, tt.variable + "=" + tt.value}}
			tt.add(&c, child.ParseEnviron(c.Env))
			_, err := s.Enclose(c, agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite})
			want := agent.ErrUnavailable.Error() + ": " + tt.variable + "=" + tt.value + " is not an absolute path: set it to one"
			switch {
			case tt.dir == "" && (!errors.Is(err, agent.ErrUnavailable) || err.Error() != want):
				t.Errorf("got %v, want %s", err, want)
			case tt.dir != "" && (err != nil || c.Homes[0].Dir != filepath.Join(home, tt.dir)):
				t.Errorf("got %+v, %v, want the directory %s", c.Homes, err, tt.dir)
			}
			for _, dir := range []string{".", home} {
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("made in %s: %v, %v", dir, left, err)
				}
			}
		})
	}
}
