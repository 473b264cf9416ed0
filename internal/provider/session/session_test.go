package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

// fakeSite is a slot with a plain directory for a checkout; its changes are the
// names and contents of the files.
type fakeSite struct {
	dir   string
	unfit map[string]string      // files that no patch can carry, and why
	make  func(dir string) error // writes the files of a new checkout; nil: it has none

	mu     sync.Mutex
	note   []byte
	held   int
	logged []string
}

func (s *fakeSite) Slot() string                            { return s.dir }
func (s *fakeSite) Files(context.Context) ([]string, error) { return nil, nil }
func (s *fakeSite) Note() ([]byte, error)                   { s.mu.Lock(); defer s.mu.Unlock(); return s.note, nil }
func (s *fakeSite) SetNote(note []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = note
	return nil
}

// edit changes the note to what a worker that died would have left.
func (s *fakeSite) edit(t *testing.T, change func(note map[string]any)) {
	t.Helper()
	var note map[string]any
	if err := json.Unmarshal(s.note, &note); err != nil {
		t.Fatal(err)
	}
	change(note)
	s.note, _ = json.Marshal(note)
}

func (s *fakeSite) Read(context.Context, string, int64) ([]byte, int64, error) {
	return nil, 0, errors.New("nothing is read")
}

func (s *fakeSite) Checkout(_ context.Context, keep bool) (provider.Checkout, error) {
	if !keep {
		if err := os.RemoveAll(s.dir); err != nil {
			return provider.Checkout{}, err
		}
	}
	_, err := os.Stat(s.dir)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return provider.Checkout{}, err
	}
	if err != nil && s.make != nil {
		return provider.Checkout{Dir: s.dir}, s.make(s.dir)
	}
	return provider.Checkout{Dir: s.dir}, nil
}

func (s *fakeSite) Changes(context.Context) ([]byte, error) {
	var diff strings.Builder
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if why, bad := s.unfit[e.Name()]; bad {
			return nil, &failure.Error{Code: failure.BadRequest, Message: e.Name() + ": " + why}
		}
		b, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&diff, "%s=%s\n", e.Name(), b)
	}
	return []byte(diff.String()), err
}

func (s *fakeSite) Log(what string, about map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logged = append(s.logged, what+" "+about["tool"]+about["verdict"])
}

func (s *fakeSite) Warn(what string, about map[string]string) {
	s.Log(what+": "+about["from"]+": "+about["input"], about)
}

func (s *fakeSite) Hold(context.Context, func()) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
	return func() { s.mu.Lock(); defer s.mu.Unlock(); s.held-- }, nil
}

// bench is a provider with a fake agent behind it.
type bench struct {
	*testing.T
	fake  *agenttest.Fake
	pool  *session.Pool
	site  *fakeSite
	quiet time.Duration
}

func newBench(t *testing.T) *bench {
	b := &bench{
		T: t, fake: agenttest.NewFake(fakemodel.New()), pool: session.NewPool(0),
		site: &fakeSite{dir: filepath.Join(t.TempDir(), "checkout")},
	}
	t.Cleanup(func() {
		b.pool.Stop("")
		if b.site.held != 0 {
			t.Errorf("the slot is held %d times at the end", b.site.held)
		}
	})
	return b
}

func (b *bench) provider() provider.Provider {
	return session.New(session.Config{Adapter: b.fake, Pool: b.pool, Quiet: b.quiet})
}

// request is one of the developer with a script for the model.
func (b *bench) request(script string) provider.Request {
	req := providertest.Request()
	req.Call = 1
	req.Prompt = provider.Prompt{System: "You are the developer.", User: script}
	req.Work = provider.Work{Site: b.site}
	return req
}

func (b *bench) call(req provider.Request) (provider.Response, error) {
	return b.provider().Generate(b.Context(), req, nil)
}

// permit is the decision on what the call was suspended for.
func (b *bench) permit(resp provider.Response, err error, p run.Permit) run.Permit {
	b.Helper()
	if err != nil || !waits(resp) {
		b.Fatalf("got %+v, %v, want a call that waits", resp.Halt, err)
	}
	asked := resp.Halt.Permission
	p.CallID, p.Tool, p.Digest = asked.CallID, asked.Tool, asked.Digest
	return p
}

func waits(resp provider.Response) bool { return resp.Halt != nil && resp.Halt.Permission != nil }

func isExhausted(resp provider.Response) bool { return resp.Halt != nil && resp.Halt.Exhausted }

func tool(name string, in map[string]string) string {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("[[tool:%s %s]]", name, b)
}

func write(path, content string) string {
	return tool("write", map[string]string{"path": path, "content": content})
}

func sh(command string) string { return tool("run", map[string]string{"command": command}) }

func TestWhatTheAgentChangedIsTheAnswer(t *testing.T) {
	b := newBench(t)
	var seen []provider.Progress
	resp, err := b.provider().Generate(t.Context(), b.request(write("a.txt", "A")+"[[say:Add a]][[usage:100,20]]"), func(p provider.Progress) { seen = append(seen, p) })
	if err != nil {
		t.Fatal(err)
	}
	if string(resp.Changes) != "a.txt=A\n" || resp.RawText != "Add a" || resp.FinishReason != provider.Stop {
		t.Errorf("got %q with %q, %s", resp.RawText, resp.Changes, resp.FinishReason)
	}
	if u := resp.Usage; u == nil || u.InputTokens != 200 || u.OutputTokens != 40 || u.TotalTokens != 240 || u.Cost != 240 {
		t.Errorf("usage %+v", u)
	}
	if want := []string{"agent said ", "agent started ", "permission decided writeallow", "tool called write", "tool returned write", "turn ended "}; !slices.Equal(slices.Sorted(slices.Values(b.site.logged)), slices.Sorted(slices.Values(want))) {
		t.Errorf("logged %q", b.site.logged)
	}
	if !slices.ContainsFunc(seen, func(p provider.Progress) bool { return p.Doing == "uses write a.txt" && p.Used.TotalTokens == 120 }) {
		t.Errorf("progress %+v", seen)
	}
}

func TestSandboxAndPolicyDecideWithoutAPerson(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.txt")
	for name, tc := range map[string]struct {
		role   run.Role
		phase  run.Phase
		tools  run.Tools
		script string
		ran    int
		waits  bool
	}{
		"files of the checkout are free":        {run.Developer, run.Execute, "", write("a.txt", "A"), 0, false},
		"a file elsewhere waits":                {run.Developer, run.Execute, "", write(outside, "A"), 0, true},
		"a file of the git directory waits":     {run.Developer, run.Execute, "", write(".git/config", "A"), 0, true},
		"a path that leads out waits":           {run.Developer, run.Execute, "", write("../up.txt", "A"), 0, true},
		"a command waits":                       {run.Developer, run.Execute, run.AskTools, sh("make"), 0, true},
		"a command is allowed by the policy":    {run.Developer, run.Execute, run.AllowTools, sh("make"), 1, false},
		"a command is refused by the policy":    {run.Fixer, run.Fix, run.DenyTools, sh("make"), 0, false},
		"the planner changes nothing":           {run.Planner, run.Plan, run.AllowTools, sh("make") + write("a.txt", "A"), 0, false},
		"the evaluator changes nothing, either": {run.Evaluator, run.Evaluate, run.AllowTools, sh("make"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request(tc.script + "[[say:done]]")
			req.Role, req.Phase, req.Work.Tools = tc.role, tc.phase, tc.tools
			resp, err := b.call(req)
			if waits(resp) != tc.waits || err != nil {
				t.Fatalf("got %q, %v", resp.RawText, err)
			}
			if len(b.fake.Ran()) != tc.ran {
				t.Errorf("ran %q", b.fake.Ran())
			}
			if sandbox := b.fake.Starts()[0].Sandbox; (sandbox == agent.ReadOnly) != (tc.role == run.Planner || tc.role == run.Evaluator) {
				t.Errorf("the %s has the sandbox %s", tc.role, sandbox)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("a file was written outside")
			}
		})
	}
}

func TestPersonDecidesAndTheSameAgentGoesOn(t *testing.T) {
	for name, tc := range map[string]struct {
		permit run.Permit
		ran    int
	}{
		"allowed":                 {run.Permit{Allow: true}, 1},
		"allowed for the session": {run.Permit{Allow: true, Session: true}, 2},
		"refused":                 {run.Permit{Reason: "not here"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			script := write("a.txt", "A") + sh("make")
			if tc.permit.Session {
				script += sh("make test")
			}
			req := b.request(script + "[[say:done]]")
			asked, err := b.call(req)
			req.Work.Permits = []run.Permit{b.permit(asked, err, tc.permit)}
			resp, err := b.call(req)
			if err != nil || string(resp.Changes) != "a.txt=A\n" {
				t.Fatalf("got %q, %v", resp.Changes, err)
			}
			if len(b.fake.Ran()) != tc.ran || len(b.fake.Starts()) != 1 {
				t.Errorf("ran %q in %d processes", b.fake.Ran(), len(b.fake.Starts()))
			}
			heard := lastRequest(b).Text()
			if tc.permit.Reason != "" && !strings.Contains(heard, tc.permit.Reason) {
				t.Errorf("the model did not hear why:\n%s", heard)
			}
			if told := strings.Contains(heard, "The user refused the tool "); told != (tc.permit.Reason != "") {
				t.Errorf("a turn of its own tells of a refusal: %t, want %t\n%s", told, tc.permit.Reason != "", heard)
			}
		})
	}
}

// An agent that does not reach its model says nothing for minutes. What the box refuses it is told at once.
func TestARefusedTargetIsToldBeforeTheAgentSpeaks(t *testing.T) {
	b := newBench(t)
	b.fake.Refuse = func(o agent.Options) error {
		for range 2 * 8 { // more than wait to be told
			o.Refused("127.0.0.1:9518")
		}
		return nil
	}
	var doing []string
	_, err := b.provider().Generate(t.Context(), b.request("[[say:done]]"), func(p provider.Progress) { doing = append(doing, p.Doing) })
	if err != nil || !slices.ContainsFunc(doing, func(d string) bool { return strings.Contains(d, "--provider-network 127.0.0.1:9518") }) {
		t.Errorf("got %q, %v; want the flag that opens the target", doing, err)
	}
}

func lastRequest(b *bench) fakemodel.Request {
	all := b.fake.Model.Requests()
	return all[len(all)-1]
}

func TestPermitForOneCallLetsNoOtherThrough(t *testing.T) {
	b := newBench(t)
	req := b.request(sh("make") + sh("rm") + "[[say:done]]")
	asked, err := b.call(req)
	req.Work.Permits = []run.Permit{b.permit(asked, err, run.Permit{Allow: true})}
	asked, err = b.call(req)
	second := b.permit(asked, err, run.Permit{})
	if second.Digest == req.Work.Permits[0].Digest || !slices.Equal(b.fake.Ran(), []string{"make"}) {
		t.Errorf("ran %q, then asked for %s", b.fake.Ran(), second.Tool)
	}
	req.Work.Permits = append(req.Work.Permits, second)
	if _, err := b.call(req); err != nil || len(b.fake.Ran()) != 1 {
		t.Errorf("ran %q, %v", b.fake.Ran(), err)
	}
}

func TestAgentThatDiedWhileItWaitedIsResumed(t *testing.T) {
	for name, die := range map[string]func(*bench){
		"its process died":         func(b *bench) { b.fake.Crash() },
		"the worker died":          func(b *bench) { b.fake.Crash(); b.pool = session.NewPool(0); b.site.held = 0 },
		"the pool gave it up":      func(b *bench) { b.pool.Stop(b.site.Slot()) },
		"another worker wanted it": func(b *bench) { b.pool.Stop(""); b.pool = session.NewPool(0) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request(write("a.txt", "A") + sh("make") + "[[say:done]]")
			asked, err := b.call(req)
			permit := b.permit(asked, err, run.Permit{Allow: true})
			die(b)
			req.Work.Permits = []run.Permit{permit}
			resp, err := b.call(req)
			if err != nil || string(resp.Changes) != "a.txt=A\n" {
				t.Fatalf("got %q, %v", resp.Changes, err)
			}
			if starts := b.fake.Starts(); len(starts) != 2 || starts[1].Resume == "" || !slices.Equal(b.fake.Ran(), []string{"make"}) {
				t.Errorf("ran %q, %d starts", b.fake.Ran(), len(starts))
			}
			if text := lastRequest(b).Text(); strings.Count(text, "You are the developer.") != 1 {
				t.Errorf("the task was sent again:\n%s", text)
			}
		})
	}
}

func TestWorkGoesOnWhereACrashCutItOff(t *testing.T) {
	b := newBench(t)
	req := b.request(write("a.txt", "A") + "[[hang:1]]" + write("b.txt", "B") + "[[say:done]]")
	done := make(chan error, 1)
	go func() {
		_, err := b.call(req)
		done <- err
	}()
	for !slices.ContainsFunc(b.fake.Model.Requests(), func(q fakemodel.Request) bool { return strings.Contains(q.Text(), "written") }) {
		time.Sleep(5 * time.Millisecond) // the pace of polling
	}
	b.fake.Crash()
	if e, ok := errors.AsType[*failure.Error](<-done); !ok || !e.Retriable {
		t.Fatalf("got %v, want an error that is retriable", e)
	}
	resp, err := b.call(req)
	if err != nil || string(resp.Changes) != "a.txt=A\nb.txt=B\n" || resp.RawText != "done" {
		t.Errorf("got %q with %q, %v", resp.RawText, resp.Changes, err)
	}
}

func TestAnswerThatWasGivenIsNotPaidTwice(t *testing.T) {
	b := newBench(t)
	req := b.request(write("a.txt", "A") + "[[say:done]]")
	if _, err := b.call(req); err != nil {
		t.Fatal(err)
	}
	asked := len(b.fake.Model.Requests())
	resp, err := b.call(req) // the worker died before it stored the answer
	if err != nil || resp.RawText != "done" || string(resp.Changes) != "a.txt=A\n" || resp.Usage.TotalTokens == 0 {
		t.Errorf("got %+v, %v", resp, err)
	}
	if len(b.fake.Model.Requests()) != asked {
		t.Error("the model was asked again")
	}
}

func TestNextCallOfTheSlotGoesOnWithTheSessionInAFreshCheckout(t *testing.T) {
	b := newBench(t)
	if _, err := b.call(b.request(write("a.txt", "A") + "[[say:done]]")); err != nil {
		t.Fatal(err)
	}
	req := b.request(write("b.txt", "B") + "[[say:fixed]]")
	req.Role, req.Phase, req.Iteration = run.Fixer, run.Fix, 2
	resp, err := b.call(req)
	if err != nil || string(resp.Changes) != "b.txt=B\n" {
		t.Fatalf("got %q, %v", resp.Changes, err)
	}
	if text := lastRequest(b).Text(); !strings.Contains(text, "a.txt") && len(b.fake.Starts()) != 2 {
		t.Errorf("the developer's turn is not in the conversation:\n%s", text)
	}
	if b.fake.Starts()[1].Resume == "" {
		t.Error("the fixer has a new session")
	}
}

func TestSessionThatIsLostIsBegunAnew(t *testing.T) {
	b := newBench(t)
	b.site.note = []byte(`{"session":"gone","key":"execute-1","call":1,"open":true}`)
	resp, err := b.call(b.request(write("a.txt", "A") + "[[say:done]]"))
	if err != nil || string(resp.Changes) != "a.txt=A\n" {
		t.Fatalf("got %q, %v", resp.Changes, err)
	}
	if starts := b.fake.Starts(); len(starts) != 1 || starts[0].Resume != "" {
		t.Errorf("starts %+v", starts)
	}
}

func TestFullSessionIsBegunAnewOnce(t *testing.T) {
	b := newBench(t)
	if _, err := b.call(b.request("[[say:done]]")); err != nil {
		t.Fatal(err)
	}
	req := b.request("[[errorx:1:400:invalid_request_error:prompt is too long: 210000 tokens]][[say:fixed]]")
	req.Iteration, req.Phase, req.Role = 2, run.Fix, run.Fixer
	resp, err := b.call(req)
	if err != nil || resp.RawText != "fixed" {
		t.Fatalf("got %q, %v", resp.RawText, err)
	}
	if starts := b.fake.Starts(); len(starts) != 3 || starts[1].Resume == "" || starts[2].Resume != "" {
		t.Errorf("%d starts", len(starts))
	}
}

func TestChangesThatNoPatchCanCarryAreMended(t *testing.T) {
	b := newBench(t)
	b.site.unfit = map[string]string{"link": "a symbolic link"}
	req := b.request(write("link", "x") + "[[say:done]]")
	_, err := b.call(req)
	e, ok := errors.AsType[*failure.Error](err)
	if !ok || e.Code != failure.BadRequest || e.Retriable || !strings.Contains(e.Message, "a symbolic link") {
		t.Fatalf("got %v", err)
	}
	told := 0
	for _, m := range lastRequest(b).Messages {
		if m.Role == fakemodel.User && slices.ContainsFunc(m.Texts, func(s string) bool { return strings.HasPrefix(s, "Your changes cannot be accepted") }) {
			told++
		}
	}
	if told != 2 {
		t.Errorf("the agent was told %d times", told)
	}
}

func TestBudgetInterruptsTheTurn(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,10]]" + write("a.txt", "A") + write("b.txt", "B") + "[[slow:1000]]")
	req.Work.Left.Tokens = 1500
	resp, err := b.call(req)
	if err != nil || !isExhausted(resp) || resp.Usage.TotalTokens < 1500 || resp.Usage.TotalTokens > 3100 {
		t.Fatalf("got %+v, %v, want a budget that is used up, by one request too many at most", resp, err)
	}
	req.Call = 2 // the budget was raised
	req.Prompt.User = "[[usage:1000,10]]" + write("c.txt", "C") + "[[say:done]]"
	req.Work.Left.Tokens = 1 << 20
	resp, err = b.call(req)
	if err != nil || !strings.Contains(string(resp.Changes), "a.txt=A") || !strings.Contains(string(resp.Changes), "c.txt=C") {
		t.Errorf("after the raise: %q, %v: the work so far is gone", resp.Changes, err)
	}
}

func TestSilentAgentIsATimeout(t *testing.T) {
	b := newBench(t)
	b.quiet = 50 * time.Millisecond
	_, err := b.call(b.request("[[hang]]"))
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.Timeout || !e.Retriable {
		t.Errorf("got %v", err)
	}
}

func TestFailuresAreTheContracts(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		refuse error
		code   failure.Code
	}{
		"a login that is refused": {"[[error:401:authentication_error:no]]", nil, failure.Auth},
		"an agent that is absent": {"", fmt.Errorf("%w: no claude on PATH", agent.ErrUnavailable), failure.BadRequest},
		"an error of the start":   {"", errors.New("handshake"), failure.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.fake.Refuse = func(agent.Options) error { return tc.refuse }
			resp, err := b.call(b.request(tc.script))
			e, ok := errors.AsType[*failure.Error](err)
			if !ok || e.Code != tc.code || resp.Error == nil || *resp.Error != *e {
				t.Errorf("got %v with %+v", err, resp)
			}
		})
	}
}

func TestWithoutASiteNothingIsDone(t *testing.T) {
	b := newBench(t)
	req := b.request("[[say:done]]")
	req.Work.Site = nil
	_, err := b.call(req)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || e.Retriable {
		t.Errorf("got %v", err)
	}
}

func TestConformance(t *testing.T) {
	answering := func(t *testing.T, prompt string) provider.Provider {
		b := newBench(t)
		b.fake.Model = fakemodel.New()
		return lent{b.provider(), func() provider.Request { return b.request(prompt) }, t}
	}
	providertest.Run(t, providertest.Subject{
		Text:    true,
		Answers: func(t *testing.T, raw string) provider.Provider { return answering(t, fakemodel.Say(raw)) },
		Fails:   func(t *testing.T) provider.Provider { return answering(t, "[[error:500:api_error:down]]") },
	})
}

// lent lends every call a site of its own, and gives the model its script.
type lent struct {
	provider.Provider
	request func() provider.Request
	t       *testing.T
}

func (l lent) Generate(ctx context.Context, req provider.Request, progress func(provider.Progress)) (provider.Response, error) {
	req.Prompt = l.request().Prompt
	req.Work.Site = &fakeSite{dir: filepath.Join(l.t.TempDir(), "checkout")}
	return l.Provider.Generate(ctx, req, progress)
}
