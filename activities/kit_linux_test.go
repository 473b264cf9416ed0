package activities_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// boxedShell is a provider whose agent runs a script in the box, as an agent's tools do, and answers with its output.
type boxedShell struct {
	sandbox child.Sandbox
	environ []string
	script  string
}

func (boxedShell) Capabilities() provider.Capabilities {
	return provider.Capabilities{Name: "shell", Edits: true}
}

func (p boxedShell) Generate(ctx context.Context, req provider.Request, _ func(provider.Progress)) (provider.Response, error) {
	at, err := req.Work.Site.Checkout(ctx, false)
	if err != nil {
		return provider.Response{}, err
	}
	if at.Release != nil {
		defer at.Release()
	}
	in, err := p.sandbox.Enclose(child.Client{Argv: []string{"/bin/sh"}, Env: p.environ},
		agent.Options{Dir: at.Dir, Top: at.Top, Objects: at.Objects, Kit: at.Kit, Sandbox: agent.WorkspaceWrite})
	if err != nil {
		return provider.Response{}, err
	}
	var out bytes.Buffer
	_, err = proc.Run(ctx, proc.Command{Argv: []string{"/bin/sh", "-c", p.script}, Dir: at.Dir, Env: in.Env, Stdout: &out, Stderr: &out, Box: in.Box})
	return provider.Response{RawText: out.String() + "done", FinishReason: provider.Stop}, err
}

// agentRuns returns what a script of an agent prints in the box, in a run of its own.
func (s *fixture) agentRuns(id run.ID, p boxedShell) string {
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

// writeGoProject writes a module that depends on one of the user's cache.
func (s *fixture) writeGoProject() {
	s.t.Helper()
	ours, err := os.ReadFile("../go.mod")
	check(s.t, err)
	line := ""
	for l := range strings.Lines(string(ours)) {
		if strings.Contains(l, "github.com/google/uuid ") {
			line = strings.TrimSpace(l)
		}
	}
	sums, err := os.ReadFile("../go.sum")
	check(s.t, err)
	s.write("go.mod", "module example.org/x\n\ngo 1.26\n\nrequire "+line+"\n")
	s.write("go.sum", string(sums))
	s.write("x_test.go", "package x\n\nimport (\n\t\"testing\"\n\n\t\"github.com/google/uuid\"\n)\n\nfunc TestX(t *testing.T) { t.Log(uuid.Nil) }\n")
}

// An agent in the box builds and tests a project that depends on a module of the user's cache, without a network. The
// control is the same box without the kit. What one run writes into a cache no other run sees, and neither does the user.
func TestAnAgentInTheBoxBuildsAndTests(t *testing.T) {
	need.Sandbox(t)
	home := t.TempDir()
	places, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	check(t, err)
	modules, built, _ := strings.Cut(strings.TrimSpace(string(places)), "\n")
	npm := filepath.Join(home, ".npm", "warm")
	check(t, os.MkdirAll(filepath.Dir(npm), 0o700))
	check(t, os.WriteFile(npm, []byte("the user's\n"), 0o600))
	environ := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GOMODCACHE": modules, "GOCACHE": built, "GOTOOLCHAIN": "local"}
	var held activities.Sandbox
	s := newFixtureWith(t, "runs", inBox(t), func(c *activities.Config) {
		held = c.Sandbox
		c.LookupEnv = func(name string) (string, bool) { v, ok := environ[name]; return v, ok }
	})
	s.writeGoProject()
	s.write("package.json", "{}")
	s.git("add", ".")
	s.git("commit", "-q", "-m", "a project")
	s.base = run.Commit(s.git("rev-parse", "HEAD"))
	p := boxedShell{sandbox: child.Sandbox{Box: held.Box}, environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp", "GOPROXY=off", "GOFLAGS=-mod=readonly"}}

	p.script = `go vet ./... && go test ./... && cat "$npm_config_cache/warm" && for d in "$npm_config_cache" "$GOCACHE" "$GOMODCACHE"; do echo evil > "$d/planted" || exit 1; done; echo evil > "$npm_config_cache/warm"`
	if got := s.agentRuns("r1", p); !strings.Contains(got, "ok  \texample.org/x") || !strings.Contains(got, "the user's\n") {
		t.Errorf("got %q, want that the tests pass and the user's cache is there", got)
	}
	p.script = `cat "$npm_config_cache/warm"; cat "$npm_config_cache/planted" "$GOCACHE/planted" "$GOMODCACHE/planted"`
	if got := s.agentRuns("r2", p); !strings.Contains(got, "the user's\n") || strings.Contains(got, "evil") {
		t.Errorf("another run sees %q, want the user's cache alone", got)
	}
	if b, err := os.ReadFile(npm); err != nil || string(b) != "the user's\n" {
		t.Errorf("the user's cache holds %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(modules, "planted")); err == nil {
		t.Error("the user's cache of modules has what an agent planted")
	}
}
