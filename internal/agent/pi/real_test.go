package pi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// realArgv is the pi of NODE_BIN and PI_JS. It gets a model that costs nothing,
// and no login.
func realArgv(t *testing.T) []string {
	t.Helper()
	need.Suite(t, need.Nightly)
	return []string{need.Env(t, "NODE_BIN"), need.Env(t, "PI_JS")}
}

func TestTheRealPi(t *testing.T) {
	need.Suite(t, need.CI)
	runReal(t, []string{need.Env(t, "NODE_BIN"), need.Env(t, "PI_JS")})
}

func runReal(t *testing.T, argv []string) {
	agenttest.Run(t, agenttest.Subject{
		Real: true,
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return pi.New(realConfig(t, argv, model)), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: touch,
	})
}

// realConfig has a home of its own, in which a provider serves two models.
func realConfig(t *testing.T, argv []string, model *fakemodel.Server) pi.Config {
	t.Helper()
	home := t.TempDir()
	put(t, filepath.Join(home, "models.json"), fmt.Sprintf(`{"providers":{"fake":{"baseUrl":"%s/v1","api":"openai-completions","apiKey":"dummy","models":[`+
		`{"id":"fake-model","contextWindow":200000,"maxTokens":8000,"cost":{"input":3,"output":15,"cacheRead":0,"cacheWrite":0}},`+
		`{"id":"other-model","contextWindow":100000,"maxTokens":8000}]}}}`, model.URL))
	put(t, filepath.Join(home, "settings.json"), `{"defaultProvider":"fake","defaultModel":"fake-model","retry":{"maxRetries":1,"baseDelayMs":10}}`)
	return pi.Config{Argv: argv, Environ: []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "PI_CODING_AGENT_DIR=" + home,
	}}
}

// realSession starts the real pi in a directory with these files.
func realSession(t *testing.T, trust pi.Trust, o agent.Options, tree map[string]string) (agent.Session, *agenttest.Log, *fakemodel.Server) {
	t.Helper()
	argv := realArgv(t)
	model := fakemodel.Start(t)
	for name, text := range tree {
		put(t, filepath.Join(o.Dir, name), strings.ReplaceAll(text, "DIR", o.Dir))
	}
	c := realConfig(t, argv, model)
	c.Trust = trust
	s := begin(t, c, o)
	return s, agenttest.Watch(t, s), model
}

// project would run programs, choose where the transcript goes, and speak for
// the user; what AGENTS.md says is heard.
var project = map[string]string{
	"AGENTS.md":             "heliotrope\n",
	".pi/SYSTEM.md":         "marigold\n",
	".pi/settings.json":     `{"sessionDir":"DIR/kept","defaultModel":"other-model"}`,
	".pi/prompts/hello.md":  "petunia\n",
	".pi/extensions/run.ts": `import { writeFileSync } from "node:fs"; export default function () { writeFileSync("DIR/ran", ""); }`,
}

func TestARepositoryGetsNoSay(t *testing.T) {
	dir := t.TempDir()
	s, l, model := realSession(t, pi.TrustNobody, agent.Options{Dir: dir, Sandbox: agent.WorkspaceWrite}, project)
	l.Send("/hello " + touch(filepath.Join(dir, "made")))
	p := agenttest.Next[agent.Permission](l)
	if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Deny}); err != nil {
		t.Fatal(err)
	}
	agenttest.Next[agent.Turn](l)
	for _, name := range []string{"made", "ran", "kept"} {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is there", name)
		}
	}
	if !heard(model, "heliotrope") || heard(model, "marigold") || heard(model, "petunia") || model.Requests()[0].Model != "fake-model" {
		t.Errorf("the model heard %+v", model.Requests()[0])
	}
}

func TestAProjectThatIsTrusted(t *testing.T) {
	dir := t.TempDir()
	_, l, model := realSession(t, pi.TrustProject, agent.Options{Dir: dir, Sandbox: agent.FullAccess}, project)
	if turn, _ := l.Turn("[[say:done]]"); turn.Text != "done" {
		t.Errorf("the turn was %+v", turn)
	}
	if !exists(filepath.Join(dir, "ran")) || !exists(filepath.Join(dir, "kept")) || !heard(model, "marigold") {
		t.Errorf("the project was not loaded:%s", l)
	}
}

func TestAProjectNobodyDecidedAbout(t *testing.T) {
	dir := t.TempDir()
	_, l, model := realSession(t, pi.TrustUser, agent.Options{Dir: dir, Sandbox: agent.FullAccess}, project)
	l.Turn("[[say:done]]")
	if exists(filepath.Join(dir, "ran")) || heard(model, "marigold") {
		t.Errorf("the project was loaded:%s", l)
	}
}

func heard(model *fakemodel.Server, text string) bool {
	return slices.ContainsFunc(model.Requests(), func(q fakemodel.Request) bool { return strings.Contains(q.Text()+q.System, text) })
}

func TestReadOnlyOnlyReads(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "made")
	_, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: dir, Sandbox: agent.ReadOnly}, map[string]string{"a": "heliotrope"})
	turn, events := l.Turn(touch(file) + fakemodel.Tool("bash", map[string]string{"command": "touch made"}) + tool("read", "/etc/passwd") + tool("read", "a") + tool("ls", ""))
	if asked := agenttest.All[agent.Permission](events); turn.Status != agent.Completed || len(asked) > 0 || exists(file) {
		t.Errorf("asked %+v, made is %v:%s", asked, exists(file), l)
	}
	var failed []bool
	results := agenttest.All[agent.ToolResult](events)
	for _, r := range results {
		failed = append(failed, r.Error)
	}
	if !slices.Equal(failed, []bool{true, true, true, false, false}) || results[3].Output != "heliotrope" {
		t.Errorf("results %+v", results)
	}
}

func tool(name, path string) string { return fakemodel.Tool(name, map[string]string{"path": path}) }

func TestFullAccessAsksNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "made")
	_, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: dir, Sandbox: agent.FullAccess}, nil)
	turn, events := l.Turn(touch(file))
	if asked := agenttest.All[agent.Permission](events); turn.Status != agent.Completed || len(asked) > 0 || !exists(file) {
		t.Errorf("asked %+v, made is %v:%s", asked, exists(file), l)
	}
}

// TestASlashIsNoCommand has the one that every pi knows, and the name of one
// that none does.
func TestASlashIsNoCommand(t *testing.T) {
	_, l, model := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, nil)
	for _, text := range []string{"/llama", "/clear", "@README.md", "--help", "!touch x"} {
		if turn, _ := l.Turn(text + " [[say:done]]"); turn.Text != "done" || !heard(model, text) {
			t.Errorf("%s: the turn was %+v", text, turn)
		}
	}
}

func TestWhatJoinsTheSystemPrompt(t *testing.T) {
	for _, system := range []string{"a", "be brief\nand -- kind"} { // the first is a file as well
		_, l, model := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, System: "say " + system}, map[string]string{"say a": "heliotrope"})
		l.Turn("[[say:done]]")
		if !heard(model, "say "+system) || heard(model, "heliotrope") {
			t.Errorf("%q: the model heard %s", system, model.Requests()[0].System)
		}
	}
}

// TestAStreamThatIsCut is asked for again; what was told of it is not repeated.
func TestAStreamThatIsCut(t *testing.T) {
	_, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, nil)
	turn, events := l.Turn("[[drop:1]][[say:all of it is told, and each word of it once]]")
	retries := slices.ContainsFunc(agenttest.All[agent.Notice](events), func(n agent.Notice) bool { return n.Name == "auto_retry_start" && n.Stall })
	if turn.Status != agent.Completed || agenttest.Said(events) != turn.Text || !retries {
		t.Errorf("said %q:%s", agenttest.Said(events), l)
	}
}

func TestAnInterruptRightAfterASend(t *testing.T) {
	s, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, nil)
	for range 5 {
		l.Send("[[hang]]")
		if err := s.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Interrupted {
			t.Errorf("the turn was %+v", turn)
		}
	}
	if turn, _ := l.Turn("[[say:done]]"); turn.Text != "done" {
		t.Errorf("the turn was %+v", turn)
	}
}

// TestAnInterruptedCommand ends with what it has started.
func TestAnInterruptedCommand(t *testing.T) {
	dir := t.TempDir()
	s, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: dir, Sandbox: agent.FullAccess}, nil)
	l.Send(fakemodel.Tool("bash", map[string]string{"command": "sleep 1000 & echo $! > started; mv started pid; wait"}))
	l.Poll("command", func() bool { return exists(filepath.Join(dir, "pid")) })
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if turn := agenttest.Next[agent.Turn](l); turn.Status != agent.Interrupted {
		t.Errorf("the turn was %+v", turn)
	}
	l.Poll("end of the command", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

func TestTheRealErrors(t *testing.T) {
	for prompt, want := range map[string]failure.Error{
		"[[error:401:authentication_error:bad key]]":                                  {Code: failure.Auth},
		"[[error:429:rate_limit_error:slow down]]":                                    {Code: failure.RateLimit, Retriable: true},
		"[[error:429:insufficient_quota:no money]]":                                   {Code: failure.RateLimit},
		"[[error:529:overloaded_error:Overloaded]]":                                   {Code: failure.Unknown, Retriable: true},
		"[[error:400:invalid_request_error:prompt is too long: 210000 tokens > 1]]":   {Code: failure.BadRequest, Message: "context too long"},
		"[[error:400:invalid_request_error:Your credit balance is too low for this]]": {Code: failure.RateLimit},
	} {
		t.Run(prompt[2:20], func(t *testing.T) {
			_, l, _ := realSession(t, pi.TrustNobody, agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly}, nil)
			turn, _ := l.Turn(prompt)
			e, ok := errors.AsType[*failure.Error](turn.Err)
			if !ok || e.Code != want.Code || e.Retriable != want.Retriable || !strings.Contains(e.Message, want.Message) {
				t.Errorf("%s: got %v:%s", prompt, turn.Err, l)
			}
		})
	}
}

// TestTheModelOfASession is kept in a resume, whatever the default is by then;
// a session whose model is gone does not go on with another one.
func TestTheModelOfASession(t *testing.T) {
	argv := realArgv(t)
	model := fakemodel.Start(t)
	c := realConfig(t, argv, model)
	o := agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, Sticky: agent.Choice{Model: "fake/other-model"}}
	s := begin(t, c, o)
	agenttest.Watch(t, s).Turn("[[say:one]]")
	s.Stop(t.Context())

	o.Resume, o.Sticky.Model = s.ID(), ""
	again := begin(t, c, o)
	l := agenttest.Watch(t, again)
	l.Turn("[[say:two]]")
	again.Stop(t.Context())
	for _, q := range model.Requests() {
		if q.Model != "other-model" {
			t.Errorf("the model was %s", q.Model)
		}
	}

	home := strings.TrimPrefix(c.Environ[len(c.Environ)-1], "PI_CODING_AGENT_DIR=")
	text, err := os.ReadFile(filepath.Join(home, "models.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, "models.json"), strings.ReplaceAll(string(text), "other-model", "third-model"))
	_, err = pi.New(c).Start(t.Context(), o)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || !strings.Contains(e.Message, "fake/other-model is not available") {
		t.Errorf("got %v", err)
	}
	o.Sticky.Model = "fake/third-model"
	chosen := begin(t, c, o)
	if turn, _ := agenttest.Watch(t, chosen).Turn("[[say:three]]"); turn.Text != "three" || chosen.ID() != o.Resume {
		t.Errorf("the turn was %+v", turn)
	}
}

func TestAModelThatIsNotThere(t *testing.T) {
	c := realConfig(t, realArgv(t), fakemodel.Start(t))
	_, err := pi.New(c).Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly, Sticky: agent.Choice{Model: "none/such"}})
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest {
		t.Errorf("got %v", err)
	}
}

// TestWithoutALogin has no model to ask: it is installed all the same.
func TestWithoutALogin(t *testing.T) {
	a := pi.New(pi.Config{Argv: realArgv(t), Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}})
	_, err := a.Start(t.Context(), agent.Options{Dir: t.TempDir(), Sandbox: agent.ReadOnly})
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.Auth || e.Retriable {
		t.Errorf("got %v", err)
	}
	if m := agenttest.InstalledManifest(t, a); m.Status != agent.Degraded || m.Version == "" {
		t.Errorf("manifest %+v", m)
	}
}
