package run

import (
	"fmt"
	"slices"
	"strings"
)

// Tools says who may let an agent use a tool that its sandbox does not settle.
// Changes of files in its checkout are never asked about: the patch that comes
// of them is.
type Tools string

// The policies for tools; the empty one is AskTools.
const (
	AskTools   Tools = "ask"
	AllowTools Tools = "allow"
	DenyTools  Tools = "deny"
)

// UnmarshalText refuses an unknown policy.
func (t *Tools) UnmarshalText(b []byte) error {
	return decodeWord(t, b, "tool policy", []Tools{AskTools, AllowTools, DenyTools})
}

// Permission is a tool call of an agent that waits for a person. Digest is
// that of the tool and its whole input, which Input refers to.
type Permission struct {
	CallID  string `json:"callId"`
	Tool    string `json:"tool"`
	Digest  Digest `json:"digest"`
	Title   string `json:"title,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Input   Ref    `json:"input"`
	Excerpt string `json:"excerpt,omitempty"` // head of the input, made safe for display
	// Candidate is the number of the candidate that asks; zero: there is no contest.
	Candidate int `json:"attempt,omitempty"`
}

// Summary says in one line what is asked for.
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
	// Session allows, in the same session, what the agent takes for the same as
	// well, and the same input always.
	Session bool   `json:"session,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Slot    string `json:"slot"` // of the session that asked
}

// Bounds of the permits that a snapshot carries. Of more the oldest go, those
// for a session last: the agent asks again.
const (
	maxPermits      = 48
	maxPermitReason = 300
)

// addPermit keeps the decision on what was asked.
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

// dropUsedPermits starts a phase's calls: what was permitted once is used up, what was
// permitted for a session lasts.
func (s *Snapshot) dropUsedPermits(phase Phase) {
	if phase == Execute || phase == Fix {
		s.Permits = slices.DeleteFunc(s.Permits, func(p Permit) bool { return !p.Session })
	}
}

// PermitsOf are the permits of the agent session in a slot.
func (s *Snapshot) PermitsOf(slot string) []Permit {
	var list []Permit
	for _, p := range s.Permits {
		if p.Slot == slot {
			list = append(list, p)
		}
	}
	return list
}

// PermissionDigest is what an approval of a tool call approves: this input of
// this tool, at this gate of this run. It fits nothing else.
func PermissionDigest(id ID, p Permission, gate int) Digest {
	return DigestOf(fmt.Appendf(nil, "ratchet permission\nrun %s\ngate %d\nattempt %d\ncall %s\ntool %s\n", id, gate, p.Candidate, p.CallID, p.Digest))
}

// NewPermission is the approval that an agent's tool call needs.
func (s *Snapshot) NewPermission(p Permission) ApprovalRequested {
	gate := s.Gates + 1
	d := PermissionDigest(s.Input.RunID, p, gate)
	a := ApprovalRequested{ApprovalID: approvalID(s.State.Iteration, d), Digest: d, Gate: gate, Base: s.Head, Permission: &p}
	if p.Reason != "" {
		a.Reasons = []string{p.Reason}
	}
	return a
}
