package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Tools is the policy for an agent's tool calls that its sandbox does not settle.
// Changes of files in the agent's checkout need no permission; the resulting patch
// passes the gate.
type Tools string

// The policies for tools. The empty policy means AskTools.
const (
	AskTools   Tools = "ask"
	AllowTools Tools = "allow"
	DenyTools  Tools = "deny"
)

func (t *Tools) UnmarshalText(b []byte) error {
	return exact.Word(t, b, "tool policy", AskTools, AllowTools, DenyTools)
}

// Permission is a tool call of an agent that waits for a person. Digest is the
// digest of the tool and its whole input. Input refers to the input.
type Permission struct {
	CallID  string `json:"callId"`
	Tool    string `json:"tool"`
	Digest  Digest `json:"digest"`
	Title   string `json:"title,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Input   Ref    `json:"input"`
	Excerpt string `json:"excerpt,omitempty"` // head of the input, made safe for display
	// Dir is the agent's checkout. People are shown the paths below it without it.
	Dir string `json:"dir,omitempty"`
	// Candidate is the number of the attempt that asks; zero: there is only one.
	Candidate int `json:"attempt,omitempty"`
}

// Summary describes the tool call in one line.
func (p Permission) Summary() string {
	switch rest, named := strings.CutPrefix(p.Title, p.Tool); {
	case p.Title == "":
		return "use of the tool " + p.Tool
	case named && strings.HasPrefix(rest, " "):
		return p.Tool + ":" + rest
	}
	return p.Tool + ": " + p.Title
}

// Permit is the decision on a Permission.
type Permit struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Digest Digest `json:"digest"`
	Allow  bool   `json:"allow"`
	// Session also allows, in the same session, the calls that the agent takes for
	// the same, and always the same input.
	Session bool   `json:"session,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Slot    string `json:"slot"` // of the session that asked
}

// The bounds of the permits that a snapshot carries. Beyond maxPermits the oldest
// permits are dropped, permits for a session last. The agent then asks again.
const (
	maxPermits      = 48
	maxPermitReason = 300
)

// addPermit keeps the decision on the requested tool call.
func (s *Snapshot) addPermit(asked Permission, p Permit) {
	p.CallID, p.Tool, p.Digest = asked.CallID, asked.Tool, asked.Digest
	p.Slot = s.Slot(s.Phase(), asked.Candidate)
	p.Reason = clipText(p.Reason, maxPermitReason)
	s.Permits = append(s.Permits, p)
	for len(s.Permits) > maxPermits {
		oldest := max(0, slices.IndexFunc(s.Permits, func(p Permit) bool { return !p.Session }))
		s.Permits = slices.Delete(slices.Clone(s.Permits), oldest, oldest+1)
	}
}

// dropUsedPermits drops, at the start of an execute or a fix, the permits for a
// single call. Permits for a session stay.
func (s *Snapshot) dropUsedPermits(phase Phase) {
	if phase == Execute || phase == Fix {
		s.Permits = slices.DeleteFunc(s.Permits, func(p Permit) bool { return !p.Session })
	}
}

// PermitsOf returns the permits of the agent session in a slot.
func (s *Snapshot) PermitsOf(slot string) []Permit {
	var list []Permit
	for _, p := range s.Permits {
		if p.Slot == slot {
			list = append(list, p)
		}
	}
	return list
}

// PermissionDigest returns the digest that an approval of a tool call binds: this
// input of this tool, at this gate of this run. It fits nothing else.
func PermissionDigest(id ID, p Permission, gate int) Digest {
	return DigestOf(fmt.Appendf(nil, "ratchet permission\nrun %s\ngate %d\nattempt %d\ncall %s\ntool %s\n", id, gate, p.Candidate, p.CallID, p.Digest))
}

// NewPermission returns the request for the approval that an agent's tool call needs.
func (s *Snapshot) NewPermission(p Permission) ApprovalRequested {
	gate := s.Gates + 1
	d := PermissionDigest(s.Input.RunID, p, gate)
	a := ApprovalRequested{ApprovalID: approvalID(s.State.Iteration, d), Digest: d, Gate: gate, Base: s.Head, Permission: &p}
	if p.Reason != "" {
		a.Reasons = []string{p.Reason}
	}
	return a
}
