package session

import (
	"slices"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// isCounted reports whether the usage of a part of the turn, whose end the note has, counts already.
func (s *Snapshot) isCounted(end *TurnEnded) bool {
	return end.Exhausted && s.Turn.Due || s.isOverrun(end)
}

// isOverrun reports whether the end is the last one that used up a budget.
func (s *Snapshot) isOverrun(end *TurnEnded) bool {
	return end.Exhausted && end.Answer == s.Overrun && end.Answer != run.Ref{}
}

// giveTurnUp closes a turn whose process has not reported its end. Usage since the last report is counted when the note on
// disk is read.
func (f fold) giveTurnUp(o Outcome, reason string) {
	if !f.Turn.Due { // the note of one that is due has been reported
		f.Unseen = f.Turn.ID
	}
	f.closeTurn(TurnEnded{Outcome: o, Reason: reason, Usage: f.Turn.Spent})
}

// countUnseen counts the usage that the note reports for the turn that was given up, a message's or a delivery's.
func (f fold) countUnseen(found *Handed) {
	if f.Unseen == "" || found == nil || found.ID != f.Unseen {
		return
	}
	f.Unseen = ""
	used := found.Used
	if end := found.End; end != nil {
		if f.isOverrun(end) {
			return // of an earlier part
		}
		used = end.Usage
	}
	i := slices.IndexFunc(f.Past, func(p Past) bool { return p.ID == found.ID })
	if i < 0 { // a delivery's, of which nothing counts yet
		f.Usage = f.Usage.Add(used)
		return
	}
	f.Usage = f.Usage.Add(used.Sub(f.Past[i].Usage))
	f.Past[i].Usage = used
}
