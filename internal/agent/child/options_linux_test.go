package child_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// places are a further directory, and one with the program of a server.
type places struct{ more, tools string }

func nothing(*agent.Options, places) {}

func serve(o *agent.Options, p places) {
	o.Servers = map[string]setup.Server{"docs": {Command: filepath.Join(p.tools, "server")}}
}

// TestOptionsInTheBox holds that a directory is shown as it was said, and of a server its program alone. The
// control does the same without a box.
func TestOptionsInTheBox(t *testing.T) {
	boxed := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		give   func(o *agent.Options, p places)
		script string
		boxed  bool // it can
	}{
		"a directory that is not named":    {nothing, "cat MORE/file && echo yes", false},
		"it reads one to read":             {func(o *agent.Options, p places) { o.ReadDirs = []string{p.more} }, "cat MORE/file && echo yes", true},
		"it writes one to read":            {func(o *agent.Options, p places) { o.ReadDirs = []string{p.more} }, "echo x > MORE/new && echo yes", false},
		"it writes one to change":          {func(o *agent.Options, p places) { o.Dirs = []string{p.more} }, "echo x > MORE/new && echo yes", true},
		"a reader writes one to change":    {func(o *agent.Options, p places) { o.Sandbox, o.Dirs = agent.ReadOnly, []string{p.more} }, "echo x > MORE/new && echo yes", false},
		"a server that is not named":       {nothing, "true; TOOLS/server", false},
		"it starts a server":               {serve, "true; TOOLS/server", true},
		"it changes a server":              {serve, "echo x >> TOOLS/server && echo yes", false},
		"it reads what is beside a server": {serve, "cat TOOLS/secret && echo yes", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []child.Sandbox{boxed, {}} {
				p := places{t.TempDir(), t.TempDir()}
				write(t, p.more+"/file", "file", 0o600)
				write(t, p.tools+"/server", "#!/bin/sh\necho yes\n", 0o700)
				write(t, p.tools+"/secret", "secret", 0o600)
				o := agent.Options{Sandbox: agent.WorkspaceWrite}
				tt.give(&o, p)
				script := strings.NewReplacer("MORE", p.more, "TOOLS", p.tools).Replace(tt.script)
				got := strings.HasSuffix(newPlace(t).run(t, s, o, script), "yes")
				if want := tt.boxed || !s.Held(); got != want {
					t.Errorf("in a box: %v: it does: %v, want %v", s.Held(), got, want)
				}
			}
		})
	}
}

func TestFindServers(t *testing.T) {
	for name, tt := range map[string]struct{ command, says string }{
		"on PATH":                 {"sh", ""},
		"an absolute path":        {"/bin/sh", ""},
		"not on PATH":             {"ratchet-no-such", "MCP server docs: no program ratchet-no-such in /usr/bin, /bin"},
		"of the repository":       {"./server", "relative path"},
		"of a directory below it": {"tools/server", "relative path"},
		"a file that is none":     {"/etc/passwd", "not an executable"},
	} {
		found, err := child.FindServers(map[string]setup.Server{"docs": {Command: tt.command}}, "/usr/bin:/bin")
		if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) || err == nil && !filepath.IsAbs(found["docs"].Command) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
