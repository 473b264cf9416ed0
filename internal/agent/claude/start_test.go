package claude_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

func adapter(f fake, environ ...string) agent.Adapter { return claude.New(f.config(environ...)) }

// TestArguments is CLIENT.md, 3, with the sandboxes of CLIENT.md, 11.
func TestArguments(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	base := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio", "--replay-user-messages"}
	never := []string{
		"--disallowedTools=AskUserQuestion", "--disallowedTools=EnterPlanMode", "--disallowedTools=ExitPlanMode",
		"--disallowedTools=CronCreate", "--disallowedTools=ScheduleWakeup", "--disallowedTools=Monitor",
		"--disallowedTools=ListAgents", "--disallowedTools=SendMessage", "--disallowedTools=EnterWorktree", "--disallowedTools=ExitWorktree",
	}
	offline := []string{"--disallowedTools=WebFetch", "--disallowedTools=WebSearch"}
	asking := []string{"--permission-mode", "default", "--strict-mcp-config"}
	reading := []string{"--permission-mode", "default", "--tools", "Read,Grep,Glob", "--strict-mcp-config"}
	project := []string{"--setting-sources", "user", `--settings={"crossSessionInbound":"refuse"}`, "--add-dir=DIR"}
	resume := slices.Concat([]string{"--resume", id}, project)
	tests := map[string]struct {
		o    agent.Options
		want [][]string
	}{
		"a fresh session": {agent.Options{}, [][]string{{"--session-id", "ID"}, project, asking, never, offline}},
		"a resume":        {agent.Options{Resume: id}, [][]string{resume, asking, never, offline}},
		"with a network":  {agent.Options{Resume: id, Network: true}, [][]string{resume, asking, never}},
		"read-only": {agent.Options{Resume: id, Sandbox: agent.ReadOnly},
			[][]string{resume, reading, never, offline}},
		"read-only, whatever the mode": {agent.Options{Resume: id, Sandbox: agent.ReadOnly, Sticky: agent.Choice{Mode: "acceptEdits"}},
			[][]string{resume, reading, never, offline}},
		"read-only, with the user's servers": {agent.Options{Resume: id, Sandbox: agent.ReadOnly, UserServers: true}, [][]string{resume, reading, never, offline}},
		"with the user's servers":            {agent.Options{Resume: id, UserServers: true}, [][]string{resume, {"--permission-mode", "default"}, never, offline}},
		"a mode":                             {agent.Options{Resume: id, Sticky: agent.Choice{Mode: "plan"}}, [][]string{resume, {"--permission-mode", "plan", "--strict-mcp-config"}, never, offline}},
		"full access in a mode that asks": {agent.Options{Resume: id, Sandbox: agent.FullAccess, Sticky: agent.Choice{Mode: "default"}},
			[][]string{resume, asking, never, offline}},
		"an override of a part": {agent.Options{Resume: id, Sticky: agent.Choice{Model: "opus", Mode: "plan"}, Override: agent.Choice{Model: "haiku"}},
			[][]string{resume, {"--permission-mode", "plan", "--strict-mcp-config", "--model=haiku"}, never, offline}},
		"all the rest": {agent.Options{
			Resume: id, System: "- be brief\nand kind", Dirs: []string{"/a"}, ReadDirs: []string{"/b c"},
			Servers: map[string]setup.Server{"docs": {Command: "/bin/sh", Args: []string{"-c", "a b"}, Env: map[string]string{"K": "v"}}, "none": {Command: "sh"}},
			Tools:   []string{"Bash(git log *)", "Read"}, NoTools: []string{"Task"}, Network: true,
		}, [][]string{resume, asking, {
			"--append-system-prompt=- be brief\nand kind", "--mcp-config=" + `{"mcpServers":{"docs":{"args":["-c","a b"],"command":"/bin/sh","env":{"K":"v"}},"none":{"args":[],"command":"SHELL"}}}`, "--add-dir=/a", "--add-dir=/b c",
			"--allowedTools=Bash(git log *)", "--allowedTools=Read",
		}, never, {"--disallowedTools=Task"}}},
	}
	shell, err := child.FindProgram("sh", "/usr/bin:/bin")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, script{})
			s := f.start(t, tt.o)
			want := slices.Concat(base, slices.Concat(tt.want...))
			for i, arg := range want {
				want[i] = strings.NewReplacer("DIR", f.Work, "ID", s.ID(), "SHELL", shell).Replace(arg)
			}
			if got := f.Args(t); !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestFullAccess(t *testing.T) {
	f := newFake(t, script{})
	s, err := adapter(f).Start(t.Context(), f.Options(agent.Options{Sandbox: agent.FullAccess}))
	if os.Geteuid() == 0 {
		if !errors.Is(err, agent.ErrUnavailable) || !strings.Contains(err.Error(), "root") {
			t.Errorf("as root: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context())
	if argv := f.Args(t); !slices.Contains(argv, "--dangerously-skip-permissions") || slices.Contains(argv, "--permission-mode") {
		t.Errorf("got %q", argv)
	}
}

func TestRefusedOptions(t *testing.T) {
	f := newFake(t, script{})
	tests := map[string]struct {
		o    agent.Options
		want failure.Code
	}{
		"a directory that is not there":        {agent.Options{Dir: filepath.Join(f.Work, "none"), Sandbox: agent.ReadOnly}, failure.BadRequest},
		"a directory that is relative":         {agent.Options{Dir: ".", Sandbox: agent.ReadOnly}, failure.BadRequest},
		"the zero sandbox":                     {agent.Options{Dir: f.Work}, failure.BadRequest},
		"an unknown sandbox":                   {agent.Options{Dir: f.Work, Sandbox: "house"}, failure.BadRequest},
		"an unknown mode":                      {agent.Options{Dir: f.Work, Sandbox: agent.ReadOnly, Sticky: agent.Choice{Mode: "auto"}}, failure.BadRequest},
		"a server that is not there":           {agent.Options{Dir: f.Work, Sandbox: agent.WorkspaceWrite, Servers: map[string]setup.Server{"x": {Command: "ratchet-no-such"}}}, failure.BadRequest},
		"a server of the repository's":         {agent.Options{Dir: f.Work, Sandbox: agent.WorkspaceWrite, Servers: map[string]setup.Server{"x": {Command: "./x"}}}, failure.BadRequest},
		"a mode that is wider than the limits": {agent.Options{Dir: f.Work, Sandbox: agent.WorkspaceWrite, Sticky: agent.Choice{Mode: "bypassPermissions"}}, failure.BadRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := adapter(f).Start(t.Context(), tt.o)
			if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != tt.want || e.Retriable || s != nil {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	f := newFake(t, script{})
	a := adapter(f,
		"USER=u", "LANG=C", "LC_ALL=C", "TMPDIR=/tmp", "TERM=xterm", "HTTPS_PROXY=http://p", "no_proxy=x", "SSL_CERT_FILE=/c", "NODE_EXTRA_CA_CERTS=/n",
		"ANTHROPIC_API_KEY=sk-1", "ANTHROPIC_BASE_URL=http://old", "CLAUDE_CONFIG_DIR=/conf", "CLAUDE_CODE_OAUTH_TOKEN=t", "CLAUDE_CODE_USE_BEDROCK=1",
		"IS_SANDBOX=1", "CLAUDE_CODE_BUBBLEWRAP=1", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=outer", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=7",
		"AWS_SECRET_ACCESS_KEY=s", "OPENAI_API_KEY=s", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/s",
	)
	s, err := a.Start(t.Context(), f.Options(agent.Options{
		MaxOutputTokens: 8192,
		Env:             []string{"ANTHROPIC_BASE_URL=http://new", "MORE=1", "IS_SANDBOX=1", "CLAUDE_CODE_BUBBLEWRAP=1", "DISABLE_AUTOUPDATER=0"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context())
	want := []string{
		"ANTHROPIC_API_KEY=sk-1", "ANTHROPIC_BASE_URL=http://new", "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_DISABLE_FILE_MENTIONS=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_MAX_OUTPUT_TOKENS=8192", "CLAUDE_CODE_OAUTH_TOKEN=t", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/conf",
		"DISABLE_AUTOUPDATER=0", "FAKE_CLAUDE_DIR=" + f.Dir, "GORACE=atexit_sleep_ms=0", "HOME=" + f.Home, "HTTPS_PROXY=http://p", "LANG=C", "LC_ALL=C",
		"MORE=1", "NODE_EXTRA_CA_CERTS=/n", "PATH=/usr/bin:/bin", "SSL_CERT_FILE=/c", "TERM=xterm", "TMPDIR=/tmp", "USER=u", "no_proxy=x",
	}
	if got := f.Variables(t); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWithoutABoundNoneIsSet(t *testing.T) {
	f := newFake(t, script{})
	f.start(t, agent.Options{})
	for _, entry := range f.Variables(t) {
		if strings.Contains(entry, "MAX_OUTPUT_TOKENS") {
			t.Errorf("set: %s", entry)
		}
	}
}

func TestNoProgram(t *testing.T) {
	f := newFake(t, script{})
	text := filepath.Join(f.Dir, "script") // not executable
	a, b := t.TempDir(), t.TempDir()
	tests := map[string]struct {
		config claude.Config
		says   []string
	}{
		"nowhere on PATH":   {claude.Config{Environ: []string{"PATH=" + a + ":.:" + b}}, []string{"no program claude in " + a + ", " + b}},
		"no such path":      {claude.Config{Binary: filepath.Join(a, "none")}, []string{filepath.Join(a, "none")}},
		"not executable":    {claude.Config{Binary: text}, []string{text}},
		"a directory":       {claude.Config{Binary: a}, []string{a}},
		"without a PATH":    {claude.Config{}, []string{"no program claude: PATH has no"}},
		"under its name":    {claude.Config{Binary: "cloud", Environ: []string{"PATH=" + a}}, []string{"no program cloud in " + a}},
		"the last PATH won": {claude.Config{Environ: []string{"PATH=" + a, "PATH=" + b}}, []string{"no program claude in " + b}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			adapter := claude.New(tt.config)
			s, err := adapter.Start(t.Context(), f.Options(agent.Options{}))
			if !errors.Is(err, agent.ErrUnavailable) || s != nil {
				t.Fatalf("got %v, %v", s, err)
			}
			m := adapter.Manifest(t.Context())
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) || !strings.Contains(m.Unavailable, part) {
					t.Errorf("%q is not in %v, nor in %q", part, err, m.Unavailable)
				}
			}
			if m.Installed || m.Kind != setup.Claude || m.Models == nil || m.Modes == nil {
				t.Errorf("manifest %+v", m)
			}
		})
	}
}

func TestTheProgramIsFoundOnPATH(t *testing.T) {
	f := newFake(t, script{})
	config := f.config()
	dir := t.TempDir()
	if err := os.Symlink(config.Binary, filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	config.Binary, config.Environ = "", append(config.Environ, "PATH="+t.TempDir()+":"+dir)
	s, err := claude.New(config).Start(t.Context(), f.Options(agent.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop(t.Context())
}

func TestStartsThatFail(t *testing.T) {
	refused := func(code failure.Code, retriable bool) func(error) bool {
		return func(err error) bool {
			e, ok := errors.AsType[*failure.Error](err)
			return ok && e.Code == code && e.Retriable == retriable
		}
	}
	tests := map[string]struct {
		start []string
		is    func(error) bool
		says  string
	}{
		"it ends":              {[]string{"exit 3 something is off"}, refused(failure.Unknown, true), "something is off"},
		"it is killed":         {[]string{"die"}, refused(failure.Unknown, true), "SIGKILL"},
		"it is too old":        {[]string{"exit 1 error: unknown option '--setting-sources'"}, func(err error) bool { return errors.Is(err, agent.ErrUnavailable) }, "unknown option"},
		"it refuses root":      {[]string{"exit 1 --dangerously-skip-permissions cannot be used with root/sudo privileges"}, func(err error) bool { return errors.Is(err, agent.ErrUnavailable) }, "root"},
		"it refuses the hello": {[]string{`{"type":"control_response","response":{"subtype":"error","request_id":"x","error":"no such request"}}`}, refused(failure.BadRequest, false), "no such request"},
		"it fails with a word": {[]string{`{"type":"result","is_error":true,"api_error_status":401,"result":"log in"}`}, refused(failure.Auth, false), "log in"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Start: tt.start})
			s, err := adapter(f).Start(t.Context(), f.Options(agent.Options{}))
			if err == nil || s != nil || !tt.is(err) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}

func TestAStartThatTakesTooLong(t *testing.T) {
	f := newFake(t, script{Start: []string{"until never"}})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan error)
	go func() {
		_, err := adapter(f).Start(ctx, f.Options(agent.Options{}))
		started <- err
	}()
	eventually.Holds(t, "client", f.runs)
	cancel()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
