package run_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

func asking(call string) run.Permission {
	return run.Permission{CallID: call, Tool: "Bash", Digest: run.DigestOf([]byte(call)), Title: "make"}
}

// working is a run whose developer is at work.
func working(t *testing.T) *run.Snapshot {
	t.Helper()
	s := fresh(t, 3)
	told(t, s, begin, planned, begin)
	return s
}

func TestPermissionBindsOneCallOfOneToolAtOneGate(t *testing.T) {
	s := working(t)
	base := s.NewPermission(asking("call-1"))
	for name, change := range map[string]func(*run.Permission, *run.Snapshot){
		"another input":        func(p *run.Permission, _ *run.Snapshot) { p.Digest = run.DigestOf([]byte("rm")) },
		"another call":         func(p *run.Permission, _ *run.Snapshot) { p.CallID = "call-2" },
		"another attempt":      func(p *run.Permission, _ *run.Snapshot) { p.Candidate = 2 },
		"a later gate":         func(_ *run.Permission, s *run.Snapshot) { s.Gates++ },
		"another run":          func(_ *run.Permission, s *run.Snapshot) { s.Input.RunID = "r2" },
		"a patch of that name": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := working(t)
			p := asking("call-1")
			if change == nil {
				if d := run.ApprovalDigest("r1", p.Digest, s.Head, 1); d == base.Digest {
					t.Error("a permission has the digest of a patch's approval")
				}
				return
			}
			change(&p, s)
			if got := s.NewPermission(p); got.ApprovalID == base.ApprovalID || got.Digest == base.Digest {
				t.Errorf("%s fits as well", got.ApprovalID)
			}
		})
	}
}

func TestDecisionOnAPermission(t *testing.T) {
	s := working(t)
	told(t, s, s.NewPermission(asking("call-1")))
	id := s.State.PendingApprovalID
	if s.State.Status != run.AwaitingApproval || s.Pending().Approval.Summary != "Bash: make" {
		t.Errorf("%s with %+v", s.State.Status, s.Pending().Approval)
	}
	for name, tc := range map[string]struct {
		d    run.Decision
		fits bool
	}{
		"yes":                     {run.Decision{ApprovalID: id, Decision: run.Approve}, true},
		"yes, for the session":    {run.Decision{ApprovalID: id, Decision: run.Approve, Session: true}, true},
		"no":                      {run.Decision{ApprovalID: id, Decision: run.Reject}, true},
		"no, and it ends the run": {run.Decision{ApprovalID: id, Decision: run.Reject, Final: true}, true},
		"no, for the session":     {run.Decision{ApprovalID: id, Decision: run.Reject, Session: true}, false},
		"yes to nothing":          {run.Decision{Decision: run.Approve}, false},
	} {
		if err := s.CheckDecision(tc.d); (err == nil) != tc.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
	told(t, s, run.ApprovalGranted{ApprovalID: id, Session: true})
	if s.Next != (run.Step{Do: run.Work, Phase: run.Execute}) || len(s.Permits) != 1 || !s.Permits[0].Session {
		t.Errorf("next is %+v with %+v", s.Next, s.Permits)
	}
	told(t, s, produced)
	told(t, s, s.NewApproval())
	if err := s.CheckDecision(run.Decision{ApprovalID: s.State.PendingApprovalID, Decision: run.Approve, Session: true}); err == nil {
		t.Error("the approval of a patch holds for a session")
	}
}

func TestPermitsStaySmall(t *testing.T) {
	s := working(t)
	for i := range 200 {
		told(t, s, s.NewPermission(asking(strings.Repeat("c", 1+i%7))))
		told(t, s, run.ApprovalRejected{ApprovalID: s.State.PendingApprovalID, Reason: strings.Repeat("no ", 2000)})
	}
	size := 0
	for _, p := range s.Permits {
		size += len(p.Reason)
	}
	if len(s.Permits) == 0 || size > 20<<10 {
		t.Errorf("%d permits with reasons of %d bytes", len(s.Permits), size)
	}
}
