package activities_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// employ puts an agent in memory behind the provider, whose every turn does
// what the script says, whatever its prompt.
func (s *fixture) employ(script string) *agenttest.Fake {
	fake := agenttest.NewFake(fakemodel.New())
	s.agent = session.New(session.Config{Adapter: scriptedAgent{fake, script}, Pool: s.pool})
	return fake
}

func writes(path, content string) string {
	return tool("write", map[string]string{"path": path, "content": content})
}

func tool(name string, input any) string {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[[tool:%s %s]]", name, b)
}

// developing is a call of the developer whose agent has a slot.
func (s *fixture) developing() activities.Call {
	c := s.call(run.Execute)
	c.Slot = "developer"
	return c
}

func TestWhatAnAgentChangedIsProposed(t *testing.T) {
	s := newFixture(t)
	s.employ(writes("log.txt", "one\ntwo\n") + writes("new.txt", "new\n") + "[[say:Here it is.\n\n**Append a line**]]")
	out := must[activities.ProposeResult](s, s.acts.Propose, s.developing())
	p := out.Proposal
	if p == nil || out.Refusal != nil || p.Summary != "Append a line" || p.Stat != (run.Stat{Files: 2, Added: 2}) || p.Base != s.base {
		t.Fatalf("%+v", out)
	}
	if b, err := s.dir().Load(p.Raw); err != nil || !strings.HasPrefix(string(b), "Here it is.") {
		t.Errorf("the raw answer is %q, %v", b, err)
	}
	if b, err := s.dir().Load(p.Patch); err != nil || !strings.Contains(string(b), "+two\n") {
		t.Errorf("the patch is %q, %v", b, err)
	}
	if got := s.git("status", "--porcelain"); got != "" {
		t.Errorf("the user's checkout: %s", got)
	}
}

func TestChangesAndAResultAtOnceAreRefused(t *testing.T) {
	s := newFixture(t)
	s.employ(writes("log.txt", "two\n") + fakemodel.Say(result("type: NOOP\nreason: done already")))
	out := must[activities.ProposeResult](s, s.acts.Propose, s.developing())
	if out.Violation == nil || out.Violation.Code != "contradiction" || out.Proposal != nil {
		t.Errorf("%+v", out)
	}
}

func TestAgentThatChangesNothingIsTakenAtItsWord(t *testing.T) {
	s := newFixture(t)
	s.employ(fakemodel.Say(result("type: ASK\nquestion: blue or red?")))
	if out := must[activities.ProposeResult](s, s.acts.Propose, s.developing()); out.Question == nil || out.Question.Question != "blue or red?" {
		t.Errorf("%+v", out)
	}
}

func TestPermissionIsAHaltAndItsInputIsKeptWhole(t *testing.T) {
	s := newFixture(t)
	long := strings.Repeat("x", 20<<10)
	fake := s.employ(tool("run", map[string]string{"command": "echo " + secret + " \x1b[31m" + long}) + "[[say:done]]" + writes("a.txt", "A\n"))
	c := s.developing()
	out := must[activities.ProposeResult](s, s.acts.Propose, c)
	if out.Halt == nil || out.Halt.Permission == nil {
		t.Fatalf("%+v", out)
	}
	p := *out.Halt.Permission
	b, err := s.dir().Load(p.Input)
	if err != nil || !strings.Contains(string(b), long) || strings.Contains(string(b), secret) {
		t.Errorf("the input that is kept has %d bytes: %v", len(b), err)
	}
	if strings.Contains(p.Title+p.Excerpt, secret) || strings.ContainsRune(p.Title+p.Excerpt, 0x1b) || size(t, out) > maxResult {
		t.Errorf("%d bytes go into history: %q", size(t, out), p.Title)
	}
	if len(fake.Ran()) != 0 {
		t.Error("it ran unasked")
	}
	c.Permits = []run.Permit{{CallID: p.CallID, Tool: p.Tool, Digest: p.Digest, Allow: true, Slot: "developer"}}
	if out := must[activities.ProposeResult](s, s.acts.Propose, c); out.Proposal == nil || len(fake.Ran()) != 1 {
		t.Errorf("after the decision: %+v, ran %d", out, len(fake.Ran()))
	}
}

func TestCleanUpEndsAgentsThatWait(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	fake := s.employ(tool("run", map[string]string{"command": "make"}))
	if out := must[activities.ProposeResult](s, s.acts.Propose, s.developing()); out.Halt == nil {
		t.Fatalf("%+v", out)
	}
	for range 2 {
		must[any](s, s.acts.CleanUp, s.place())
	}
	if _, err := os.Stat(s.runs.Agents("r1")); !os.IsNotExist(err) {
		t.Errorf("its slot is left: %v", err)
	}
	if n := fake.Living(); n != 0 {
		t.Errorf("%d agents live", n)
	}
}

func TestTryJudgesAnAttemptInATreeOfItsOwn(t *testing.T) {
	s := newFixture(t)
	s.employ(writes("log.txt", "one\ntwo\n") + "[[say:Append]]")
	c := s.developing()
	c.Candidate, c.Slot = 2, "developer-2"
	p := must[activities.ProposeResult](s, s.acts.Propose, c).Proposal
	for check, want := range map[string]run.Result{"grep -q two log.txt": run.Pass, "test -f gone": run.Fixable} {
		in := activities.TryInput{
			CheckInput: activities.CheckInput{Header: s.place(), Iteration: 1, Commit: s.base, Stat: p.Stat, Commands: []string{check}, Timeout: c.Timeout},
			Candidate:  2, Number: 1, Patch: p.Patch,
		}
		for range 2 {
			if j := must[activities.Judgement](s, s.acts.Try, in); j.Verdict != want || j.Report.Name != "evaluate/iter-0001.try-2.json" {
				t.Errorf("%s: %+v", check, j)
			}
		}
	}
	if got := s.git("for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("trying made %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.repo, ".git", "worktrees")); err == nil {
		t.Error("trying made a worktree of the user's repository")
	}
}
