// Package review holds what an approval shows to a person and takes from one, apart from any screen: the facts
// beside a patch or a tool call, and the draft in which a patch is sent back as a mail is answered. It is
// pure. The terminal and the review page share it.
package review

import "github.com/ratchet-dev/ratchet/internal/run"

// Fact is one line that a gate shows beside the patch or the tool call.
type Fact struct {
	Kind FactKind
	Text string // not yet safe for display
}

// FactKind says how a fact is to be shown.
type FactKind string

// The kinds of facts.
const (
	Risk    FactKind = "risk"    // a reason of the gatekeeper to look closely
	Because FactKind = "because" // the agent's own reason for a tool call
	Warning FactKind = "warning" // a consequence that is easy to overlook
	Check   FactKind = "check"   // what the checks say
	Repair  FactKind = "repaired"
)

// SessionScope says what the approval of a tool call covers if it is one for the session.
const SessionScope = "for the session: this call and calls that the agent considers the same, until the agent's session ends"

// Facts returns what a person should know before deciding, the most important first.
func Facts(a run.PendingApproval) []Fact {
	var list []Fact
	add := func(kind FactKind, text string) {
		if text != "" {
			list = append(list, Fact{kind, text})
		}
	}
	kind := Risk
	if a.Permission != nil {
		kind = Because
	}
	for _, r := range a.Reasons {
		add(kind, r)
	}
	if a.Unboxed {
		add(Warning, "sandbox off: "+run.Unboxed)
	}
	if a.EditedBy != "" {
		add(Warning, "edited by "+a.EditedBy)
	}
	if a.Next.RejectEnds {
		add(Warning, "a rejection ends the run: "+a.Next.Reject)
	}
	for _, r := range a.Repairs {
		add(Repair, r)
	}
	add(Check, baselineText(a.Baseline))
	for _, c := range a.Before {
		add(Check, "also failed before: "+c)
	}
	return list
}

func baselineText(summary string) string {
	if summary == "" {
		return ""
	}
	return "baseline: " + summary
}
