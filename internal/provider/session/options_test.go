package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// ofKind gives the fake agent the name of another.
type ofKind struct {
	agent.Adapter
	kind agent.Kind
}

func (k ofKind) Kind() agent.Kind { return k.kind }

// start returns the options that the agent of a kind is started with for a developer with the options of a run.
func (b *bench) start(kind agent.Kind, places session.Places, x setup.Options) (agent.Options, error) {
	var got agent.Options
	b.fake.Refuse = func(o agent.Options) error { got = o; return nil }
	p := session.New(session.Config{Adapter: ofKind{b.fake, kind}, Pool: b.pool, Places: places})
	req := b.request(`{"say":"done"}`)
	req.Work = provider.Work{Site: b.site, Options: x}
	_, err := p.Generate(b.Context(), req, nil)
	return got, err
}

func TestOptionsOfARunReachTheAgent(t *testing.T) {
	dir := t.TempDir()
	x := setup.Options{
		Mode: "plan", Servers: map[string]setup.Server{"docs": {Command: "sh"}}, Dirs: []string{dir}, ReadDirs: []string{dir},
		Tools: []string{"Bash"}, NoTools: []string{"Task"}, MaxOutputTokens: 4000,
	}
	o, err := newBench(t).start(setup.Claude, session.Places{}, x)
	if err != nil {
		t.Fatal(err)
	}
	if o.Choice().Mode != "plan" || o.Servers["docs"].Command != "sh" || !slices.Equal(o.Dirs, x.Dirs) || !slices.Equal(o.ReadDirs, x.ReadDirs) ||
		o.Tools[0] != "Bash" || o.NoTools[0] != "Task" || o.MaxOutputTokens != 4000 || len(o.Env) != 1 {
		t.Errorf("%+v", o)
	}
}

func TestAnOptionThatTheAgentLacksStartsNothing(t *testing.T) {
	cold := 0.0
	for name, tt := range map[string]struct {
		kind agent.Kind
		x    setup.Options
		says string
	}{
		"a temperature":       {setup.Claude, setup.Options{Temperature: &cold}, "claude does not support a temperature"},
		"tools":               {setup.Codex, setup.Options{NoTools: []string{"shell"}}, "codex does not support forbidden tools"},
		"servers":             {setup.Pi, setup.Options{Servers: map[string]setup.Server{"a": {Command: "sh"}}}, "pi does not support MCP servers"},
		"a variable":          {setup.Claude, setup.Options{Env: []string{"TOKEN"}}, "does not have this variable"},
		"a missing directory": {setup.Claude, setup.Options{ReadDirs: []string{"/no/such/place"}}, "no such file or directory"},
		"a file":              {setup.Claude, setup.Options{ReadDirs: []string{"/etc/passwd"}}, "not a directory"},
		"the system's own":    {setup.Claude, setup.Options{Dirs: []string{"/proc/1"}}, "belongs to the system"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			_, err := b.start(tt.kind, session.Places{}, tt.x)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if n := len(b.fake.Model.Requests()); n > 0 {
				t.Errorf("%d requests were made", n)
			}
		})
	}
}

// TestNoOptionShowsTheRuns has the places that hold what judges a run, and links to them.
func TestNoOptionShowsTheRuns(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, "src", "shop", ".runs")
	for _, dir := range []string{filepath.Join(state, "run-1"), filepath.Join(home, "docs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	places := session.Places{Home: home, State: state}
	for name, dir := range map[string]string{
		"the home directory": home, "above it": filepath.Dir(home), "the runs": state, "a run": filepath.Join(state, "run-1"),
		"a directory with the runs": filepath.Dir(state), "a link to the runs": link, "a path with dots": home + "/docs/../docs",
	} {
		for _, x := range []setup.Options{{ReadDirs: []string{dir}}, {Dirs: []string{dir}}} {
			err := places.Check(x)
			if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || e.Retriable {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := places.Check(setup.Options{ReadDirs: []string{filepath.Join(home, "docs")}}); err != nil {
		t.Errorf("a directory beside them: %v", err)
	}
}
