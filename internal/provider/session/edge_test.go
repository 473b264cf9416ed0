package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/agenttest/fakemodel"
)

// A permit is for one call. The call was made; then the worker dies, and the
// session is resumed: the agent must not be told to make it again, and the
// permit must not let it through a second time.
func TestPermitThatWasUsedIsNotUsedAgainAfterACrash(t *testing.T) {
	b := newBench(t)
	req := b.request(sh("deploy") + "[[hang:1]][[say:done]]")
	asked, err := b.call(req)
	permit := b.permit(asked, err, run.Permit{Allow: true})
	permit.Tool += " " + sh("deploy") // the prompt after the crash names the tool: this model does as it is told there
	req.Work.Permits = []run.Permit{permit}
	done := make(chan error, 1)
	go func() {
		_, err := b.call(req)
		done <- err
	}()
	for !slices.ContainsFunc(b.fake.Model.Requests(), func(q fakemodel.Request) bool { return strings.Contains(q.Text(), "ran") }) {
		time.Sleep(5 * time.Millisecond) // the pace of polling
	}
	b.fake.Crash() // after the deploy
	<-done
	_, err = b.call(req)
	if strings.Contains(lastRequest(b).Text(), "make the same call again") {
		t.Error("the agent, which has made the call, is told to make it again")
	}
	if len(b.fake.Ran()) > 1 {
		t.Errorf("ran %q by one permit for one call, then %v", b.fake.Ran(), err)
	}
}

// One approval, two runs of the command: the permit is forgotten as used when
// the agent is told to mend its changes.
func TestPermitLetsOneCallThroughInAllTurnsOfACall(t *testing.T) {
	b := newBench(t)
	b.site.unfit = map[string]string{"link": "a symbolic link"}
	req := b.request(sh("deploy") + write("link", "x") + "[[say:done]]")
	asked, err := b.call(req)
	req.Work.Permits = []run.Permit{b.permit(asked, err, run.Permit{Allow: true})}
	// The complaint about the changes goes into the second turn; there the agent
	// deploys once more.
	b.site.unfit["link"] = "a symbolic link. " + sh("deploy") + "[[say:mended]]"
	asked, err = b.call(req)
	if err != nil || !waits(asked) || len(b.fake.Ran()) != 1 {
		t.Errorf("ran %q with one permit for one call, then %v", b.fake.Ran(), err)
	}
}

// A permit for the session that was given long ago says nothing about what was
// cut off now.
func TestPermitForTheSessionIsNoCallToRepeat(t *testing.T) {
	b := newBench(t)
	req := b.request(sh("make") + "[[say:done]]")
	asked, err := b.call(req)
	session := b.permit(asked, err, run.Permit{Allow: true, Session: true})
	req.Work.Permits = []run.Permit{session}
	if _, err := b.call(req); err != nil {
		t.Fatal(err)
	}
	req = b.request(write("b.txt", "B") + "[[drop:1]][[say:fixed]]")
	req.Role, req.Phase, req.Iteration, req.Work.Permits = run.Fixer, run.Fix, 2, []run.Permit{session}
	if _, err := b.call(req); err == nil {
		t.Fatal("the stream was to be cut off")
	}
	if _, err := b.call(req); err != nil {
		t.Fatal(err)
	}
	if text := lastRequest(b).Text(); strings.Contains(text, "make the same call again") {
		t.Errorf("a fixer that asked for nothing is told that what it asked for is allowed:\n%s", text)
	}
}

// The note says that the turn is open before the agent hears of the task. A
// worker that dies in between must not leave an agent that is only told to go
// on.
func TestTaskThatNeverArrivedIsSentAgain(t *testing.T) {
	b := newBench(t)
	if _, err := b.call(b.request(write("a.txt", "A") + "[[say:done]]")); err != nil {
		t.Fatal(err)
	}
	b.site.edit(t, func(note map[string]any) {
		note["key"], note["call"], note["open"] = "fix-2", 1, true // as send keeps it, just before Send
		delete(note, "answer")
	})
	req := b.request("THE TASK OF THE FIXER " + write("b.txt", "B") + "[[say:fixed]]")
	req.Role, req.Phase, req.Iteration = run.Fixer, run.Fix, 2
	resp, err := b.call(req)
	if err != nil {
		t.Fatal(err)
	}
	if text := lastRequest(b).Text(); !strings.Contains(text, "THE TASK OF THE FIXER") {
		t.Errorf("the fixer was never told its task, and answered %q with %q", resp.RawText, resp.Changes)
	}
}

// What was used before a crash has been paid for.
func TestUsageOutlivesTheAgentsProcess(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,20]]" + write("a.txt", "A") + sh("make") + "[[say:done]]")
	asked, err := b.call(req)
	permit := b.permit(asked, err, run.Permit{Allow: true})
	b.fake.Crash()
	req.Work.Permits = []run.Permit{permit}
	resp, err := b.call(req)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(1020 * len(b.fake.Model.Requests()))
	if resp.Usage.TotalTokens != want {
		t.Errorf("the model was paid for %d tokens, the call counts %d", want, resp.Usage.TotalTokens)
	}
}

// A budget bounds a call, not each of its attempts.
func TestBudgetHoldsForAllAttemptsAtACall(t *testing.T) {
	b := newBench(t)
	script, used := "[[usage:1000,0]]", int64(0)
	for i := range 5 {
		script += write(fmt.Sprintf("a%d.txt", i), "A") + write(fmt.Sprintf("b%d.txt", i), "B") + "[[drop:1]]"
	}
	req := b.request(script + "[[say:done]]")
	req.Work.Left.Tokens = 2500
	for range 5 { // activities.maxErrors
		resp, err := b.call(req)
		used += resp.Usage.TotalTokens
		if err == nil {
			break
		}
	}
	if used > 2500+1000 {
		t.Errorf("%d tokens were used of 2500", used)
	}
}

// An interrupt of ours that the agent reports as a failure is no error to retry.
func TestBudgetIsUsedUpHoweverTheTurnEnds(t *testing.T) {
	b := newBench(t)
	req := b.request("[[usage:1000,10]]" + write("a.txt", "A") + write("b.txt", "B") + "[[slow:1000]]")
	req.Work.Left.Tokens = 1500
	p := session.New(session.Config{Adapter: failing{b.fake}, Pool: b.pool})
	resp, err := p.Generate(t.Context(), req, nil)
	if err != nil || !isExhausted(resp) {
		t.Errorf("got %+v, %v, want a budget that is used up", resp, err)
	}
}

// failing is an agent that reports an interrupted turn as a failed one, as
// Claude Code's error_during_execution without a reason is read.
type failing struct{ agent.Adapter }

func (f failing) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	s, err := f.Adapter.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	out := make(chan agent.Event)
	go func() {
		defer close(out)
		for e := range s.Events() {
			if turn, ok := e.(agent.Turn); ok && turn.Status == agent.Interrupted {
				turn.Status = agent.Failed
				e = turn
			}
			out <- e
		}
	}()
	return other{s, out}, nil
}

type other struct {
	agent.Session
	events <-chan agent.Event
}

func (o other) Events() <-chan agent.Event { return o.events }

// A snapshot keeps 48 permits, the oldest go. A live agent that asks for the
// 49th time must be let through by its permit as well.
func TestManyPermitsInOneConversation(t *testing.T) {
	const most = 48 // run.maxPermits
	b := newBench(t)
	var script strings.Builder
	for i := range most + 2 {
		script.WriteString(sh(fmt.Sprintf("step %d", i)))
	}
	req := b.request(script.String() + "[[say:done]]")
	for n := 1; ; n++ {
		resp, err := b.call(req)
		if err == nil && !waits(resp) {
			break
		}
		if n > most+5 {
			t.Fatalf("asked %d times for %d calls: the decision on the last ones is not heeded, %d ran", n, most+2, len(b.fake.Ran()))
		}
		req.Work.Permits = append(req.Work.Permits, b.permit(resp, err, run.Permit{Allow: true}))
		if over := len(req.Work.Permits) - most; over > 0 {
			req.Work.Permits = slices.Clone(req.Work.Permits[over:])
		}
	}
}

// wantedSite is a site whose slot another worker can want.
type wantedSite struct {
	*fakeSite
	wanted func()
}

func (s *wantedSite) Hold(ctx context.Context, wanted func()) (func(), error) {
	s.wanted = wanted
	return s.fakeSite.Hold(ctx, wanted)
}

// Attempts of one contest have the slots developer, developer-2, ...
func TestOneWantedSlotDoesNotEndTheAgentsOfOthers(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	first := &wantedSite{fakeSite: &fakeSite{dir: filepath.Join(dir, "developer")}}
	second := &wantedSite{fakeSite: &fakeSite{dir: filepath.Join(dir, "developer-2")}}
	for _, s := range []*wantedSite{first, second} {
		req := b.request(sh("make") + "[[say:done]]")
		req.Work.Site = s
		asked, err := b.call(req)
		b.permit(asked, err, run.Permit{})
	}
	first.wanted()
	second.mu.Lock()
	defer second.mu.Unlock()
	if second.held != 1 {
		t.Error("the agent of developer-2 was ended because developer is wanted")
	}
}

// What is on disk holds no secret of the worker.
func TestNoteHoldsNoSecret(t *testing.T) {
	const secret = "s3cret-of-the-worker"
	b := newBench(t)
	p := session.New(session.Config{Adapter: b.fake, Pool: b.pool, Redact: redact.New([]string{"MODEL_KEY=" + secret})})
	resp, err := p.Generate(t.Context(), b.request("[[say:the key is "+secret+"]]"), nil)
	if err != nil || strings.Contains(resp.RawText, secret) {
		t.Fatalf("%q, %v", resp.RawText, err)
	}
	if strings.Contains(string(b.site.note), secret) {
		t.Errorf("the note holds it: %s", b.site.note)
	}
}

// A worker that dies after the end of the turn was kept, and before the agent
// was told that its changes cannot be taken: the next tells it.
func TestUnfitChangesAreMendedAfterACrash(t *testing.T) {
	b := newBench(t)
	if _, err := b.call(b.request(write("link", "x") + "[[say:done]]")); err != nil {
		t.Fatal(err)
	}
	b.site.unfit = map[string]string{"link": "a symbolic link"}
	b.site.edit(t, func(note map[string]any) { note["answer"] = map[string]any{"text": "done"} }) // nobody has looked at the changes yet
	asked := len(b.fake.Model.Requests())
	_, err := b.call(b.request(write("link", "x") + "[[say:done]]"))
	if len(b.fake.Model.Requests()) == asked {
		t.Errorf("a person is asked (%v), and the agent was not told", err)
	}
}
