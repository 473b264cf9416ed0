package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// contest is a snapshot at the gate of three attempts; the patches are named.
func contest(t *testing.T, top string, others ...string) *run.Snapshot {
	t.Helper()
	in := input(3)
	in.Candidates = 1 + len(others)
	s := run.New(in)
	proposal := func(name string) run.Proposal {
		return run.Proposal{Patch: run.Ref{Name: name, Digest: run.DigestOf([]byte(name))}, Base: "b0", Summary: name, Stat: run.Stat{Files: 1, Added: 1}}
	}
	p := run.PatchProduced{Proposal: proposal(top), Candidate: 1}
	for i, name := range others {
		other := proposal(name)
		p.Rivals = append(p.Rivals, run.Candidate{Number: i + 2, Provider: "replay:x", Proposal: &other, Passed: true})
	}
	told(t, s, run.RunCreated{Input: in, Format: run.Format}, begin, planned, begin, p)
	told(t, s, s.NewApproval())
	return s
}

// Attempts at a simple task often come to the same patch. The approval of the
// one that is shown must choose that one.
func TestApprovalOfTheFirstChoosesTheFirst(t *testing.T) {
	s := contest(t, "same", "same", "different")
	id := s.Approval.ApprovalID
	for _, c := range s.Approval.Choices {
		if c.ApprovalID == id {
			t.Errorf("attempt %d is offered under the id of the first, %s", c.Candidate, id)
		}
	}
	told(t, s, run.ApprovalGranted{ApprovalID: id})
	if s.Chosen != 1 {
		t.Errorf("approved attempt 1, attempt %d was chosen: the fixer goes on in %s", s.Chosen, s.Slot(run.Fix, 0))
	}
}

// The second fix goes on with the session of the attempt that was chosen, as
// the first did.
func TestEveryFixGoesOnWithTheChosenAttempt(t *testing.T) {
	s := contest(t, "one", "two", "three")
	told(t, s, run.ApprovalGranted{ApprovalID: s.Approval.Choices[1].ApprovalID}, applied, patched, begin, fixable, run.PhaseCompleted{Result: run.Fixable}, begin)
	first := s.Slot(run.Fix, 0)
	fix := run.PatchProduced{Proposal: run.Proposal{Patch: run.Ref{Digest: "d2"}, Base: "c1"}}
	told(t, s, fix, run.PatchApplied{Patch: "d2", Base: "c1", Commit: "c2"}, patched, begin, fixable, run.PhaseCompleted{Result: run.Fixable}, begin)
	if second := s.Slot(run.Fix, 0); first != "developer-3" || second != first {
		t.Errorf("attempt 3 was chosen; the first fix went on in %s, the second goes on in %s", first, second)
	}
}

// A yes for the session outlives the yeses for one call that came after it.
func TestPermitForTheSessionIsNotCrowdedOut(t *testing.T) {
	s := fresh(t, 3)
	told(t, s, begin, planned, begin)
	ask := func(i int, session bool) {
		r := s.NewPermission(run.Permission{CallID: fmt.Sprint(i), Tool: "Bash", Digest: run.DigestOf([]byte(fmt.Sprint(i)))})
		told(t, s, r, run.ApprovalGranted{ApprovalID: r.ApprovalID, Session: session})
	}
	ask(0, true)
	for i := range 48 {
		ask(i+1, false)
	}
	for _, p := range s.PermitsOf("developer") {
		if p.Session {
			return
		}
	}
	t.Error("the permit for the session is gone")
}

// maximal is a proposal with all that activities.describe lets through.
func maximal(name string) run.Proposal {
	long := func(n int) string { return strings.Repeat("x", n) }
	p := run.Proposal{
		Patch: run.Ref{Name: name, Digest: run.DigestOf([]byte(name))}, Base: run.Commit(long(40)), Summary: long(300),
		Raw: run.Ref{Name: name, Digest: run.DigestOf([]byte(name))}, Excerpt: long(4 << 10),
	}
	for range 20 {
		p.Files = append(p.Files, "modified "+long(300)+" +10 -10")
	}
	for range 10 {
		p.Risks, p.Repairs = append(p.Risks, long(300)), append(p.Repairs, long(300))
	}
	return p
}

// docs/contracts/run.md, 14: no payload over 64 KiB. An activity brings up to eight
// events and the state; continue-as-new carries the snapshot.
func TestPayloadsOfAContestStaySmall(t *testing.T) {
	in := input(3)
	in.Candidates = run.MaxCandidates
	s := run.New(in)
	p := run.PatchProduced{Proposal: maximal("one"), Candidate: 1}
	for i := 2; i <= run.MaxCandidates; i++ {
		other := maximal(fmt.Sprint(i))
		other.Excerpt = ""
		e := run.Candidate{Number: i, Provider: "claude", Proposal: &other, Passed: true}
		p.Rivals = append(p.Rivals, e.Shortened())
	}
	told(t, s, run.RunCreated{Input: in, Format: run.Format}, begin, planned, begin)
	events := told(t, s, p)
	events = append(events, told(t, s, s.NewApproval())...)
	for what, v := range map[string]any{"the events up to the gate": events, "the snapshot at the gate": s} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 64<<10 {
			t.Errorf("%s have %d bytes", what, len(b))
		}
	}
}
