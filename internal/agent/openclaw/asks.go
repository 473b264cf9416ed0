package openclaw

import (
	"slices"
	"sync"
	"time"
)

// approvalList holds the permission requests that wait, in the order in which they
// came.
type approvalList struct {
	mu      sync.Mutex
	pending []*waitingApproval
}

// waitingApproval is a permission request that waits.
type waitingApproval struct {
	id       string      // the gateway's id
	call     string      // the tool call, by which the request is decided
	deciding bool        // a decision is on its way: the request no longer waits
	expiry   *time.Timer // nil: not set yet
}

// addRequest puts a request on the list and returns the id by which it is decided:
// the tool call, unless another request waits for that call already.
func (a *approvalList) addRequest(id, call string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if call == "" || slices.ContainsFunc(a.pending, func(w *waitingApproval) bool { return w.call == call }) {
		call = id
	}
	a.pending = append(a.pending, &waitingApproval{id: id, call: call})
	return call
}

// startExpiry makes expired be called when the life of a request is over, unless
// the request is removed before.
func (a *approvalList) startExpiry(id string, life time.Duration, expired func(id string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.pending {
		if w.id == id {
			w.expiry = time.AfterFunc(life, func() { expired(id) })
		}
	}
}

// beginDecision begins a decision and returns the id of its request; ok is false if
// none waits. RemoveRequest or cancelDecision ends it.
func (a *approvalList) beginDecision(call string) (id string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.pending {
		if w.call == call && !w.deciding {
			w.deciding = true
			return w.id, true
		}
	}
	return "", false
}

// cancelDecision says that a decision did not arrive: the request waits again.
func (a *approvalList) cancelDecision(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.pending {
		if w.id == id {
			w.deciding = false
		}
	}
}

// removeRequest removes a request that no longer waits. Withdrawn is true if it was
// on the list and no decision of ours was on its way.
func (a *approvalList) removeRequest(id string) (call string, withdrawn bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.pending, func(w *waitingApproval) bool { return w.id == id })
	if i < 0 {
		return "", false
	}
	w := a.pending[i]
	if w.expiry != nil {
		w.expiry.Stop()
	}
	a.pending = slices.Delete(a.pending, i, i+1)
	return w.call, !w.deciding
}

// requestIDs returns the ids of the requests on the list.
func (a *approvalList) requestIDs() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, w := range a.pending {
		ids = append(ids, w.id)
	}
	return ids
}
