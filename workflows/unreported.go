package workflows

import (
	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Unreported is usage of the current work that no event has reported yet. The event that ends the work reports it, or the
// event that ends the run.
type Unreported struct {
	// Used is the usage of each call of the work, by the name of its artifacts: made again, the same call reports the sum.
	Used map[string]run.Usage `json:"used,omitempty"`
}

// keepUsage keeps the usage that a call has reported, by an answer, a halt or an error.
func (u *Unreported) keepUsage(call string, out activities.Answer, err error) {
	_, used := out.Halted()
	spent, _ := spentOn(err)
	if used = used.Most(spent); used == (run.Usage{}) {
		return
	}
	if u.Used == nil {
		u.Used = map[string]run.Usage{}
	}
	u.Used[call] = u.Used[call].Most(used)
}

// usage returns the usage of all calls of the work; nil if none is known.
func (u Unreported) usage() *run.Usage {
	var sum run.Usage
	//workflowcheck:ignore // the sum is the same in any order
	for _, used := range u.Used {
		sum = sum.Add(used)
	}
	if sum == (run.Usage{}) {
		return nil
	}
	return &sum
}

// addTo returns the end of a run, with the usage that no event reports yet.
func (u Unreported) addTo(end run.Payload) run.Payload {
	switch p := end.(type) {
	case run.RunFailed:
		p.Usage = u.usage()
		return p
	case run.RunCanceled:
		p.Usage = u.usage()
		return p
	}
	return end
}
