package child_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// plant writes a file by every way that a program has: into it, over it, and with a directory of its own
// in the place of the one above.
const plant = `plant() {
	at=$(dirname "$1"); top=$(dirname "$at"); mkdir -p "$at"
	echo evil > "$1" ||
	{ echo evil > "$at.made" && mv -f "$at.made" "$1"; } ||
	{ mv "$at" "$at.away" && mkdir -p "$at" && echo evil > "$1"; } ||
	{ test "$top" != "$HOME" && mv "$top" "$top.gone" && mkdir -p "$at" && echo evil > "$1"; }
}
`

// TestWhatAnUnboxedSessionExecutesIsKept has a client in the box write what its user's own sessions load and
// execute. The files are judged on the host. The control is the same without the box.
func TestWhatAnUnboxedSessionExecutesIsKept(t *testing.T) {
	boxed := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add   func(*child.Client, map[string]string)
		there []string // files that the user has
		files []string // that the client tries to write, besides
	}{
		"claude": {claude.AddHome,
			[]string{".claude/local/claude", ".claude/my-hooks/check.py", ".claude/status line.sh", ".claude/render", ".claude/scripts/status.js", ".claude/shell-snapshots/snapshot-bash-1.sh", ".claude/local/node_modules/.bin/claude"},
			[]string{
				".claude/settings.json", ".claude/settings.local.json", ".claude/CLAUDE.md", ".claude/commands/c.md", ".claude/agents/a.md", ".claude/skills/s/SKILL.md",
				".claude/rules/r.md", ".claude/output-styles/o.md", ".claude/hooks/h", ".claude/plugins/p", ".claude/workflows/w.js", ".claude/session-env/1/environment-start.sh",
				".claude/jobs/1.json", ".claude/daemon/dispatch/1.json", ".claude/chrome/chrome-native-host", ".claude.json",
				".claude/.credentials.json", ".claude/remote-settings.json", ".claude/scheduled_tasks.json", ".claude/loop.md", ".claude/daemon.json", ".claude/ide/1.lock",
				".claude/projects/-other/memory/MEMORY.md", ".claude/projects/-other/s.jsonl", ".claude/sessions/1.json", ".claude/teams/t/inboxes/a.json", ".claude/agent-memory/a/MEMORY.md", ".claude/state/device-mcp-consent.json",
			}},
		"codex": {codex.AddHome,
			[]string{".codex/notify.py", ".codex/bin/tool", ".codex/shell_snapshots/1.sh"},
			[]string{".codex/config.toml", ".codex/.env", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".codex/hooks.json", ".codex/prompts/p.md", ".codex/rules/default.rules", ".codex/skills/.system/s/run.py", ".codex/plugins/p", ".codex/packages/standalone/codex",
				".codex/auth.json", ".codex/memories/MEMORY.md", ".codex/models_cache.json", ".codex/environments.toml", ".codex/fast.config.toml", ".codex/sessions/2026/r.jsonl", ".codex/agents/a.toml", ".codex/state_5.sqlite"}},
		"pi": {pi.AddHome,
			[]string{".pi/agent/bin/rg", ".pi/agent/status.ts"},
			[]string{".pi/agent/tools/t.ts", ".pi/agent/extensions/e.ts", ".pi/agent/settings.json", ".pi/agent/APPEND_SYSTEM.md", ".pi/agent/git/g", ".pi/agent/npm/n", ".pi/agent/trust.json", ".pi/agent/auth.json", ".pi/agent/models-store.json",
				".pi/agent/meta-sessions/a.meta.json", ".pi/agent/meta-mailbox/a/1.msg", ".pi/agent/meta-senders/claude-code/1.json", ".pi/agent/meta-receivers/a.json",
			}},
		"opencode": {acp.AddOpencode,
			[]string{".local/share/opencode/bin/gopls", ".config/opencode/themes/t.json"},
			[]string{".local/share/opencode/bin/rg", ".config/opencode/plugin/p.ts", ".config/opencode/tool/t.ts", ".config/opencode/opencode.json", ".config/opencode/package.json", ".config/opencode/node_modules/p/index.js", ".local/share/opencode/auth.json", ".local/share/opencode/opencode.db", ".local/share/opencode/mcp-auth.json", ".local/state/opencode/kv.json"}},
		"gemini": {acp.AddGemini,
			[]string{".gemini/tmp/bin/rg"},
			[]string{".gemini/trustedFolders.json", ".gemini/.env", ".gemini/settings.json", ".gemini/policies/p.toml", ".gemini/extensions/e", ".gemini/skills/s", ".gemini/oauth_creds.json", ".gemini/tmp/c/chats/s.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []child.Sandbox{boxed, {}} {
				home, checkout := t.TempDir(), t.TempDir()
				script, forced := plant, ""
				for _, file := range tt.there {
					write(t, filepath.Join(home, file), "#!good\n", 0o700)
				}
				for _, file := range append(tt.there, tt.files...) {
					script += "mkdir -p '" + filepath.Join(home, filepath.Dir(file)) + "'; echo evil > '" + filepath.Join(home, file) + "'\n"
					forced += "plant '" + filepath.Join(home, file) + "'\n" // it may move away what later ones look for
				}
				runClient(t, s, tt.add, home, checkout, script+forced)
				for _, file := range append(tt.there, tt.files...) {
					got, _ := os.ReadFile(filepath.Join(home, file))
					if planted := strings.Contains(string(got), "evil"); planted == s.Held() {
						t.Errorf("in a box %v: %s holds %q", s.Held(), file, got)
					}
				}
			}
		})
	}
}

// TestWhatIsBesideTokensIsKept has a client, whose tokens are renewed, write and replace what its user's own sessions load
// and execute: the directory that the box shows in the place of the client's is on the disk then.
func TestWhatIsBesideTokensIsKept(t *testing.T) {
	s := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add   func(*child.Client, map[string]string)
		login string
		files []string // beside it
	}{
		"claude":   {claude.AddHome, ".claude/.credentials.json", []string{"settings.json", "CLAUDE.md", "hooks/h", "local/claude", "status.sh", "shell-snapshots/s.sh", "daemon.json"}},
		"codex":    {codex.AddHome, ".codex/auth.json", []string{"config.toml", "AGENTS.md", "rules/default.rules", "skills/s/run.py", "notify.py", "models_cache.json"}},
		"pi":       {pi.AddHome, ".pi/agent/auth.json", []string{"settings.json", "extensions/e.ts", "bin/rg", "tools/t.ts", "intercom/i"}},
		"opencode": {acp.AddOpencode, ".local/share/opencode/auth.json", []string{"bin/gopls", "opencode.db", "mcp-auth.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			home, checkout := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", t.TempDir())
			login := filepath.Join(home, tt.login)
			write(t, login, loginText("first", "mine"), 0o600)
			script := plant + "grep -q first '" + login + "' && echo begun\n"
			for _, file := range tt.files {
				path := filepath.Join(filepath.Dir(login), file)
				write(t, path, "#!good\n", 0o700)
				script += "plant '" + path + "'\n"
			}
			script += "plant '" + login + "'; mkdir -p " + filepath.Dir(login) + "/closed/x && chmod 0 " + filepath.Dir(login) + "/closed"
			if out := runClient(t, s, tt.add, home, checkout, script); !strings.HasPrefix(out, "begun") {
				t.Errorf("it does not read its tokens: %q", out)
			}
			for _, file := range tt.files {
				if got, err := os.ReadFile(filepath.Join(filepath.Dir(login), file)); err != nil || string(got) != "#!good\n" {
					t.Errorf("%s holds %q, %v", file, got, err)
				}
			}
			if accessIn(t, login) != "first" {
				t.Error("the login is lost")
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestAFileThatTheUserReplacesIsKept has the user's own session replace its settings while a client in the box tries to
// write them: the kernel lifts a mount off a file that is replaced.
func TestAFileThatTheUserReplacesIsKept(t *testing.T) {
	s := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add  func(*child.Client, map[string]string)
		file string
	}{
		"claude":   {claude.AddHome, ".claude/settings.json"},
		"codex":    {codex.AddHome, ".codex/config.toml"},
		"pi":       {pi.AddHome, ".pi/agent/settings.json"},
		"opencode": {acp.AddOpencode, ".config/opencode/opencode.json"},
	} {
		t.Run(name, func(t *testing.T) {
			home, checkout := t.TempDir(), t.TempDir()
			path, replaced := filepath.Join(home, tt.file), filepath.Join(checkout, "replaced")
			write(t, path, "old", 0o600)
			script := "touch '" + checkout + "/begun'; until test -e '" + replaced + "'; do sleep 0.05; done; (echo evil > '" + path + "') 2>/dev/null; mv -f '" + replaced + "' '" + path + "' 2>/dev/null"
			run := startClient(t, s, tt.add, home, checkout, script)
			eventually.Holds(t, "the client runs", func() bool { _, err := os.Stat(filepath.Join(checkout, "begun")); return err == nil })
			write(t, path+".new", "new", 0o600)
			if err := os.Rename(path+".new", path); err != nil {
				t.Error(err)
			}
			write(t, replaced, "evil", 0o600)
			eventually.Holds(t, "the client ends", func() bool { return !run.Alive() })
			if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
				t.Errorf("%s holds %q, %v", tt.file, got, err)
			}
		})
	}
}

// startClient starts a script as a client with the state of a known one.
func startClient(t *testing.T, s child.Sandbox, add func(*child.Client, map[string]string), home, checkout, script string) *child.Child {
	t.Helper()
	c := child.Client{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}}
	add(&c, child.ParseEnviron(c.Env))
	in, err := s.Enclose(c, agent.Options{Dir: checkout, Sandbox: agent.WorkspaceWrite})
	if err != nil {
		t.Fatal(err)
	}
	run, err := child.Start(t.Context(), child.Spec{Argv: c.Argv, Dir: checkout, Env: in.Env, Box: in.Box})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.End)
	return run
}

// runClient runs a script as a client with the state of a known one.
func runClient(t *testing.T, s child.Sandbox, add func(*child.Client, map[string]string), home, checkout, script string, path ...string) string {
	t.Helper()
	values := map[string]string{"HOME": home, "PATH": strings.Join(append(path, "/usr/bin", "/bin"), ":")}
	c := child.Client{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"HOME=" + home, "PATH=" + values["PATH"]}}
	add(&c, values)
	return enclosed(t, s, c, checkout)
}

// enclosed runs a client in its boundary, and returns what it printed.
func enclosed(t *testing.T, s child.Sandbox, c child.Client, checkout string) string {
	t.Helper()
	in, err := s.Enclose(c, agent.Options{Dir: checkout, Sandbox: agent.WorkspaceWrite})
	if err != nil {
		t.Fatal(err)
	}
	return runEnclosed(t, c.Argv, checkout, in)
}

// TestTheProgramOfTheClientIsKept has a client replace its own program, which the worker executes without a
// box to learn its version, where it lies in a directory that the client can write.
func TestTheProgramOfTheClientIsKept(t *testing.T) {
	boxed := child.Sandbox{Box: openBox(t)}
	const program = "#!/bin/sh\neval \"$SCRIPT\"\n"
	for name, tt := range map[string]struct {
		path  string            // of the program, below the home
		links map[string]string // below the home
		at    string            // by which it is started
		plant string            // what is replaced
	}{
		"two levels below":               {".claude/v/1/claude", nil, ".claude/v/1/claude", ".claude/v/1/claude"},
		"by a link elsewhere":            {".claude/v/1/claude", map[string]string{"bin/claude": "../.claude/v/1/claude"}, "bin/claude", ".claude/v/1/claude"},
		"by a link in between":           {"lib/claude", map[string]string{"bin/claude": "../.claude/v/claude", ".claude/v/claude": "../../lib/claude"}, "bin/claude", ".claude/v/claude"},
		"by a home that is a link":       {"real/.claude/v/1/claude", map[string]string{".claude": "real/.claude"}, "real/.claude/v/1/claude", "real/.claude/v/1/claude"},
		"in a directory before, on PATH": {"lib/claude", nil, "lib/claude", ".claude/first/claude"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []child.Sandbox{boxed, {}} {
				home, checkout := t.TempDir(), t.TempDir()
				write(t, filepath.Join(home, tt.path), program, 0o700)
				for from, to := range tt.links {
					if err := os.MkdirAll(filepath.Join(home, filepath.Dir(from)), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(to, filepath.Join(home, from)); err != nil {
						t.Fatal(err)
					}
				}
				values := map[string]string{"HOME": home, "PATH": home + "/.claude/first:/usr/bin:/bin"}
				c := child.Client{Argv: []string{filepath.Join(home, tt.at)}, Env: []string{"HOME=" + home, "PATH=" + values["PATH"],
					"SCRIPT=" + plant + "plant '" + filepath.Join(home, tt.plant) + "'; plant '" + filepath.Join(home, ".claude", strings.TrimPrefix(tt.plant, "real/.claude/")) + "'; echo done"}}
				claude.AddHome(&c, values)
				if out := enclosed(t, s, c, checkout); !strings.HasSuffix(out, "done") && !strings.Contains(out, "done\n") {
					t.Errorf("the client did not run: %q", out)
				}
				got, _ := os.ReadFile(filepath.Join(home, tt.plant))
				if planted := strings.Contains(string(got), "evil"); planted == s.Held() {
					t.Errorf("in a box %v: %s holds %q", s.Held(), tt.plant, got)
				}
			}
		})
	}
}

// TestWhatSettingsNameIsShown has a client read what settings of its user may name, and nothing else. Links in the user's
// directory are the user's own.
func TestWhatSettingsNameIsShown(t *testing.T) {
	s := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add             func(*child.Client, map[string]string)
		dir             string
		settings, named string
		shown, hidden   []string
	}{
		"claude": {claude.AddHome, ".claude", "settings.json", `"~/.claude/my-hooks/check.py" "@notes/style.md" "projects/x"`,
			[]string{"status.js", "team.md", "base.txt", "ca.pem", "my-hooks/check.py", "notes/style.md", "skills/s/SKILL.md", "scripts/s.sh"},
			[]string{"debug/of-another-session.txt", "stats.json", "keys.yaml", "projects/x/s.jsonl", "plans/p.md", ".credentials"}},
		"codex": {codex.AddHome, ".codex", "config.toml", "'/home/kim/.codex/more/base.md'",
			[]string{"base.txt", "prompts/p.txt", "instructions/base.txt", "more/base.md"}, []string{".credentials.json", "log/l.txt", "memories/m.md"}},
		"opencode": {acp.AddOpencode, ".config/opencode", "opencode.json", "{file:./more/build.txt}",
			[]string{"base.txt", "prompts/build.txt", "instructions/i.json", "more/build.txt"}, []string{"secret.json"}},
	} {
		for _, linked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by links: %v", name, linked), func(t *testing.T) {
				home, to := t.TempDir(), t.TempDir()
				at := home + "/" + tt.dir
				if linked {
					at = to
				}
				shown := append(tt.shown, tt.settings)
				for _, name := range append(shown, tt.hidden...) {
					write(t, filepath.Join(at, name), "hidden", 0o600)
				}
				for _, name := range shown {
					write(t, filepath.Join(at, name), "shown", 0o600)
				}
				write(t, filepath.Join(at, tt.settings), "shown "+tt.named, 0o600)
				entries, err := os.ReadDir(at)
				if err == nil {
					err = os.MkdirAll(home+"/"+tt.dir, 0o700)
				}
				for _, e := range entries {
					if linked {
						err = errors.Join(err, os.Symlink(filepath.Join(to, e.Name()), filepath.Join(home, tt.dir, e.Name())))
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				script := "cd '" + home + "/" + tt.dir + "'; cat " + strings.Join(append(shown, tt.hidden...), " ") + " 2>/dev/null; true"
				if out := runClient(t, s, tt.add, home, t.TempDir(), script); strings.Count(out, "shown") != len(shown) || strings.Contains(out, "hidden") {
					t.Errorf("it reads %q, want %d files", out, len(shown))
				}
			})
		}
	}
}

// Each box has directories of its own for what is executed of sessions that run.
func TestSnapshotsOfTheShellBelongToTheBox(t *testing.T) {
	home, checkout := t.TempDir(), t.TempDir()
	write(t, home+"/.claude/shell-snapshots/of-another.sh", "good", 0o600)
	dir := home + "/.claude/shell-snapshots"
	out := runClient(t, child.Sandbox{Box: openBox(t)}, claude.AddHome, home, checkout, "mkdir -p '"+dir+"'; ls '"+dir+"'; echo own > '"+dir+"/own.sh' && cat '"+dir+"/own.sh'")
	if out != "own" {
		t.Errorf("the client has %q", out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("on the host %v, %v", left, err)
	}
}

// A program of the user, outside of the box, listens in the directory of a client.
func TestSocketsOfTheUserAreNotInTheBox(t *testing.T) {
	boxed := child.Sandbox{Box: openBox(t)}
	for name, tt := range map[string]struct {
		add   func(*child.Client, map[string]string)
		at    string
		first string // what the client does before it connects
		to    string // at which it connects; empty: at
	}{
		"codex":                          {codex.AddHome, ".codex/app-server-control/s", "", ""},
		"codex, in its top":              {codex.AddHome, ".codex/s", "", ""},
		"codex, in a setting":            {codex.AddHome, ".codex/skills/k/s", "", ""},
		"codex, by a link, in its top":   {codex.AddHome, "dot/codex/s", "", ".codex/s"},
		"codex, by a link, in a setting": {codex.AddHome, "dot/codex/skills/k/s", "", ".codex/skills/k/s"},
		"pi":                             {pi.AddHome, ".pi/agent/intercom/s", "", ""},
		"pi, in a setting":               {pi.AddHome, ".pi/agent/extensions/e/s", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []child.Sandbox{boxed, {}} {
				home := shortDir(t)
				serveAt(t, filepath.Join(home, tt.at))
				if strings.HasPrefix(tt.at, "dot/") {
					if err := os.Symlink("dot/codex", filepath.Join(home, ".codex")); err != nil {
						t.Fatal(err)
					}
				}
				script := "cd '" + home + "' && " + cmp.Or(tt.first, "true") + " && curl -s -m 60 --unix-socket '" + cmp.Or(tt.to, tt.at) + "' http://x/ || echo refused"
				out := runClient(t, s, tt.add, home, t.TempDir(), script)
				if want := map[bool]string{true: "refused", false: "reached"}[s.Held()]; out != want {
					t.Errorf("in a box %v: %s", s.Held(), out)
				}
			}
		})
	}
}

// shortDir returns a temporary directory whose path leaves room for the path of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serveAt answers "reached" at a socket.
func serveAt(t *testing.T, at string) {
	t.Helper()
	l := listenAt(t, at)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached") }))
}

func listenAt(t *testing.T, at string) net.Listener {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
