package child_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// place is a home with the directory of a client and secrets of its user, and a checkout.
type place struct{ home, state, checkout string }

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{home: t.TempDir(), checkout: filepath.Join(t.TempDir(), "tree")}
	p.state = filepath.Join(p.home, ".client")
	write(t, p.home+"/.ssh/id", "key", 0o600)
	write(t, p.state+"/token", "token", 0o600)
	write(t, p.state+"/settings.json", `{"hooks":1}`, 0o600)
	write(t, p.checkout+"/file", "file", 0o600)
	write(t, p.checkout+"/.git/config", "[core]", 0o600)
	return p
}

// run runs a script as the client of a session, and returns what it printed.
func (p place) run(t *testing.T, s child.Sandbox, o agent.Options, script string, hosts ...string) string {
	t.Helper()
	c := child.Client{
		Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "TMPDIR=" + p.home + "/tmp"},
		Homes: []child.Home{{Dir: p.state, Settings: []string{"settings.json", "hooks", "servers.json"}, Logins: []string{"token"}}}, Hosts: hosts,
	}
	o.Dir = p.checkout
	in, err := s.Enclose(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return runEnclosed(t, c.Argv, o.Dir, in)
}

// runEnclosed runs a program in a boundary, and returns what it printed.
func runEnclosed(t *testing.T, argv []string, dir string, in child.Enclosed) string {
	t.Helper()
	run, err := child.Start(t.Context(), child.Spec{Argv: argv, Dir: dir, Env: in.Env, Box: in.Box})
	if err != nil {
		t.Fatal(err)
	}
	run.CloseStdin()
	var out strings.Builder
	line, err := run.ReadLine()
	for ; err == nil; line, err = run.ReadLine() {
		fmt.Fprintf(&out, "%s\n", line)
	}
	if err != io.EOF {
		t.Error(err)
	}
	<-run.Done()
	return strings.TrimSpace(out.String() + run.Stderr())
}

func openBox(t *testing.T) *box.Box {
	t.Helper()
	need.Sandbox(t)
	b, err := box.Open(t.Context(), box.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each row is what a session does. The control does the same without a box.
func TestWhatAClientInTheBoxCanDo(t *testing.T) {
	serve := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	model, named, engine := serve("yes"), serve("yes"), serve("yes")
	boxed := child.Sandbox{Box: openBox(t), Network: []string{named}}
	write := agent.Options{Sandbox: agent.WorkspaceWrite}
	for name, tt := range map[string]struct {
		o      agent.Options
		script func(p place) string
		boxed  bool // it can
	}{
		"it writes in the checkout":       {write, func(place) string { return "echo x > made && echo yes" }, true},
		"it writes in its repository":     {write, func(place) string { return "echo x >> .git/config && echo yes" }, true},
		"a reader writes in the checkout": {agent.Options{Sandbox: agent.ReadOnly}, func(place) string { return "echo x > made && echo yes" }, false},
		"a reader reads the checkout":     {agent.Options{Sandbox: agent.ReadOnly}, func(place) string { return "cat file >/dev/null && echo yes" }, true},
		"it reads its token":              {write, func(p place) string { return "cat " + p.state + "/token >/dev/null && echo yes" }, true},
		"it renews its token": {write, func(p place) string {
			return "echo x > " + p.state + "/new && mv " + p.state + "/new " + p.state + "/token && echo yes"
		}, true},
		"it writes a temporary file":     {write, func(place) string { return `mkdir -p "$TMPDIR" && echo x > "$TMPDIR/x" && echo yes` }, true},
		"it reaches the model":           {write, func(place) string { return "curl -s -m 60 http://" + model }, true},
		"it reaches what is named":       {write, func(place) string { return "curl -s -m 60 http://" + named }, true},
		"it reaches the engine":          {write, func(place) string { return "curl -s -m 60 http://" + engine }, false},
		"it reads the user's keys":       {write, func(p place) string { return "cat " + p.home + "/.ssh/id >/dev/null && echo yes" }, false},
		"it changes the user's settings": {write, func(p place) string { return "echo x > " + p.state + "/settings.json && echo yes" }, false},
		"it replaces the user's settings": {write, func(p place) string {
			return "echo x > " + p.state + "/n && mv -f " + p.state + "/n " + p.state + "/settings.json && echo yes"
		}, false},
		"it removes the user's settings": {write, func(p place) string { return "rm -f " + p.state + "/settings.json && echo yes" }, false},
		"it makes a hook, for itself": {write, func(p place) string {
			return "mkdir -p " + p.state + "/hooks && echo x > " + p.state + "/hooks/h && echo yes"
		}, true},
		"it makes a list of servers, for itself":     {write, func(p place) string { return "echo x > " + p.state + "/servers.json && echo yes" }, true},
		"it moves its directory away":                {write, func(p place) string { return "mv " + p.state + " " + p.state + "-x && echo yes" }, false},
		"it writes beside its directory, for itself": {write, func(p place) string { return "echo x > " + p.home + "/.profile && echo yes" }, true},
		"it sees the worker":                         {write, func(place) string { return fmt.Sprintf("test -d /proc/%d && echo yes", os.Getpid()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []child.Sandbox{boxed, {}} {
				p := newPlace(t)
				got := strings.HasSuffix(p.run(t, s, tt.o, tt.script(p), model), "yes")
				if want := tt.boxed || !s.Held(); got != want {
					t.Errorf("in a box: %v: it does: %v, want %v", s.Held(), got, want)
				}
				for _, file := range []string{p.home + "/.profile", p.state + "/hooks", p.state + "/servers.json"} {
					if _, err := os.Stat(file); err == nil && s.Held() {
						t.Errorf("%s was made", file)
					}
				}
				if token, err := os.ReadFile(p.state + "/token"); s.Held() && (err != nil || string(token) != "token") {
					t.Errorf("the user's token is %q, %v", token, err)
				}
			}
		})
	}
}

func TestABoxThatCannotBeIsNoStart(t *testing.T) {
	s := child.Sandbox{Box: openBox(t)}
	_, err := s.Enclose(child.Client{Hosts: []string{"localhost:1"}}, agent.Options{Dir: t.TempDir()})
	if want := "127.0.0.1 or [::1]"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestProgramFiles(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/bin/native", "\x7fELF", 0o700)
	write(t, dir+"/lib/node_modules/pkg/cli.js", "#!/usr/bin/env -S runtime --flag\n", 0o700)
	write(t, dir+"/runtime/runtime", "\x7fELF", 0o700)
	write(t, dir+"/venv/pyvenv.cfg", "", 0o600)
	write(t, dir+"/venv/bin/tool", "#!"+dir+"/venv/bin/python\n", 0o700)
	write(t, dir+"/venv/bin/python", "\x7fELF", 0o700)
	write(t, dir+"/bin/plain", "/"+dir+"/loop\n", 0o700)
	write(t, dir+"/loop", "#!"+dir+"/loop\n", 0o700)
	if err := os.Symlink("../lib/node_modules/pkg/cli.js", dir+"/bin/cli"); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ argv, want []string }{
		"of the system":             {[]string{"/bin/sh", "-c", "x"}, nil},
		"a program":                 {[]string{dir + "/bin/native", "app"}, []string{"/bin/native"}},
		"a package of Node.js":      {[]string{dir + "/bin/cli"}, []string{"/bin/cli", "/lib/node_modules", "/runtime/runtime"}},
		"a script as an argument":   {[]string{"/bin/sh", dir + "/bin/native"}, []string{"/bin/native"}},
		"an environment of Python":  {[]string{dir + "/venv/bin/tool"}, []string{"/venv/bin/tool", "/venv", "/venv/bin/python"}},
		"a directory, and nothing":  {[]string{dir, "/no/such"}, nil},
		"what names no interpreter": {[]string{dir + "/bin/plain"}, []string{"/bin/plain"}},
		"a script that runs itself": {[]string{dir + "/loop"}, []string{"/loop"}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, path := range tt.want {
				want = append(want, dir+path)
			}
			if got := child.ProgramFiles(tt.argv, dir+"/runtime:/usr/bin"); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	for name, tt := range map[string]struct {
		values map[string]string
		want   string
	}{
		"no key":                      {nil, "api.anthropic.com:443 console.anthropic.com:443 platform.claude.com:443 chatgpt.com:443 auth.openai.com:443"},
		"a key":                       {map[string]string{"OPENAI_API_KEY": "k"}, "api.openai.com:443"},
		"a key and an address":        {map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}, "127.0.0.1:8000"},
		"two keys":                    {map[string]string{"ANTHROPIC_API_KEY": "k", "XAI_API_KEY": "k"}, "api.anthropic.com:443 api.x.ai:443"},
		"an address that is no URL":   {map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "::"}, "api.openai.com:443"},
		"a key that needs an address": {map[string]string{"AZURE_OPENAI_API_KEY": "k", "XAI_API_KEY": "k"}, "api.x.ai:443"},
	} {
		if got := strings.Join(child.HostsOfKeys(tt.values), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
