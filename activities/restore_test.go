package activities_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// leave removes every artifact of the run but those named.
func (s *fixture) leave(names ...string) {
	s.t.Helper()
	dir := filepath.Join(s.dir().Path(), "artifacts")
	kept := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			s.t.Fatal(err)
		}
		kept[name] = b
	}
	if err := os.RemoveAll(dir); err != nil {
		s.t.Fatal(err)
	}
	for name, b := range kept {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Findings D1 and H5: a patch whose artifact is lost comes back from the raw
// answer, if that gives the bytes that were approved.
func TestLostPatchIsPlannedAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		agent bool
		left  []string
		spoil func(*fixture, *activities.ApplyInput)
		lost  bool
	}{
		{name: "the raw answer is there", left: []string{"execute/iter-0001.raw.txt"}},
		{name: "the patch was altered", left: []string{"execute/iter-0001.raw.txt", "execute/iter-0001.patch"}, spoil: func(s *fixture, in *activities.ApplyInput) {
			rewrite(s.t, filepath.Join(s.dir().Path(), "artifacts", in.Patch.Name), "+two", "+twO")
		}},
		{name: "a pipe stands in its place", left: []string{"execute/iter-0001.raw.txt"}, spoil: func(s *fixture, in *activities.ApplyInput) {
			pipe(s.t, filepath.Join(s.dir().Path(), "artifacts", in.Patch.Name))
		}},
		{name: "an agent's changes are there", agent: true, left: []string{"execute/iter-0001.changes.patch"}},
		{name: "nothing is there", lost: true},
		{name: "the raw answer was altered", left: []string{"execute/iter-0001.raw.txt"}, lost: true, spoil: func(s *fixture, in *activities.ApplyInput) {
			rewrite(s.t, filepath.Join(s.dir().Path(), "artifacts", in.Raw.Name), "+two", "+twO")
		}},
		{name: "nobody says which answer it was", left: []string{"execute/iter-0001.raw.txt"}, lost: true, spoil: func(_ *fixture, in *activities.ApplyInput) {
			in.Raw = run.Ref{}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixture(t)
			s.prepare()
			out := s.proposed(tc.agent)
			in := s.applying(out.Proposal)
			s.leave(tc.left...)
			if tc.spoil != nil {
				tc.spoil(s, &in)
			}
			applied := must[activities.ApplyResult](s, s.acts.Apply, in)
			if tc.lost {
				if applied.Refusal == nil || applied.Refusal.Code != run.CodeArtifact || !strings.Contains(applied.Refusal.Message, in.Patch.Name) || s.tip() != string(s.base) {
					t.Errorf("%+v, tip %s", applied, s.tip())
				}
				return
			}
			if applied.Refusal != nil || s.git("show", "ratchet/r1:log.txt") != "one\ntwo" {
				t.Fatalf("%+v, %+v", applied, applied.Refusal)
			}
			if _, err := s.dir().Load(in.Patch); err != nil {
				t.Errorf("the patch is not kept again: %v", err)
			}
		})
	}
}

// proposed is a patch that appends a line, by a model or by an agent.
func (s *fixture) proposed(agent bool) activities.ProposeResult {
	s.t.Helper()
	if !agent {
		return s.propose(patching(appending))
	}
	s.employ(writes("log.txt", "one\ntwo\n") + "[[say:Append a line]]")
	return must[activities.ProposeResult](s, s.acts.Propose, s.developing())
}

// A patch whose artifacts were gone is proposed again when one of them is back,
// and nothing is paid; while they are gone the provider is asked.
func TestLostProposalThatIsBackIsNotPaidAgain(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	first := s.propose(patching(appending))
	raw, err := s.dir().Load(first.Raw)
	if err != nil {
		t.Fatal(err)
	}
	s.leave()
	again := s.call(run.Execute)
	again.Number, again.Lost = 2, first.Proposal
	if _, err := s.dir().Keep(first.Raw.Name, raw); err != nil {
		t.Fatal(err)
	}
	out := must[activities.ProposeResult](s, s.acts.Propose, again)
	if s.provider.calls() != 1 || out.Proposal == nil || out.Proposal.Patch != first.Proposal.Patch || out.Usage != (run.Usage{}) {
		t.Errorf("%d calls, %+v", s.provider.calls(), out)
	}
	s.leave()
	s.provider.says(result("type: NOOP\nreason: done"))
	if out := must[activities.ProposeResult](s, s.acts.Propose, again); s.provider.calls() != 2 || out.Proposal != nil {
		t.Errorf("%d calls, %+v", s.provider.calls(), out)
	}
}

// An agent's answer whose changes are gone is no answer, and no other is paid
// for without a word.
func TestLostChangesOfAnAgentAreNotPaidAgain(t *testing.T) {
	s := newFixture(t)
	s.proposed(true)
	s.leave("execute/iter-0001.raw.txt", "execute/iter-0001.call.json")
	if app := callFailure(t, s, s.developing()); app.Type() != activities.ArtifactError || !app.NonRetryable() || !strings.Contains(app.Message(), "changes.patch") {
		t.Errorf("%s %v %q", app.Type(), app.NonRetryable(), app.Message())
	}
}

// Findings D1 and H5: a call goes on without the plan, the patch and the report
// that are lost, and its prompt says so.
func TestPromptSaysWhatIsLost(t *testing.T) {
	s := newFixture(t)
	s.prepare()
	s.provider.says("# Plan\n\n- append\n", result("type: NOOP\nreason: done"))
	plan := must[activities.PlanResult](s, s.acts.Plan, s.call(run.Plan))
	snapshot := run.New(s.call(run.Plan).Entry.Events[0].Payload.(run.RunCreated).Input)
	c := s.call(run.Execute)
	c.Entry.Events = nil
	for _, p := range []run.Payload{
		run.RunCreated{Input: snapshot.Input, Format: run.Format}, run.PhaseStarted{Role: run.Planner},
		run.PhaseCompleted{Result: run.Planned, Artifact: &plan.Plan}, run.PhaseStarted{Role: run.Developer},
		run.PhaseFailed{Error: run.Problem{Code: "no_type", Message: "?"}, Artifact: &run.Ref{Name: "execute/iter-0001.raw.txt", Digest: "d"}},
		run.PhaseStarted{Role: run.Fixer},
	} {
		e := snapshot.Event(noon, p)
		if err := snapshot.Apply(e); err != nil {
			t.Fatal(err)
		}
		c.Entry.Events = append(c.Entry.Events, e)
	}
	c.Phase, c.Iteration, c.Entry.State = run.Fix, 2, snapshot.State
	if err := os.RemoveAll(s.dir().Path()); err != nil {
		t.Fatal(err)
	}
	must[activities.ProposeResult](s, s.acts.Propose, c)
	user := s.provider.asked[len(s.provider.asked)-1].Prompt.User
	for _, want := range []string{"is missing from the run's directory", "the plan (plan/iter-0001.md)", "the refused answer (execute/iter-0001.raw.txt)"} {
		if !strings.Contains(user, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, user)
		}
	}
}
