package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// The bounds of docs/contracts/run.md, 14.
const (
	maxEvents      = 4000
	eventsPerRound = 40
	bytesPerRound  = 32 << 10
)

// TestHistoryStaysSmall takes a run through many fixes, each approved, while its state is queried: 5 fixes and 50
// queries in `go test ./...`, 100 and 1,000 at night, where the run continues as new.
func TestHistoryStaysSmall(t *testing.T) {
	t.Parallel()
	rounds := 5
	if need.Has(need.Nightly) {
		rounds = 100
	}
	s := newFixture(t)
	s.spawn()
	sc := newScript(run.Always, fmt.Sprintf("test $(wc -l <log.txt) -gt %d", rounds)).
		patch("execute-1", edit{file: "log.txt", line: "1"})
	for i := range rounds {
		sc.patch(fmt.Sprintf("fix-%d", i+2), edit{file: "log.txt", line: fmt.Sprint(i + 2)})
	}
	r := s.follow(sc, 0)
	provider := s.replay(sc.answers)
	r.in.Providers = run.Providers{Planner: provider, Developer: provider, Fixer: provider}
	r.in.MaxFix = &rounds
	stop := s.decided(t, []*scripted{r})
	began := time.Now()
	wr := s.start(r.in)
	first := wr.GetRunID()
	asked := make(chan int)
	over := make(chan struct{})
	go func() { asked <- s.askState(t, r.in.RunID, 10*rounds, over) }()
	var res workflows.RunResult
	if err := wr.Get(t.Context(), &res); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	close(over)
	queries := <-asked
	stop()
	if res.Status != run.Completed || res.Commits != rounds+1 {
		t.Errorf("result %+v", res)
	}
	if got := s.content(res.Branch); got != sc.content() {
		t.Errorf("the branch holds %s", got)
	}
	s.verifyPatches(t, res.Branch, s.verifyRecord(t, r.in.RunID), r)

	events, bytes, largest := 0, int64(0), 0
	executions := s.executions(r.in.RunID, first)
	for i, ex := range executions {
		if len(ex.events) > maxEvents {
			t.Errorf("execution %d has %d events", i+1, len(ex.events))
		}
		events, bytes, largest = events+len(ex.events), bytes+ex.bytes, max(largest, ex.largest)
	}
	if largest > maxPayload {
		t.Errorf("a payload of %d bytes", largest)
	}
	if events > (rounds+2)*eventsPerRound || bytes > int64(rounds+2)*bytesPerRound {
		t.Errorf("%d events and %d bytes in %d rounds", events, bytes, rounds)
	}
	t.Logf("%d rounds, %d queries in %v: %d executions; a round has %.1f events and %.1f KiB; largest payload %d bytes",
		rounds, queries, took.Round(time.Second), len(executions), float64(events)/float64(rounds+1), float64(bytes)/1024/float64(rounds+1), largest)
}

// askState asks for the state of a run until it is over, and at least as often as given. It fails when the answers go
// backwards.
func (s *fixture) askState(t *testing.T, id run.ID, least int, over <-chan struct{}) (n int) {
	seen := 0
	for open := true; open || n < least; n++ {
		select {
		case <-over:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
		var state run.State
		err := s.patiently(t.Context(), func() (err error) {
			state, err = query[run.State](s, id, workflows.StateQuery)
			return err
		})
		if err != nil {
			t.Errorf("query %d: %v", n, err)
			return n
		}
		if state.Iteration < seen {
			t.Errorf("query %d: iteration %d after %d", n, state.Iteration, seen)
		}
		seen = state.Iteration
	}
	return n
}

// TestLargeThings sends what is too large for a history: it stays outside of
// it or is refused, and the run goes on. A patch may have 8 MiB.
func TestLargeThings(t *testing.T) {
	need.Suite(t, need.CI)
	t.Parallel()
	s := newFixture(t)
	w := s.spawn()
	sc := newScript(run.Always, "test -e big.txt")
	sc.answers["execute-1"] = bigPatch(100_000)
	sc.answers["fix-2"] = bigPatch(70_000)
	r := s.follow(sc, 0)
	wr := s.start(r.in)
	first := wr.GetRunID()
	id := s.awaitApproval(t, r, "")
	note := run.Note{Text: strings.Repeat("n", 5<<20)}
	if err := s.client.SignalWorkflow(t.Context(), r.in.RunID.WorkflowID(), "", workflows.NoteMessage, note); err == nil {
		t.Error("a signal of 5 MB was taken")
	}
	if err := s.signal(t.Context(), r.in.RunID, workflows.ApprovalMessage, approve(id)); err != nil {
		t.Fatal(err)
	}
	var res workflows.RunResult
	if err := wr.Get(t.Context(), &res); err != nil {
		t.Fatalf("%v\n%s", err, w.out)
	}
	if res.Commits != 1 || res.Stat.Added != 70_000 {
		t.Errorf("result %+v", res)
	}
	if got := s.git("-C", s.repo, "cat-file", "-s", res.Branch+":big.txt"); got != "7000000" {
		t.Errorf("big.txt has %s bytes", got)
	}
	refused := 0
	for _, e := range s.verifyRecord(t, r.in.RunID) {
		if e.Type == run.PatchApplyFailedEvent {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d patches were refused, want the one of 10 MB", refused)
	}
	for _, ex := range s.executions(r.in.RunID, first) {
		if ex.largest > maxPayload {
			t.Errorf("a payload of %d bytes", ex.largest)
		}
	}
}

// bigPatch is an answer that adds so many lines of a hundred bytes.
func bigPatch(lines int) string {
	return fmt.Sprintf("<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: big\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n"+
		"diff --git a/big.txt b/big.txt\nnew file mode 100644\n--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1,%d @@\n%s[PATCH_END]\n",
		lines, strings.Repeat("+"+strings.Repeat("x", 99)+"\n", lines))
}

// parallel does the same so many times at once.
func parallel(n int, do func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}
