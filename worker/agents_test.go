package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/acp"
	"github.com/ratchet-dev/ratchet/internal/agent/claude"
	"github.com/ratchet-dev/ratchet/internal/agent/codex"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// realAgent is an agent's own program, on a model of ours.
type realAgent struct {
	name     string
	variable string // names the program
	kept     string // a file that its shell can write in the box, and that the run keeps
	spec     func(binary string) string
	// adapter talks to it without a run.
	adapter func(binary string, environ []string) agent.Adapter
	// environ is what the worker is given for it: a home of its own, and the
	// address of the model.
	environ func(t testing.TB, home, binary, model string) []string
	// edit and shell are calls of its tools: one that changes a file of the
	// checkout, and one that it needs a permission for.
	edit  func(path, old, new string) []string
	shell func(command string) string
}

var realAgents = []realAgent{
	{
		name: "claude", variable: "CLAUDE_BIN", kept: "$HOME/.claude/projects/ledger",
		spec: func(string) string { return "claude" },
		adapter: func(binary string, environ []string) agent.Adapter {
			return claude.New(claude.Config{Binary: binary, Environ: environ})
		},
		environ: func(_ testing.TB, home, binary, model string) []string {
			return []string{"HOME=" + home, "CLAUDE_BIN=" + binary, "ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=sk-ant-dummy-key-0000"}
		},
		edit: func(path, old, new string) []string {
			return []string{
				call("Read", map[string]any{"file_path": path}),
				call("Edit", map[string]any{"file_path": path, "old_string": old, "new_string": new}),
			}
		},
		shell: func(command string) string {
			return call("Bash", map[string]any{"command": command, "description": "leave a mark"})
		},
	},
	{
		name: "codex", variable: "CODEX_BIN", kept: "$HOME/.codex/sessions/ledger",
		spec: func(string) string { return "codex" },
		adapter: func(binary string, environ []string) agent.Adapter {
			return codex.New(codex.Config{Binary: binary, Environ: environ})
		},
		environ: func(t testing.TB, home, binary, model string) []string {
			codexHome := filepath.Join(home, ".codex")
			if err := os.Mkdir(codexHome, 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(codexHome, "config.toml"), fakemodel.CodexConfig(model))
			return []string{"HOME=" + home, "CODEX_HOME=" + codexHome, "CODEX_BIN=" + binary, "OPENAI_API_KEY=dummy-key-0000"}
		},
		edit: func(path, old, new string) []string {
			return []string{call("exec_command", map[string]any{"cmd": fmt.Sprintf("sed -i 's/%s/%s/' %s", old, new, filepath.Base(path))})}
		},
		shell: func(command string) string {
			return call("exec_command", map[string]any{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "leave a mark"})
		},
	},
	{
		name: "opencode", variable: "OPENCODE_BIN", kept: "$OPENCODE_DB.ledger",
		spec: func(binary string) string { return "acp:" + binary + " acp" },
		adapter: func(binary string, environ []string) agent.Adapter {
			return acp.New(acp.Config{Argv: []string{binary, "acp"}, Environ: environ})
		},
		environ: func(t testing.TB, home, binary, model string) []string {
			config := filepath.Join(home, "opencode.json")
			writeFile(t, config, fakemodel.OpencodeConfig(model))
			if err := fakemodel.SettleOpencode(home); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"HOME=" + home, "OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
				"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1",
			}
			return env
		},
		edit: func(path, old, new string) []string {
			return []string{
				call("read", map[string]any{"filePath": path}),
				call("edit", map[string]any{"filePath": path, "oldString": old, "newString": new}),
			}
		},
		shell: func(command string) string {
			return call("bash", map[string]any{"command": command, "description": "leave a mark"})
		},
	},
	{
		name: "pi", variable: "PI_JS", kept: "$PI_CODING_AGENT_SESSION_DIR/ledger",
		spec: func(string) string { return "pi" },
		adapter: func(binary string, environ []string) agent.Adapter {
			return pi.New(pi.Config{Argv: []string{os.Getenv("NODE_BIN"), binary}, Environ: environ})
		},
		environ: func(t testing.TB, home, binary, model string) []string {
			dir := filepath.Join(home, ".pi", "agent")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "models.json"), fmt.Sprintf(piModels, model))
			writeFile(t, filepath.Join(dir, "settings.json"), piSettings)
			return []string{"HOME=" + home, "RATCHET_PI" + "=" + need.Env(t, "NODE_BIN") + " " + binary}
		},
		edit: func(path, old, new string) []string {
			return []string{call("edit", map[string]any{"path": path, "edits": []any{map[string]any{"oldText": old, "newText": new}}})}
		},
		shell: func(command string) string {
			return call("bash", map[string]any{"command": command})
		},
	},
}

func call(tool string, input any) string {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[[tool:%s %s]]", tool, b)
}

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// agentFixture is a fixture whose workers have the agent, and a Go repository with a
// test that fails.
type agentFixture struct {
	*fixture
	agent   realAgent
	adapter agent.Adapter
	spec    string
	env     []string
	model   *fakemodel.Server
}

func newAgentFixture(t testing.TB, a realAgent) *agentFixture { return newAgentFixtureIn(t, a, false) }

// newAgentFixtureIn is newAgentFixture, in the box if boxed.
func newAgentFixtureIn(t testing.TB, a realAgent, boxed bool) *agentFixture {
	t.Helper()
	binary := need.Env(t, a.variable)
	s := &agentFixture{fixture: newOwnFixture(t), agent: a, model: fakemodel.Start(t), spec: a.spec(binary)}
	if boxed {
		need.Sandbox(t)
		s.sandbox = run.SandboxRequired
		s.flags = []string{"-provider-network", strings.TrimPrefix(s.model.URL, "http://")}
	}
	s.env = a.environ(t, s.home, binary, s.model.URL)
	s.adapter = a.adapter(binary, append(os.Environ(), s.env...))
	t.Cleanup(s.explain)
	for name, text := range map[string]string{
		"go.mod":      "module sum\n\ngo 1.26\n",
		"sum.go":      "package sum\n\n// Sum adds.\nfunc Sum(a, b int) int { return a - b }\n",
		"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 3) != 5 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	} {
		s.put(filepath.Join(s.repo, name), text)
	}
	s.git("-C", s.repo, "add", ".")
	s.git("-C", s.repo, "commit", "-q", "-m", "a bug")
	s.base = run.Commit(s.git("-C", s.repo, "rev-parse", "HEAD"))
	return s
}

// explain shows what there is of the runs of a test that failed.
func (s *agentFixture) explain() {
	if !s.t.Failed() {
		return
	}
	names, _ := filepath.Glob(filepath.Join(s.runsDir, "workflows", "*", "logs", "*"))
	more, _ := filepath.Glob(filepath.Join(s.runsDir, "workflows", "*", "events.ndjson"))
	notes, _ := filepath.Glob(filepath.Join(s.runsDir, "agents", "*", "*", "note.json"))
	for _, name := range slices.Concat(names, more, notes) {
		b, _ := os.ReadFile(name)
		s.t.Logf("%s:\n%s", strings.TrimPrefix(name, s.runsDir), b[max(0, len(b)-6<<10):])
	}
	for _, q := range s.model.Requests() {
		text := q.Text()
		s.t.Logf("model: %s with %d tools: ... %q", q.Path, len(q.Tools), text[max(0, len(text)-400):])
	}
}

// job is a run whose developer and fixer are the agent.
func (s *agentFixture) job(goal func(checkout string) string) run.Input {
	in := s.input(s.replay(map[string]string{"plan-1": planText}))
	in.Providers.Developer, in.Providers.Fixer = s.spec, s.spec
	in.Timeouts.Provider = 10 * time.Minute
	in.Policy, in.Checks, in.CheckEnv = run.Always, []string{"go test ./..."}, []string{"GOCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOPROXY"}
	if s.sandbox != "" { // no cache of Go is warm in the box
		in.Checks, in.CheckEnv = []string{"grep 'return a + b' sum.go"}, nil
	}
	in.Goal = "Make the test pass.\n" + goal(s.checkout(in.RunID))
	return in
}

// checkout is where the developer of a run works.
func (s *agentFixture) checkout(id run.ID) string {
	return filepath.Join(s.runs.Slot(id, "developer").Path(), "checkout", "tree")
}

func (s *agentFixture) spawnGroup() *workerProcess {
	s.t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	w := s.spawn(append(slices.Clone(s.env), "GOCACHE="+strings.TrimSpace(string(cache)))...)
	if w.dead() {
		s.t.Fatalf("the worker ended: %s", w.out)
	}
	return w
}

// pending waits until the run asks for something new.
func (s *agentFixture) pending(id run.ID, last string) run.PendingApproval {
	s.t.Helper()
	var p run.Pending
	eventually.Holds(s.t, "an approval", func() bool {
		p, _ = query[run.Pending](s.fixture, id, workflows.PendingQuery)
		if p.Question != nil {
			s.t.Fatalf("the run asks: %s", p.Question.Question.Question)
		}
		return p.Approval != nil && p.Approval.ApprovalID != last
	})
	return *p.Approval
}

func (s *agentFixture) approve(id run.ID, approval string) {
	s.t.Helper()
	payload := map[string]string{"approvalId": approval, "decision": "approve", "by": "a script"}
	if err := s.client.SignalWorkflow(s.t.Context(), id.WorkflowID(), "", "approval", payload); err != nil {
		s.t.Fatal(err)
	}
}

// TestRealAgentFixesARepository has each agent's own program fix a test by
// real calls of its tools. The worker is killed while the agent works, and
// again while it waits for a permission, which a raw signal then grants: the
// work is done once, and one commit is the result.
func TestRealAgentFixesARepository(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			mark := "printf x >> " + a.kept
			in := s.job(func(checkout string) string {
				calls := s.agent.edit(filepath.Join(checkout, "sum.go"), "a - b", "a + b")
				return strings.Join(calls, "") + "[[hang:1]]" + s.agent.shell(mark) + "[[say:Add instead of subtracting]]"
			})
			w := s.spawnGroup()
			began := time.Now()
			lap := func(what string) { t.Logf("%5.1fs %s", time.Since(began).Seconds(), what) }
			s.start(in)
			eventually.Holds(t, "the agent's work", func() bool { return s.heard(len(s.agent.edit("", "", ""))) })
			lap("the agent works")
			w.kill()
			eventually.Holds(t, "the agent's end", func() bool { return len(s.processes("")) == 0 })
			lap("no process is left")

			w = s.spawnGroup()
			ask := s.pending(in.RunID, "")
			if ask.Permission == nil || !strings.Contains(ask.Excerpt, a.kept) {
				t.Fatalf("the agent asks for %+v", ask)
			}
			lap("it asks for a permission")
			w.kill()
			s.spawnGroup()
			s.approve(in.RunID, ask.ApprovalID)

			gate := s.pending(in.RunID, ask.ApprovalID)
			if gate.Permission != nil || gate.Stat != (run.Stat{Files: 1, Added: 1, Deleted: 1}) {
				t.Fatalf("the gate shows %+v", gate)
			}
			lap("it has proposed its patch")
			if marks := s.readEnding(s.runsDir, "ledger"); marks != "x" {
				t.Errorf("the tool ran %d times, want once", len(marks))
			}
			s.approve(in.RunID, gate.ApprovalID)
			s.fixed(in)
			lap("completed")
			eventually.Holds(t, "an end of all processes", func() bool { return len(s.processes("")) == 0 })
		})
	}
}

// readEnding returns the contents of all files below a directory whose names have that end.
func (s *agentFixture) readEnding(dir, end string) string {
	s.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(d.Name(), end) {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all.String()
}

// heard says whether the model has been told the results of so many calls.
func (s *agentFixture) heard(calls int) bool {
	return slices.ContainsFunc(s.model.Requests(), func(q fakemodel.Request) bool {
		results := 0
		for _, m := range q.Messages {
			results += len(m.Results)
		}
		return len(q.Tools) > 0 && results >= calls
	})
}

// fixed fails unless the run has completed with one commit that fixes it.
func (s *agentFixture) fixed(in run.Input) {
	s.t.Helper()
	var res workflows.RunResult
	if err := s.client.GetWorkflow(s.t.Context(), in.RunID.WorkflowID(), "").Get(s.t.Context(), &res); err != nil {
		s.t.Fatal(err)
	}
	diff := s.git("-C", s.repo, "diff", string(in.Repository.Base), res.Branch)
	if res.Status != run.Completed || res.Commits != 1 || !strings.Contains(diff, "+func Sum(a, b int) int { return a + b }") {
		s.t.Errorf("%s with %d commits:\n%s", res.Status, res.Commits, diff)
	}
	if res.Usage.TotalTokens == 0 {
		s.t.Error("no tokens were counted")
	}
	if left, _ := filepath.Glob(filepath.Join(s.runsDir, "agents", "*")); len(left) > 0 {
		s.t.Errorf("%v is left", left)
	}
}

// hanging is a goal whose agent works until somebody ends it.
func hanging(string) string { return "[[hang]]" }

// TestAgentsDieWithTheirWorker kills workers while agents work: of none is
// anything left, and the next worker goes on with the same session. A turn is paid
// for five times at most.
func TestAgentsDieWithTheirWorker(t *testing.T) {
	need.Suite(t, need.Nightly)
	rounds, kills := 1, 2
	if need.Has(need.Nightly) {
		rounds, kills = 5, 4
	}
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			for range rounds {
				s.killAgain(kills)
			}
		})
	}
}

// killAgain kills the workers of a run whose agent does not end, so many times,
// and then cancels the run.
func (s *agentFixture) killAgain(kills int) {
	s.t.Helper()
	before := s.asked()
	in := s.job(hanging)
	s.start(in)
	var recovery []time.Duration
	for i := range kills {
		w := s.spawnGroup()
		began := time.Now()
		eventually.Holds(s.t, "the agent's work", func() bool { return s.asked() > before+i })
		if i > 0 {
			recovery = append(recovery, time.Since(began))
		}
		if len(s.processes("")) == 0 {
			s.t.Fatal("no process of the agent is found while it works")
		}
		w.kill()
		eventually.Holds(s.t, "the agent's end", func() bool { return len(s.processes("")) == 0 })
	}
	slices.Sort(recovery)
	s.t.Logf("from a new worker to the agent's next request: %v", recovery)
	w := s.spawnGroup()
	eventually.Holds(s.t, "the agent's work", func() bool { return s.asked() > before+kills })
	s.t.Logf("canceled and gone after %v", s.stop(in.RunID).Round(time.Millisecond))
	w.kill()
}

// asked is how often the model was asked for work.
func (s *agentFixture) asked() int {
	n := 0
	for _, q := range s.model.Requests() {
		if len(q.Tools) > 0 {
			n++
		}
	}
	return n
}

// stop cancels a run, and waits until nothing of it is left.
func (s *agentFixture) stop(id run.ID) time.Duration {
	s.t.Helper()
	began := time.Now()
	if err := s.client.CancelWorkflow(s.t.Context(), id.WorkflowID(), ""); err != nil {
		s.t.Fatal(err)
	}
	eventually.Holds(s.t, "the agent's end", func() bool { return len(s.processes("")) == 0 })
	gone := time.Since(began)
	_ = s.client.GetWorkflow(s.t.Context(), id.WorkflowID(), "").Get(s.t.Context(), nil) // canceled
	if state, err := query[run.State](s.fixture, id, workflows.StateQuery); err != nil || state.Status != run.Canceled {
		s.t.Errorf("the run is %s: %v", state.Status, err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.runsDir, "agents", "*")); len(left) > 0 {
		s.t.Errorf("%v is left", left)
	}
	return gone
}
