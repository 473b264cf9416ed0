package pi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// flag is the value of a flag; empty where there is none.
func flag(argv []string, name string) string {
	if i := slices.Index(argv, name); i >= 0 {
		return argv[i+1]
	}
	return ""
}

func TestArguments(t *testing.T) {
	alone := []string{"--mode", "rpc", "--no-approve", "--no-extensions", "--no-skills", "--no-prompt-templates"}
	gate := []string{"--extension", "GATE"}
	tests := map[string]struct {
		trust pi.Trust
		o     agent.Options
		want  [][]string
	}{
		"a fresh session":                  {"", agent.Options{}, [][]string{alone, gate}},
		"a resume":                         {"", agent.Options{Resume: gid}, [][]string{alone, gate, {"--session-id", gid}}},
		"a model":                          {"", agent.Options{Sticky: agent.Choice{Model: "p/m", Mode: "x"}}, [][]string{alone, gate, {"--model", "p/m"}}},
		"another one for this start":       {"", agent.Options{Sticky: agent.Choice{Model: "p/m"}, Override: agent.Choice{Model: "p/n"}}, [][]string{alone, gate, {"--model", "p/n"}}},
		"what looks like a flag":           {"", agent.Options{Sticky: agent.Choice{Model: "--approve"}}, [][]string{alone, gate, {"--model", "--approve"}}},
		"read-only":                        {"", agent.Options{Sandbox: agent.ReadOnly}, [][]string{alone, gate, {"--tools", "read,grep,find,ls"}}},
		"full access":                      {"", agent.Options{Sandbox: agent.FullAccess}, [][]string{alone}},
		"tools that are not to be used":    {"", agent.Options{NoTools: []string{"bash", "edit"}}, [][]string{alone, gate, {"--exclude-tools", "bash,edit"}}},
		"what joins the system prompt":     {"", agent.Options{Sandbox: agent.FullAccess, System: "be brief"}, [][]string{alone, {"--append-system-prompt", "SYSTEM"}}},
		"a user's own session":             {pi.TrustUser, agent.Options{Resume: gid, Sandbox: agent.FullAccess}, [][]string{{"--mode", "rpc", "--session-id", gid}}},
		"... with the gate":                {pi.TrustUser, agent.Options{Resume: gid}, [][]string{{"--mode", "rpc"}, gate, {"--session-id", gid}}},
		"... in a project that is trusted": {pi.TrustProject, agent.Options{Resume: gid, Sandbox: agent.FullAccess}, [][]string{{"--mode", "rpc", "--approve", "--session-id", gid}}},
		"what has no counterpart":          {"", agent.Options{Network: true, MaxOutputTokens: 8000, Dirs: []string{"/d"}, Tools: []string{"bash"}}, [][]string{alone, gate}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{})
			c := f.config()
			c.Argv, c.Trust = append(c.Argv, "lead", "-x"), tt.trust
			begin(t, c, f.Options(tt.o))
			got := f.Args(t)
			want := append([]string{"lead", "-x"}, slices.Concat(tt.want...)...)
			for i, arg := range want {
				switch arg {
				case "GATE":
					want[i] = flag(got, "--extension")
				case "SYSTEM":
					want[i] = flag(got, "--append-system-prompt")
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// TestWhatIsLent lies where only we can read it, as long as pi runs.
func TestWhatIsLent(t *testing.T) {
	ends := map[string]func(*testing.T, agent.Session){
		"a stop": func(t *testing.T, s agent.Session) { s.Stop(t.Context()) },
		"an end of its own": func(t *testing.T, s agent.Session) {
			if err := s.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			agenttest.Until[agent.Exit](t, s)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			f := newFake(t, script{Turns: [][]string{{"exit 1 x"}}})
			s := f.start(t, agent.Options{System: "be brief\n"})
			argv := f.Args(t)
			gate, system := flag(argv, "--extension"), flag(argv, "--append-system-prompt")
			for path, want := range map[string]os.FileMode{filepath.Dir(gate): 0o700 | os.ModeDir, gate: 0o600, system: 0o600} {
				if info, err := os.Stat(path); err != nil || info.Mode() != want {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
			if text, err := os.ReadFile(system); err != nil || string(text) != "be brief\n" {
				t.Errorf("%q, %v", text, err)
			}
			if text, err := os.ReadFile(gate); err != nil || !strings.Contains(string(text), `pi.on("tool_call"`) {
				t.Errorf("%q, %v", text, err)
			}
			end(t, s)
			eventually.Holds(t, "end of what was lent", func() bool { return empty(t, temp) })
		})
	}
}

func empty(t *testing.T, dir string) bool {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list) == 0
}

func TestNothingStartsWithoutTheGate(t *testing.T) {
	t.Run("that cannot be written", func(t *testing.T) {
		f := newFake(t, script{})
		t.Setenv("TMPDIR", filepath.Join(f.Home, "none"))
		if _, err := f.adapter().Start(t.Context(), f.Options(agent.Options{})); !errors.Is(err, agent.ErrUnavailable) || f.ran() {
			t.Errorf("got %v, ran is %v", err, f.ran())
		}
	})
	t.Run("that is not loaded", func(t *testing.T) {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		f := newFake(t, script{Open: true})
		if _, err := f.adapter().Start(t.Context(), f.Options(agent.Options{})); !errors.Is(err, agent.ErrUnavailable) || !empty(t, temp) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("unless nothing is asked", func(t *testing.T) {
		newFake(t, script{Open: true}).start(t, agent.Options{Sandbox: agent.FullAccess})
	})
}

func (f fake) ran() bool { return exists(filepath.Join(f.Dir, "argv")) }

func TestRefusedOptions(t *testing.T) {
	f := newFake(t, script{})
	tests := map[string]struct {
		trust pi.Trust
		o     agent.Options
		want  error
	}{
		"a directory that is not there": {"", agent.Options{Dir: filepath.Join(f.Work, "none"), Sandbox: agent.ReadOnly}, nil},
		"a directory that is relative":  {"", agent.Options{Dir: ".", Sandbox: agent.ReadOnly}, nil},
		"the zero sandbox":              {"", agent.Options{Dir: f.Work}, nil},
		"an unknown sandbox":            {"", agent.Options{Dir: f.Work, Sandbox: "house"}, nil},
		"an unknown trust":              {"everybody", agent.Options{Dir: f.Work, Sandbox: agent.ReadOnly}, nil},
		"an id with a space":            {"", agent.Options{Dir: f.Work, Sandbox: agent.ReadOnly, Resume: "a b"}, agent.ErrNoSession},
		"an id that is a path":          {"", agent.Options{Dir: f.Work, Sandbox: agent.ReadOnly, Resume: "../a"}, agent.ErrNoSession},
		"an id that is a flag":          {"", agent.Options{Dir: f.Work, Sandbox: agent.ReadOnly, Resume: "--approve"}, agent.ErrNoSession},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := f.config()
			c.Trust = tt.trust
			_, err := pi.New(c).Start(t.Context(), tt.o)
			if e, ok := errors.AsType[*failure.Error](err); tt.want == nil && (!ok || e.Code != failure.BadRequest || e.Retriable) {
				t.Errorf("got %v", err)
			} else if tt.want != nil && !errors.Is(err, tt.want) || f.ran() {
				t.Errorf("got %v, ran is %v", err, f.ran())
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	ours := []string{
		"USER=u", "LC_ALL=C", "HTTPS_PROXY=http://p", "ANTHROPIC_API_KEY=sk-1", "OPENROUTER_API_KEY=sk-2",
		"PI_CODING_AGENT_DIR=/conf", "PI_ENTWURF_DIR=/sockets", "PI_TELEMETRY=1",
		"PI_SESSION_ID=outer", "PI_AGENT_ID=outer", "PI_SESSION_FILE=/outer", "PI_MODEL=outer", "PI_CODING_AGENT=true",
		"AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=s", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/s", "NODE_OPTIONS=--inspect",
	}
	base := func(f fake) []string {
		return []string{
			"ANTHROPIC_API_KEY=sk-1", "FAKE_PI_DIR=" + f.Dir, "GORACE=atexit_sleep_ms=0", "HOME=" + f.Home, "HTTPS_PROXY=http://p", "LANG=C.UTF-8",
			"LC_ALL=C", "MORE=1", "OPENROUTER_API_KEY=sk-2", "PATH=/usr/bin:/bin", "PI_CODING_AGENT_DIR=/conf", "PI_ENTWURF_DIR=/sockets",
			"PI_SKIP_VERSION_CHECK=0", "PI_TELEMETRY=0", "USER=u",
		}
	}
	sessions := func(f fake) string {
		real, err := filepath.EvalSymlinks(f.Work)
		if err != nil {
			t.Fatal(err)
		}
		return "PI_CODING_AGENT_SESSION_DIR=/conf/sessions/--" + strings.ReplaceAll(real[1:], "/", "-") + "--"
	}
	for trust, more := range map[pi.Trust]func(fake) []string{
		pi.TrustNobody: func(f fake) []string { return []string{sessions(f), "PI_OFFLINE=1"} },
		pi.TrustUser:   func(fake) []string { return nil },
	} {
		f := newFake(t, script{})
		c := f.config(ours...)
		c.Trust = trust
		begin(t, c, f.Options(agent.Options{Env: []string{"MORE=1", "PI_SKIP_VERSION_CHECK=0"}}))
		want := append(base(f), more(f)...)
		slices.Sort(want)
		if got := f.Variables(t); !slices.Equal(got, want) {
			t.Errorf("trust %q:\ngot  %q\nwant %q", trust, got, want)
		}
	}
}

// TestWhereSessionsAre is up to the user's environment, and else to pi's own
// rule; never to the project.
func TestWhereSessionsAre(t *testing.T) {
	for name, tt := range map[string]struct {
		environ []string
		want    string
	}{
		"named":                     {[]string{"PI_CODING_AGENT_SESSION_DIR=/s"}, "/s/--DIR--"},
		"named, from the home":      {[]string{"PI_CODING_AGENT_SESSION_DIR=~/s"}, "HOME/s/--DIR--"},
		"in pi's home":              {nil, "HOME/.pi/agent/sessions/--DIR--"},
		"in another, from the home": {[]string{"PI_CODING_AGENT_DIR=~/x"}, "HOME/x/sessions/--DIR--"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{})
			link := filepath.Join(f.Home, "link")
			if err := os.Symlink(f.Work, link); err != nil {
				t.Fatal(err)
			}
			begin(t, f.config(tt.environ...), f.Options(agent.Options{Dir: link}))
			real, err := filepath.EvalSymlinks(f.Work)
			if err != nil {
				t.Fatal(err)
			}
			want := "PI_CODING_AGENT_SESSION_DIR=" + strings.NewReplacer("HOME", f.Home, "DIR", strings.ReplaceAll(real[1:], "/", "-")).Replace(tt.want)
			if got := f.Variables(t); !slices.Contains(got, want) {
				t.Errorf("got %q, want %s", got, want)
			}
		})
	}
}

func TestNoProgram(t *testing.T) {
	f := newFake(t, script{})
	text := filepath.Join(f.Dir, "pi")
	put(t, text, "no program")
	for name, tt := range map[string]struct {
		c    pi.Config
		want string
	}{
		"none on PATH":              {pi.Config{Environ: []string{"PATH=" + f.Dir + ":relative:" + f.Home}}, f.Dir + ", " + f.Home},
		"no such file":              {pi.Config{Argv: []string{"/none/pi"}}, "/none/pi"},
		"a file that is no program": {pi.Config{Argv: []string{text}}, text},
	} {
		_, err := pi.New(tt.c).Start(t.Context(), f.Options(agent.Options{}))
		if !errors.Is(err, agent.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if m := pi.New(tt.c).Manifest(t.Context()); m.Installed || !strings.Contains(m.Unavailable, tt.want) {
			t.Errorf("%s: manifest %+v", name, m)
		}
	}
}

func TestAProgramOnPATH(t *testing.T) {
	f := newFake(t, script{})
	c := f.config()
	if err := os.Symlink(c.Argv[0], filepath.Join(f.Home, "pi")); err != nil {
		t.Fatal(err)
	}
	c.Argv = nil
	c.Environ[0] = "PATH=" + f.Home
	begin(t, c, f.Options(agent.Options{}))
}

func TestAPiThatEndsAtItsStart(t *testing.T) {
	for name, tt := range map[string]struct {
		how  string
		want failure.Error
	}{
		"without a model":              {"exit 1 No models available. Use /login to log in", failure.Error{Code: failure.Auth}},
		"without the model":            {`exit 1 Error: Model "x" not found. Use --list-models to see available models.`, failure.Error{Code: failure.BadRequest}},
		"with a session that is none":  {"exit 1 Error: Session file is not a valid pi session: /s", failure.Error{Code: failure.BadRequest}},
		"without the gate":             {`exit 1 Error: Failed to load extension "/x": no`, failure.Error{}},
		"for a reason that is unknown": {"exit 3 out of luck", failure.Error{Code: failure.Unknown, Retriable: true}},
		"by a signal":                  {"die", failure.Error{Code: failure.Unknown, Retriable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, script{Start: []string{tt.how}})
			_, err := f.adapter().Start(t.Context(), f.Options(agent.Options{}))
			e, ok := errors.AsType[*failure.Error](err)
			if tt.want.Code == "" && errors.Is(err, agent.ErrUnavailable) {
				return
			}
			if !ok || e.Code != tt.want.Code || e.Retriable != tt.want.Retriable {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAStartThatIsGivenUp(t *testing.T) {
	f := newFake(t, script{Start: []string{"until never"}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually.Holds(t, "start", f.ran)
		cancel()
	}()
	if _, err := f.adapter().Start(ctx, f.Options(agent.Options{})); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
