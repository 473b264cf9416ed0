package report_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/command/report"
)

const base run.Commit = "0123456789012345678901234567890123456789"

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recorder makes the events of a run.
type recorder struct {
	*testing.T
	s      *run.Snapshot
	events []run.Event
}

func newRun(t *testing.T, repository, developer string, began time.Time) *recorder {
	in := run.Input{
		RunID: run.ID(fmt.Sprintf("r%d", began.UnixNano())), Goal: "x", Repository: run.Repository{Path: repository, Base: base}, NoBaseline: true,
		Providers: run.Providers{Planner: "planner", Developer: developer, Fixer: developer}, Checks: []string{"true"}, Policy: run.Always,
	}
	r := &recorder{T: t, s: run.New(in)}
	r.at(began, run.RunCreated{Input: in, Format: run.Format})
	r.add(run.PhaseStarted{Role: run.Planner, Provider: "planner"}, run.PhaseCompleted{Result: run.Planned, Usage: used(10, 1)})
	return r
}

func used(tokens int64, cost run.Micros) *run.Usage {
	return &run.Usage{InputTokens: tokens, TotalTokens: tokens, Cost: cost}
}

func (r *recorder) at(when time.Time, p run.Payload) {
	r.Helper()
	e := r.s.Event(when, p)
	if err := r.s.Apply(e); err != nil {
		r.Fatal(err)
	}
	r.events = append(r.events, e)
}

func (r *recorder) add(list ...run.Payload) {
	r.Helper()
	for _, p := range list {
		r.at(r.events[0].TS.Add(time.Minute), p)
	}
}

// propose lets the developer or the fixer make a patch that waits.
func (r *recorder) propose(fix bool) {
	r.Helper()
	role := run.Developer
	if fix {
		role = run.Fixer
	}
	r.add(run.PhaseStarted{Role: role, Provider: r.s.Input.Providers.For(role), Uncounted: r.s.Next.Uncounted})
	r.add(run.PatchProduced{Proposal: run.Proposal{Base: base, Summary: "s", Patch: run.Ref{Digest: "d"}}, Usage: used(100, 1000)})
	r.add(r.s.NewApproval())
}

func (r *recorder) reject() { r.add(run.ApprovalRejected{ApprovalID: r.s.Approval.ApprovalID}) }

func (r *recorder) approve() {
	r.Helper()
	r.add(run.ApprovalGranted{ApprovalID: r.s.Approval.ApprovalID}, run.PatchApplied{Patch: "d", Base: base, Commit: base})
}

// closePhase closes a phase whose outcome is known.
func (r *recorder) closePhase() {
	r.Helper()
	for r.s.Next.Do == run.Close {
		if r.s.Outcome == "" {
			r.add(run.PhaseFailed{Error: r.s.Problem})
			continue
		}
		r.add(run.PhaseCompleted{Result: r.s.Outcome})
	}
}

func (r *recorder) pass() {
	r.Helper()
	r.closePhase()
	r.add(run.PhaseStarted{}, run.EvaluationPassed{Evaluation: run.Evaluation{Usage: used(1, 0)}})
	r.closePhase()
	r.add(run.RunCompleted{})
}

func TestFiguresAreThoseOfTheEvents(t *testing.T) {
	at := func(hours int) time.Time { return began.Add(time.Duration(hours) * time.Hour) }
	first := newRun(t, "/src/shop", "claude", at(1))
	first.propose(false)
	first.approve()
	first.pass()
	second := newRun(t, "/src/shop", "codex", at(2))
	second.propose(false)
	second.reject()
	second.closePhase()
	second.propose(true)
	second.approve()
	second.pass()
	third := newRun(t, "/src/slug", "claude", at(3))
	third.propose(false)
	third.add(run.ApprovalRejected{ApprovalID: third.s.Approval.ApprovalID, Final: true})
	third.closePhase()
	third.add(run.RunCanceled{Reason: "no"})
	open := newRun(t, "/src/slug", "claude", at(4))
	part := newRun(t, "/src/shop", "claude", at(5))
	part.propose(false)
	part.add(run.ApprovalRejected{ApprovalID: part.s.Approval.ApprovalID, Files: []string{"a.go"}})
	old := newRun(t, "/src/old", "claude", at(-100))

	stories := []report.Story{{Events: first.events, Merged: true}, {Events: second.events}, {Events: third.events}, {Events: open.events}, {Events: part.events}, {Events: old.events}}
	got, err := report.Of(stories, began)
	if err != nil {
		t.Fatal(err)
	}
	want := report.Figures{Runs: 5, Done: 2, Canceled: 1, Open: 2, FirstTry: 1, SentBack: 2, Fixes: 1, Merged: 1}
	for _, s := range []*run.Snapshot{first.s, second.s, third.s, open.s, part.s} {
		want.Usage = want.Usage.Add(s.Usage)
	}
	want.MicrosPerMerged = want.Cost
	if got.Total != want || want.TotalTokens != usageIn(t, first, second, third, open, part) || want.FirstTryShare() != 50 {
		t.Errorf("total %+v, want %+v", got.Total, want)
	}
	var sum run.Usage
	for _, p := range got.Providers {
		sum = sum.Add(p.Usage)
	}
	if sum != want.Usage {
		t.Errorf("the providers used %+v, all runs %+v", sum, want.Usage)
	}
	if len(got.Repositories) != 2 || got.Repositories[0].Name != "/src/shop" || got.Repositories[0].Runs != 3 {
		t.Errorf("repositories %+v", got.Repositories)
	}
	for _, p := range got.Providers {
		if runs := map[string]int{"claude": 4, "codex": 1, "planner": 0}[p.Name]; p.Runs != runs {
			t.Errorf("%s has %d runs", p.Name, p.Runs)
		}
		if p.Name == "planner" && p.TotalTokens != 50 || p.Name == "codex" && p.SentBack != 1 {
			t.Errorf("%+v", p)
		}
	}
	if (report.Figures{}).FirstTryShare() != -1 {
		t.Error("a share of nothing")
	}
}

// usageIn sums the tokens that the events' JSON tells, without the fold.
func usageIn(t *testing.T, runs ...*recorder) (total int64) {
	for _, r := range runs {
		for _, e := range r.events {
			b, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var line struct{ Payload struct{ Usage run.Usage } }
			if err := json.Unmarshal(b, &line); err != nil {
				t.Fatal(err)
			}
			total += line.Payload.Usage.TotalTokens
		}
	}
	return total
}

func TestARunWhoseEventsDoNotFitIsNamed(t *testing.T) {
	r := newRun(t, "/src/shop", "claude", began)
	torn := append([]run.Event{r.events[0]}, r.events[2:]...)
	if _, err := report.Of([]report.Story{{Events: torn}}, began); err == nil {
		t.Error("a gap is summed up")
	}
}
