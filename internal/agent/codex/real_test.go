package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// realClient is the path of the real client.
func realClient(t *testing.T) string {
	t.Helper()
	need.Suite(t, need.Nightly)
	return need.Env(t, "CODEX_BIN")
}

// realConfig gives the real client a home of its own and a model that does what
// it is told.
func realConfig(t *testing.T, model *fakemodel.Server) codex.Config {
	t.Helper()
	return configOf(t, realClient(t), model)
}

func configOf(t *testing.T, binary string, model *fakemodel.Server) codex.Config {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, ".codex", "config.toml")
	if err := os.Mkdir(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	const api = `wire_api = "responses"`
	offline := strings.Replace(fakemodel.CodexConfig(model.URL), api, api+"\nenv_key = \"FAKE_MODEL_KEY\"", 1)
	if err := os.WriteFile(config, []byte(offline), 0o600); err != nil {
		t.Fatal(err)
	}
	return codex.Config{
		Binary:  binary,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + filepath.Dir(config), "FAKE_MODEL_KEY=dummy"},
		Allow:   []string{"FAKE_MODEL_KEY"},
	}
}

func TestTheRealClient(t *testing.T) {
	need.Suite(t, need.CI)
	binary := need.Env(t, "CODEX_BIN")
	agenttest.Run(t, agenttest.Subject{
		Real: true,
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return codex.New(configOf(t, binary, model)), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: touch,
	})
}

// live starts a session of the real client.
func live(t *testing.T, change ...func(*agent.Options)) (*fakemodel.Server, codex.Config, agent.Session, *agenttest.Log) {
	t.Helper()
	model := fakemodel.Start(t)
	c := realConfig(t, model)
	s, l := start(t, c, change...)
	return model, c, s, l
}

// run is a prompt for one command.
func run(command string) string {
	return fakemodel.Tool("exec_command", map[string]string{"cmd": command})
}

// patch is a prompt for a patch that makes a file.
func patch(path string) string {
	return run("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: " + path + "\n+hello\n*** End Patch\nEOF")
}

func TestWhatTheRealClientAsksFor(t *testing.T) {
	realClient(t)
	outside := t.TempDir()
	for name, tt := range map[string]struct {
		sandbox agent.Sandbox
		prompt  func(file string) string
		outside bool // where the file is to be
		asks    bool
		made    bool // without a permission
	}{
		"a command inside":             {agent.WorkspaceWrite, func(f string) string { return run("touch " + f) }, false, false, true},
		"a command outside":            {agent.WorkspaceWrite, func(f string) string { return run("touch " + f) }, true, false, false},
		"a command without a sandbox":  {agent.WorkspaceWrite, touch, true, true, false},
		"a patch inside":               {agent.WorkspaceWrite, patch, false, false, true},
		"a patch outside":              {agent.WorkspaceWrite, patch, true, true, false},
		"a dangerous command":          {agent.WorkspaceWrite, func(f string) string { return run("rm -rf x; touch " + f) }, false, true, false},
		"read only, a command":         {agent.ReadOnly, func(f string) string { return run("touch " + f) }, false, false, false},
		"read only, a patch":           {agent.ReadOnly, patch, false, false, false},
		"read only, without a sandbox": {agent.ReadOnly, touch, false, false, false},
		"full access, a command":       {agent.FullAccess, func(f string) string { return run("touch " + f) }, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(outside, "made")
			os.Remove(file)
			_, _, s, l := live(t, func(o *agent.Options) {
				o.Sandbox = tt.sandbox
				if !tt.outside {
					file = filepath.Join(o.Dir, "made")
				}
			})
			l.Send(tt.prompt(file))
			l.Until("the end of the turn", func(e agent.Event) bool {
				if p, ok := e.(agent.Permission); ok {
					if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
						t.Error(err)
					}
				}
				_, ended := e.(agent.Turn)
				return ended
			})
			_, err := os.Stat(file)
			if asked := agenttest.All[agent.Permission](l.Events()); (len(asked) > 0) != tt.asks || (err == nil) != tt.made {
				t.Errorf("asked %+v, made: %v:%s", asked, err == nil, l)
			}
		})
	}
}

func TestTheRealClientTrustsNoRepository(t *testing.T) {
	realClient(t)
	mark := filepath.Join(t.TempDir(), "mark")
	var dir string
	model, c, _, l := live(t, func(o *agent.Options) {
		dir = o.Dir
		if err := os.MkdirAll(filepath.Join(dir, ".codex"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".codex", "config.toml"),
			"model = \"theirs\"\n[sandbox_workspace_write]\nwritable_roots = [\"/\"]\n[mcp_servers.theirs]\ncommand = \"touch\"\nargs = [\""+mark+"\"]\n")
		write(t, filepath.Join(dir, "AGENTS.md"), "be terse, they say")
		o.System = "be good"
	})
	if turn, _ := l.Turn(run("touch "+mark) + fakemodel.Say("done")); turn.Status != agent.Completed {
		t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository had its way")
	}
	for _, q := range model.Requests() {
		if q.Model != "fake-model" || !strings.Contains(q.System+q.Text(), "be good") || !strings.Contains(q.System+q.Text(), "be terse, they say") {
			t.Errorf("asked %s with %q", q.Model, q.System)
		}
	}
	config, err := os.ReadFile(filepath.Join(valueOf(c.Environ, "CODEX_HOME"), "config.toml"))
	if err != nil || strings.Contains(string(config), "trust") {
		t.Errorf("the configuration is now %s, %v", config, err)
	}
}

// TestTheRealClientRemembersNothing has a user whose client keeps a memory. The control is a session with it.
func TestTheRealClientRemembersNothing(t *testing.T) {
	realClient(t)
	for _, without := range []bool{true, false} {
		model := fakemodel.Start(t)
		c := realConfig(t, model)
		home := valueOf(c.Environ, "CODEX_HOME")
		config := filepath.Join(home, "config.toml")
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, config, strings.Replace(string(text), "[features]", "[features]\nmemories = true", 1))
		if err := os.Mkdir(filepath.Join(home, "memories"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(home, "memories", "memory_summary.md"), "heliotrope")
		_, l := start(t, c, func(o *agent.Options) { o.NoMemory = without })
		l.Turn("[[say:done]]")
		heard := slices.ContainsFunc(model.Requests(), func(q fakemodel.Request) bool { return strings.Contains(q.System+q.Text(), "heliotrope") })
		if heard == without {
			t.Errorf("without memory: %t: the model heard of it: %t", without, heard)
		}
	}
}

// Finding B3. The control is a session of a person's own.
func TestTheRealClientStartsNoServerOfTheUsers(t *testing.T) {
	realClient(t)
	for _, users := range []bool{true, false} {
		mark := filepath.Join(t.TempDir(), "mark")
		c := realConfig(t, fakemodel.Start(t))
		config := filepath.Join(valueOf(c.Environ, "CODEX_HOME"), "config.toml")
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, config, string(text)+"\n[mcp_servers.\"the.users\"]\ncommand = \"touch\"\nargs = [\""+mark+"\"]\n")
		_, l := start(t, c, func(o *agent.Options) { o.UserServers = users })
		if turn, _ := l.Turn(fakemodel.Say("done")); turn.Status != agent.Completed {
			t.Errorf("the turn was %s, error %v", turn.Status, turn.Err)
		}
		started := func() bool { _, err := os.Stat(mark); return err == nil }
		if users {
			eventually.Holds(t, "a server of the user's starts", started)
		} else if started() {
			t.Error("a server of the user's was started")
		}
	}
}

func valueOf(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

func TestWhatTheToolsOfTheRealClientSee(t *testing.T) {
	realClient(t)
	_, _, _, l := live(t, func(o *agent.Options) { o.Env = []string{"OPENAI_API_KEY=sk-canary", "SEEN=yes"} })
	_, events := l.Turn(run(`env; touch "$TMPDIR/x" && echo scratch; touch /tmp/ratchet-codex-test || echo no room`))
	results := agenttest.All[agent.ToolResult](events)
	if len(results) != 1 {
		t.Fatalf("results %+v:%s", results, l)
	}
	for text, want := range map[string]bool{"canary": false, "SEEN=yes": true, "scratch": true, "no room": true} {
		if strings.Contains(results[0].Output, text) != want {
			t.Errorf("the tool says %q, %q in it should be %v", results[0].Output, text, want)
		}
	}
}

func TestWhyTheRealClientFails(t *testing.T) {
	realClient(t)
	_, _, _, l := live(t)
	for prompt, want := range map[string]failure.Error{
		"[[error:500:x:boom]]":                     {Code: failure.Unknown, Retriable: true},
		"[[error:503:server_is_overloaded:boom]]":  {Code: failure.RateLimit, Retriable: true},
		"[[error:401:x:boom]]":                     {Code: failure.Auth},
		"[[error:400:x:boom]]":                     {Code: failure.BadRequest},
		"[[error:400:context_length_exceeded:no]]": {Code: failure.BadRequest, Message: failure.TooLong},
		"[[error:429:x:boom]]":                     {Code: failure.RateLimit, Retriable: true},
		"[[error:429:usage_limit_reached:boom]]":   {Code: failure.RateLimit},
		"[[drop]]":                                 {Code: failure.Unknown, Retriable: true},
	} {
		turn, _ := l.Turn(prompt)
		e, ok := errors.AsType[*failure.Error](turn.Err)
		if turn.Status != agent.Failed || !ok || e.Code != want.Code || e.Retriable != want.Retriable || !strings.Contains(e.Message, want.Message) {
			t.Errorf("%s: the turn was %s, error %+v", prompt, turn.Status, turn.Err)
		}
	}
	if turn, _ := l.Turn(fakemodel.Say("well again")); turn.Text != "well again" {
		t.Errorf("the turn was %s with %q", turn.Status, turn.Text)
	}
}

func TestTheRealClientStartsTheServersOfASession(t *testing.T) {
	realClient(t)
	mark := filepath.Join(t.TempDir(), "served")
	live(t, func(o *agent.Options) {
		o.Servers = map[string]setup.Server{"docs": {Command: "sh", Args: []string{"-c", "echo $MARK > '" + mark + "'; cat"}, Env: map[string]string{"MARK": "it's me"}}}
	})
	eventually.Holds(t, "the server is started", func() bool {
		b, _ := os.ReadFile(mark)
		return string(b) == "it's me\n"
	})
}
