package agenttest_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

func newFake(t *testing.T) (*agenttest.Fake, agent.Options) {
	return agenttest.NewFake(fakemodel.New()), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
}

func begin(t *testing.T, f *agenttest.Fake, o agent.Options) (agent.Session, *agenttest.Log) {
	t.Helper()
	s, err := f.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t.Context()) })
	return s, agenttest.Watch(t, s)
}

func TestFakePassesTheSuite(t *testing.T) {
	agenttest.Run(t, agenttest.Subject{
		New: func(t *testing.T, model *fakemodel.Server) (agent.Adapter, agent.Options) {
			return agenttest.NewFake(model.Model), agent.Options{Dir: t.TempDir(), Sandbox: agent.WorkspaceWrite}
		},
		Touch: func(path string) string { return fakemodel.Tool("write", map[string]string{"path": path}) },
	})
}

func TestTheToolsOfTheFake(t *testing.T) {
	const write, run, read = `[[tool:write {"path":"a","content":"A"}]]`, `[[tool:run {"command":"make"}]]`, `[[tool:read {"path":"seen"}]]`
	for name, tc := range map[string]struct {
		prompt string
		with   func(*agent.Options)
		asks   int
		want   string // the last result
	}{
		"a file is read unasked":             {read, func(*agent.Options) {}, 0, "what is seen"},
		"a file that is not there":           {`[[tool:read {"path":"none"}]]`, func(*agent.Options) {}, 0, "no such file"},
		"a file is written after an ask":     {write, func(*agent.Options) {}, 1, "written"},
		"each is asked about":                {write + run, func(*agent.Options) {}, 2, "ran"},
		"all of a round are":                 {run + `[[par:run {"command":"test"}]]`, func(*agent.Options) {}, 2, "ran"},
		"a tool of the options is not":       {run, func(o *agent.Options) { o.Tools = []string{"run"} }, 0, "ran"},
		"nothing is with full access":        {write + run, func(o *agent.Options) { o.Sandbox = agent.FullAccess }, 0, "ran"},
		"nothing is written when read-only":  {write, func(o *agent.Options) { o.Sandbox = agent.ReadOnly }, 0, "the sandbox is read-only"},
		"a tool that is taken away":          {run, func(o *agent.Options) { o.NoTools = []string{"run"} }, 0, "no such tool"},
		"an input that is not of the tool's": {`[[tool:run {"command":7}]]`, func(*agent.Options) {}, 0, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			f, o := newFake(t)
			if err := os.WriteFile(filepath.Join(o.Dir, "seen"), []byte("what is seen"), 0o600); err != nil {
				t.Fatal(err)
			}
			tc.with(&o)
			s, l := begin(t, f, o)
			l.Send(tc.prompt)
			for range tc.asks {
				p := agenttest.Next[agent.Permission](l)
				if err := s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow}); err != nil {
					t.Fatal(err)
				}
			}
			agenttest.Next[agent.Turn](l)
			results := agenttest.All[agent.ToolResult](l.Events())
			if last := results[len(results)-1]; !strings.Contains(last.Output, tc.want) {
				t.Errorf("got %+v, want %q:%s", last, tc.want, l)
			}
		})
	}
}

func TestTheFakeTellsWhatAPermissionIsFor(t *testing.T) {
	f, o := newFake(t)
	s, l := begin(t, f, o)
	l.Send(`[[tool:write {"path":"a","content":"A"}]][[tool:run {"command":"make"}]]`)
	write := agenttest.Next[agent.Permission](l)
	if want := filepath.Join(o.Dir, "a"); !write.Edit || !slices.Equal(write.Paths, []string{want}) || write.Title != "write "+want {
		t.Errorf("%+v", write)
	}
	s.Decide(t.Context(), agent.PermissionDecision{CallID: write.CallID, Verdict: agent.Allow})
	run := agenttest.Next[agent.Permission](l)
	if run.Edit || len(run.Paths) > 0 || run.Title != "run make" {
		t.Errorf("%+v", run)
	}
	s.Decide(t.Context(), agent.PermissionDecision{CallID: run.CallID, Verdict: agent.Allow})
	agenttest.Next[agent.Turn](l)
	content, err := os.ReadFile(filepath.Join(o.Dir, "a"))
	if err != nil || string(content) != "A" || !slices.Equal(f.Ran(), []string{"make"}) {
		t.Errorf("wrote %q (%v), ran %q", content, err, f.Ran())
	}
}

func TestTheFakeCrashesAndGoesOn(t *testing.T) {
	f, o := newFake(t)
	s, l := begin(t, f, o)
	l.Send(`[[tool:run {"command":"make"}]][[say:made]]`)
	agenttest.Next[agent.Permission](l)
	f.Crash()
	l.Rest()
	if exits := agenttest.All[agent.Exit](l.Events()); len(exits) != 1 || len(agenttest.All[agent.Turn](l.Events())) > 0 {
		t.Errorf("events:%s", l)
	}
	if err := s.Send(t.Context(), "x"); s.Alive() || !errors.Is(err, agent.ErrGone) {
		t.Errorf("alive %v, send %v", s.Alive(), err)
	}
	o.Resume = s.ID()
	s, l = begin(t, f, o)
	l.Send("go on")
	p := agenttest.Next[agent.Permission](l)
	s.Decide(t.Context(), agent.PermissionDecision{CallID: p.CallID, Verdict: agent.Allow})
	if turn := agenttest.Next[agent.Turn](l); turn.Text != "made" || !slices.Equal(f.Ran(), []string{"make"}) {
		t.Errorf("the turn said %q, and ran %q", turn.Text, f.Ran())
	}
}

func TestTheFakeFailsAsItIsTold(t *testing.T) {
	f, o := newFake(t)
	for prompt, want := range map[string]failure.Error{
		"[[error:401:authentication_error:no]]": {Code: failure.Auth, Message: "HTTP 401 Unauthorized: no"},
		"[[error:529:overloaded_error:busy]]":   {Code: failure.Unknown, Message: "HTTP 529: busy", Retriable: true},
		"[[drop]]":                              {Code: failure.Unknown, Message: "the stream was cut off", Retriable: true},
	} {
		_, l := begin(t, f, o)
		turn, _ := l.Turn(prompt)
		e, ok := errors.AsType[*failure.Error](turn.Err)
		if turn.Status != agent.Failed || !ok || *e != want {
			t.Errorf("%s: %s, %+v", prompt, turn.Status, turn.Err)
		}
	}
	f.Refuse = func(agent.Options) error { return agent.ErrUnavailable }
	if _, err := f.Start(t.Context(), o); !errors.Is(err, agent.ErrUnavailable) || len(f.Starts()) != 3 {
		t.Errorf("got %v after %d starts", err, len(f.Starts()))
	}
}

func TestTheFakeCountsAndWarns(t *testing.T) {
	f, o := newFake(t)
	o.MaxOutputTokens = agent.AnswerTokens(0)
	_, l := begin(t, f, o)
	turn, events := l.Turn(`[[tool:read {"path":"a"}]][[usage:100,10,40]]`)
	if turn.Tokens != (agent.Tokens{Input: 200, Output: 20, Cached: 80}) || turn.Cost == nil || *turn.Cost != 220 {
		t.Errorf("%+v, cost %v", turn.Tokens, turn.Cost)
	}
	if all := agenttest.All[agent.Budget](events); len(all) > 0 {
		t.Errorf("warned: %+v", all)
	}
	_, events = l.Turn("[[usage:154000,1000]]")
	want := agent.Budget{Used: 155_000, Warn: 155_000, Hard: 168_000, MaxOutput: 32_000, Step: 1}
	if got := agenttest.All[agent.Budget](events); !slices.Equal(got, []agent.Budget{want}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
