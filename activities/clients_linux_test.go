package activities_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// realClient is a provider whose agent is a real client. It has the client's shell run a command, and answers with its
// output.
type realClient struct {
	adapter agent.Adapter
	shell   func(command string) string // the directives of a prompt
	command string
}

func (realClient) Capabilities() provider.Capabilities {
	return provider.Capabilities{Name: "client", Edits: true}
}

func (p realClient) Generate(ctx context.Context, req provider.Request, _ func(provider.Progress)) (provider.Response, error) {
	at, err := req.Work.Site.Checkout(ctx, false)
	if err != nil {
		return provider.Response{}, err
	}
	if at.Release != nil {
		defer at.Release()
	}
	s, err := p.adapter.Start(ctx, agent.Options{Dir: at.Dir, Top: at.Top, Objects: at.Objects, Kit: at.Kit, Sandbox: agent.WorkspaceWrite})
	if err != nil {
		return provider.Response{}, err
	}
	defer s.Stop(context.WithoutCancel(ctx))
	if err := s.Send(ctx, p.shell("{ "+p.command+"; } > said.txt 2>&1; mv said.txt all.txt")); err != nil {
		return provider.Response{}, err
	}
	if err := awaitTurn(ctx, s); err != nil {
		return provider.Response{}, err
	}
	for { // a client can end its turn while a command of its shell still runs
		b, err := os.ReadFile(filepath.Join(at.Dir, "all.txt"))
		if err == nil {
			return provider.Response{RawText: string(b) + "done", FinishReason: provider.Stop}, nil
		}
		select {
		case <-ctx.Done():
			b, _ := os.ReadFile(filepath.Join(at.Dir, "said.txt"))
			return provider.Response{}, fmt.Errorf("%w: so far the command has said %q", ctx.Err(), b)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// awaitTurn allows every tool until the end of the turn.
func awaitTurn(ctx context.Context, s agent.Session) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-s.Events():
			if !ok {
				return errors.New("the session has ended")
			}
			switch e := e.(type) {
			case agent.Permission:
				if err := s.Decide(ctx, agent.PermissionDecision{CallID: e.CallID, Verdict: agent.Allow}); err != nil {
					return err
				}
			case agent.Turn:
				if e.Status != agent.Completed {
					return fmt.Errorf("the turn is %s: %w", e.Status, e.Err)
				}
				return nil
			}
		}
	}
}

// realClients are the clients, by their names. Each asks the model at the address by a configuration in the home.
var realClients = map[string]struct {
	variable string // names the program
	open     func(t *testing.T, binary, home, model string, sandbox child.Sandbox) agent.Adapter
	shell    func(command string) string
}{
	"claude": {"CLAUDE_BIN", func(_ *testing.T, binary, home, model string, sandbox child.Sandbox) agent.Adapter {
		return claude.New(claude.Config{Binary: binary, Sandbox: sandbox, Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=dumb", "ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=sk-ant-dummy",
		}})
	}, func(command string) string {
		return fakemodel.Tool("Bash", map[string]any{"command": command, "description": "test", "timeout": 600_000})
	}},
	"codex": {"CODEX_BIN", func(t *testing.T, binary, home, model string, sandbox child.Sandbox) agent.Adapter {
		check(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
		check(t, os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(fakemodel.CodexConfig(model)), 0o600))
		return codex.New(codex.Config{Binary: binary, Sandbox: sandbox, Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=dummy",
		}})
	}, func(command string) string {
		return fakemodel.Tool("exec_command", map[string]any{"cmd": command, "yield_time_ms": 30_000})
	}},
	"opencode": {"OPENCODE_BIN", func(t *testing.T, binary, home, model string, sandbox child.Sandbox) agent.Adapter {
		config := filepath.Join(home, "opencode.json")
		check(t, os.WriteFile(config, []byte(fakemodel.OpencodeConfig(model)), 0o600))
		check(t, fakemodel.SettleOpencode(home))
		return acp.New(acp.Config{Argv: []string{binary, "acp"}, Sandbox: sandbox, Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
		}})
	}, func(command string) string {
		return fakemodel.Tool("bash", map[string]any{"command": command, "description": "test", "timeout": 600_000})
	}},
}

// project is a small project of one language, with a dependency that only the user's caches have.
type project struct {
	test    string // its command
	green   string // what it says of tests that pass
	missing string // why it cannot be tested here
	prepare func(s *fixture, home string)
	late    func(s *fixture) // after the commit
}

// systemPython is a Python of the system that has pytest, or empty: the box shows no other's packages.
func systemPython() string {
	if exec.Command("/usr/bin/python3", "-c", "import pytest, venv").Run() != nil {
		return ""
	}
	return "/usr/bin/python3"
}

func projects() map[string]project {
	all := map[string]project{
		"go": {test: "go test ./...", green: "ok  \texample.org/x", prepare: func(s *fixture, _ string) {
			s.writeGoProject()
		}},
		"npm": {test: "npm ci --offline --no-audit --no-fund && npm test", green: "the word is special", prepare: writeNodeProject},
		"pytest": {test: "python -m pytest -q -p no:cacheprovider", green: "1 passed", prepare: func(s *fixture, _ string) {
			s.write("requirements.txt", "special\n")
			s.write("test_x.py", "import special\n\n\ndef test_word():\n    assert special.word == \"special\"\n")
		}, late: addVenv},
	}
	for name, reason := range map[string]string{"npm": "npm is not installed", "go": "Go is not installed"} {
		if _, err := exec.LookPath(name); err != nil {
			p := all[name]
			p.missing, all[name] = reason, p
		}
	}
	if p := all["pytest"]; systemPython() == "" {
		p.missing = "the system's Python has no pytest or no venv"
		all["pytest"] = p
	}
	return all
}

// writeNodeProject puts the dependency of the project into the user's cache of npm.
func writeNodeProject(s *fixture, home string) {
	s.t.Helper()
	dir := s.t.TempDir()
	check(s.t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"special-word","version":"1.0.0","main":"index.js"}`), 0o600))
	check(s.t, os.WriteFile(filepath.Join(dir, "index.js"), []byte("module.exports = 'special'\n"), 0o600))
	npm := func(args ...string) string {
		cmd := exec.Command("npm", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+home, "npm_config_cache="+filepath.Join(home, ".npm"), "npm_config_update_notifier=false")
		out, err := cmd.Output()
		check(s.t, err)
		return string(out)
	}
	_, rest, _ := strings.Cut(npm("pack", "--json"), `"integrity": "`)
	integrity, _, _ := strings.Cut(rest, `"`)
	npm("cache", "add", "./special-word-1.0.0.tgz")
	const use = `"name":"x","version":"1.0.0","dependencies":{"special-word":"1.0.0"}`
	s.write("package.json", `{`+use+`,"scripts":{"test":"node test.js"}}`)
	s.write("package-lock.json", `{"name":"x","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{`+use+`},"node_modules/special-word":{"version":"1.0.0",`+
		`"resolved":"https://registry.npmjs.org/special-word/-/special-word-1.0.0.tgz","integrity":"`+integrity+`"}}}`)
	s.write("test.js", "console.log('the word is ' + require('special-word'))\n")
}

// addVenv makes the virtual environment in the user's checkout, which no commit has, with a package of its own.
func addVenv(s *fixture) {
	s.t.Helper()
	venv := filepath.Join(s.repo, ".venv")
	if out, err := exec.Command(systemPython(), "-m", "venv", "--without-pip", "--system-site-packages", venv).CombinedOutput(); err != nil {
		s.t.Fatalf("make a virtual environment: %v %s", err, out)
	}
	places, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	if err != nil || len(places) != 1 {
		s.t.Fatalf("got the directories %q, %v, want one", places, err)
	}
	check(s.t, os.WriteFile(filepath.Join(places[0], "special.py"), []byte("word = \"special\"\n"), 0o600))
}

// Each real client, in the sandbox and offline, runs the tests of a Go, a Node and a Python project, each with a
// dependency from the user's caches, and sees them pass. What one run writes into a cache no other run sees, and neither
// does the user. The control is the run itself, which sees what it has written.
func TestRealClientsTestProjectsInTheBoxOffline(t *testing.T) {
	need.Suite(t, need.CI)
	places, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	check(t, err)
	modules, built, _ := strings.Cut(strings.TrimSpace(string(places)), "\n")
	for name, of := range realClients {
		t.Run(name, func(t *testing.T) {
			binary, home, model := need.Env(t, of.variable), t.TempDir(), fakemodel.Start(t)
			environ := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GOMODCACHE": modules, "GOCACHE": built, "GOTOOLCHAIN": "local"}
			var held activities.Sandbox
			s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) {
				held = c.Sandbox
				c.LookupEnv = func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
			})
			command, all := "true", projects()
			for _, p := range all {
				if p.missing == "" {
					p.prepare(s, home)
					command += "; " + p.test
				}
			}
			s.git("add", ".")
			s.git("commit", "-q", "-m", "projects")
			s.base = run.Commit(s.git("rev-parse", "HEAD"))
			for _, p := range all {
				if p.missing == "" && p.late != nil {
					p.late(s)
				}
			}
			caches := `"$GOCACHE" "$GOMODCACHE"`
			if all["npm"].missing == "" {
				caches += ` "$npm_config_cache"`
			}
			look := "; for d in " + caches + `; do test -d "$d" && cat "$d/planted"; done`
			client := realClient{adapter: of.open(t, binary, home, model.URL, child.Sandbox{Box: held.Box}), shell: of.shell}
			client.command = command + "; for d in " + caches + `; do echo planted by a run > "$d/planted"; done` + look
			said := s.clientSays("r1", client)
			for name, p := range all {
				t.Run(name, func(t *testing.T) {
					if p.missing != "" {
						t.Skip(p.missing)
					}
					if !strings.Contains(said, p.green) {
						t.Errorf("got %s, want %q", said, p.green)
					}
				})
			}
			want := strings.Count(caches, "$")
			if got := strings.Count(said, "planted by a run"); got != want {
				t.Errorf("got %s, want that the run sees what it has planted in %d caches", said, want)
			}
			client.command = "true" + look
			if got := s.clientSays("r2", client); strings.Contains(got, "planted by a run") || strings.Count(got, "No such file") != want {
				t.Errorf("got %s in another run, want none of the %d planted files", got, want)
			}
			for _, cache := range []string{modules, built, filepath.Join(home, ".npm")} {
				if _, err := os.Lstat(filepath.Join(cache, "planted")); err == nil {
					t.Errorf("the user's cache %s has what an agent planted", cache)
				}
			}
		})
	}
}

// clientSays returns the output of a client's command, in a run of its own.
func (s *fixture) clientSays(id run.ID, p realClient) string {
	s.t.Helper()
	s.agent = p
	c := s.call(run.Plan)
	c.RunID, c.Slot, c.Sandbox = id, "developer", run.SandboxRequired
	must[any](s, s.acts.Prepare, c.Header)
	out := must[activities.PlanResult](s, s.acts.Plan, c)
	b, err := s.runs.Run(id).Load(out.Plan)
	check(s.t, err)
	return string(b)
}
