package codex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
)

// startWith starts a session that answers with whatever was asked for, and
// returns that.
func startWith(t *testing.T, change func(*agent.Options)) (method string, params map[string]any) {
	t.Helper()
	asked := make(chan frame, 1)
	c := serve(t, func(p *peer) {
		p.answer(p.expect("initialize"), `{}`)
		p.expect("initialized")
		f, _ := p.next()
		asked <- f
		p.answer(f, `{"thread":{"id":"`+thread+`"}}`)
		p.rest()
	})
	start(t, c, change)
	f := <-asked
	if err := json.Unmarshal(f.Params, &params); err != nil {
		t.Fatal(err)
	}
	return f.Method, params
}

func TestEveryStartSaysWhatBoundsTheAgent(t *testing.T) {
	for name, tt := range map[string]struct {
		change                 func(*agent.Options)
		method, sandbox, asks  string
		network, searches      bool
		model, system, resumes any
	}{
		"a fresh session": {
			change: func(*agent.Options) {},
			method: "thread/start", sandbox: "workspace-write", asks: "on-request",
		},
		"a session that goes on": {
			change: func(o *agent.Options) { o.Resume, o.Sandbox = "some thread", agent.FullAccess },
			method: "thread/resume", sandbox: "danger-full-access", asks: "on-request", resumes: "some thread",
		},
		"read only, with a model and a system prompt": {
			change: func(o *agent.Options) {
				o.Sandbox, o.System, o.Sticky.Model = agent.ReadOnly, "be good", "gpt"
			},
			method: "thread/start", sandbox: "read-only", asks: "never", model: "gpt", system: "be good",
		},
		"with the network": {
			change: func(o *agent.Options) { o.Network = true },
			method: "thread/start", sandbox: "workspace-write", asks: "on-request", network: true, searches: true,
		},
		"a mode that narrows, for this start": {
			change: func(o *agent.Options) { o.Sticky.Mode, o.Override.Mode = "workspace-write", "read-only" },
			method: "thread/start", sandbox: "read-only", asks: "never",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var dir string
			method, got := startWith(t, func(o *agent.Options) {
				tt.change(o)
				dir = o.Dir
			})
			config := got["config"].(map[string]any)
			want := map[string]any{
				"cwd": dir, "sandbox": tt.sandbox, "approvalPolicy": tt.asks, "approvalsReviewer": "user",
				"model": tt.model, "developerInstructions": tt.system, "threadId": tt.resumes,
			}
			for member, value := range want {
				if got[member] != value {
					t.Errorf("%s is %v, want %v", member, got[member], value)
				}
			}
			if method != tt.method || config["sandbox_workspace_write.network_access"] != tt.network {
				t.Errorf("%s with %v", method, config)
			}
			if config["sandbox_workspace_write.exclude_slash_tmp"] != true || (config["web_search"] == "disabled") == tt.searches {
				t.Errorf("config %v", config)
			}
			for ; dir != "/"; dir = filepath.Dir(dir) {
				if trust := config["projects"].(map[string]any)[dir]; !reflect.DeepEqual(trust, map[string]any{"trust_level": "untrusted"}) {
					t.Errorf("%s is trusted: %v", dir, trust)
				}
			}
		})
	}
}

func TestFurtherDirectoriesAndServers(t *testing.T) {
	_, got := startWith(t, func(o *agent.Options) {
		o.Dirs, o.ReadDirs = []string{"/further"}, []string{"/read"}
		o.Servers = map[string]setup.Server{"tickets": {Command: "/bin/sh", Args: []string{"-v"}}}
	})
	config := got["config"].(map[string]any)
	if dirs := config["sandbox_workspace_write.writable_roots"]; !reflect.DeepEqual(dirs, []any{"/further"}) {
		t.Errorf("directories %v", dirs)
	}
	want := map[string]any{
		"tickets":   map[string]any{"command": "/bin/sh", "args": []any{"-v"}},
		"the.users": map[string]any{"enabled": false},
	}
	if servers := config["mcp_servers"]; !reflect.DeepEqual(servers, want) {
		t.Errorf("servers %v", servers)
	}
}

// Finding B3: a server of the user's may let an agent decide what runs wait
// for.
func TestTheUsersServersAreThePersonsAlone(t *testing.T) {
	none := map[string]any{"the.users": map[string]any{"enabled": false}}
	for name, tt := range map[string]struct {
		users         bool
		servers       any
		apps, plugged any
	}{
		"a run's session":    {false, none, false, false},
		"a person's session": {true, map[string]any{}, nil, nil},
	} {
		_, got := startWith(t, func(o *agent.Options) { o.UserServers = tt.users })
		config := got["config"].(map[string]any)
		if !reflect.DeepEqual(config["mcp_servers"], tt.servers) || config["features.apps"] != tt.apps || config["features.plugins"] != tt.plugged {
			t.Errorf("%s: %v", name, config)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

func TestTheRepositorysInstructions(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a file":                    {func(path string) error { return os.WriteFile(path, []byte("be terse\n"), 0o600) }, "be terse\n"},
		"none":                      {func(string) error { return nil }, ""},
		"a directory":               {func(path string) error { return os.Mkdir(path, 0o700) }, ""},
		"a link out":                {func(path string) error { return os.Symlink(outside, path) }, ""},
		"a pipe that nobody writes": {makePipe, ""},
		"a long file": {func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("x"), 1<<20), 0o600)
		}, strings.Repeat("x", 32<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := startWith(t, func(o *agent.Options) {
				o.System = "be good"
				if err := tt.make(filepath.Join(o.Dir, "AGENTS.md")); err != nil {
					t.Fatal(err)
				}
			})
			said, _ := got["developerInstructions"].(string)
			if rest, ok := strings.CutPrefix(said, "be good"); !ok || !strings.HasSuffix(rest, tt.want) || (rest == "") != (tt.want == "") {
				t.Errorf("instructions %.100q", said)
			}
		})
	}
}

func TestResumes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		id     string
		err    error
		code   failure.Code
	}{
		"the same thread":         {`"result":{"thread":{"id":"some thread"}}`, "some thread", nil, ""},
		"another thread":          {`"result":{"thread":{"id":"migrated"}}`, "migrated", nil, ""},
		"a thread that names it":  {`"result":{"threadId":"older"}`, "older", nil, ""},
		"a thread without a name": {`"result":{"thread":{}}`, "", nil, failure.BadRequest},
		"what is no thread":       {`"result":[]`, "", nil, failure.BadRequest},
		"a thread that never was": {`"error":{"code":-32600,"message":"no rollout found for thread id some thread"}`, "", agent.ErrNoSession, ""},
		"a thread that is gone":   {`"error":{"code":-32600,"message":"thread not found: some thread"}`, "", agent.ErrNoSession, ""},
		"an id of something else": {`"error":{"code":-32600,"message":"invalid session id: invalid length"}`, "", agent.ErrNoSession, ""},
		"a thread in use":         {`"error":{"code":-32600,"message":"thread x already has an active writer"}`, "", nil, failure.Unknown},
		"a broken configuration":  {`"error":{"code":-32600,"message":"failed to load configuration: x"}`, "", nil, failure.BadRequest},
		"trouble inside":          {`"error":{"code":-32603,"message":"oh"}`, "", nil, failure.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(p *peer) {
				p.answer(p.expect("initialize"), `{}`)
				p.expect("initialized")
				p.say(`{"id":%s,`+tt.answer+`}`, p.expect("thread/resume").ID)
				p.rest()
			})
			o := agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite, Resume: "some thread"}
			s, err := codex.New(c).Start(t.Context(), o)
			if err == nil {
				defer s.Stop(t.Context())
				started := agenttest.Next[agent.Started](agenttest.Watch(t, s))
				if started != (agent.Started{SessionID: tt.id, Resumed: true}) || s.ID() != tt.id {
					t.Errorf("started %+v, id %s", started, s.ID())
				}
				return
			}
			e, _ := errors.AsType[*failure.Error](err)
			if tt.id != "" || tt.err != nil && !errors.Is(err, tt.err) || tt.code != "" && (e == nil || e.Code != tt.code) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAThreadThatIsBoundedOtherwiseIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		ok     bool
	}{
		"as was asked for":           {`"sandbox":{"type":"workspaceWrite","networkAccess":false},"approvalPolicy":"on-request"`, true},
		"without a word":             {`"model":"x"`, true},
		"a wider sandbox":            {`"sandbox":{"type":"dangerFullAccess"},"approvalPolicy":"on-request"`, false},
		"a sandbox of somebody else": {`"sandbox":{"type":"externalSandbox","networkAccess":"enabled"}`, false},
		"a network":                  {`"sandbox":{"type":"workspaceWrite","networkAccess":true}`, false},
		"another policy":             {`"approvalPolicy":"never"`, false},
		"a policy of its own":        {`"approvalPolicy":{"granular":{"rules":false}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(p *peer) {
				p.answer(p.expect("initialize"), `{}`)
				p.expect("initialized")
				p.answer(p.expect("thread/start"), `{"thread":{"id":"`+thread+`"},`+tt.answer+`}`)
				p.rest()
			})
			s, err := codex.New(c).Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite})
			if err == nil {
				s.Stop(t.Context())
			}
			if e, _ := errors.AsType[*failure.Error](err); (err == nil) != tt.ok || err != nil && (e == nil || e.Retriable) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestTheKeyIsKeptFromTheTools(t *testing.T) {
	_, got := startWith(t, func(o *agent.Options) { o.Env = []string{"OPENAI_API_KEY=sk-canary"} })
	if hidden := got["config"].(map[string]any)["shell_environment_policy.set.OPENAI_API_KEY"]; hidden != "" {
		t.Errorf("the tools see %v", hidden)
	}
}
