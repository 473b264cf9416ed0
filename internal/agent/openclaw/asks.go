package openclaw

import (
	"slices"
	"sync"
	"time"
)

// asks are the permission requests that wait, in the order in which they came.
type asks struct {
	mu      sync.Mutex
	pending []*ask
}

// ask is one of them.
type ask struct {
	id       string      // the gateway's
	call     string      // the tool call, by which it is decided
	deciding bool        // a decision is on its way: nobody waits any more
	expiry   *time.Timer // nil: not yet
}

// add puts a request on the list, for the tool call unless one waits for that
// call already, and returns the id by which it is decided.
func (a *asks) add(id, call string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if call == "" || slices.ContainsFunc(a.pending, func(w *ask) bool { return w.call == call }) {
		call = id
	}
	a.pending = append(a.pending, &ask{id: id, call: call})
	return call
}

// limit calls expired when the life of a request is over, unless it is settled
// by then.
func (a *asks) limit(id string, life time.Duration, expired func(id string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.pending {
		if w.id == id {
			w.expiry = time.AfterFunc(life, func() { expired(id) })
		}
	}
}

// take begins a decision, and says on which request; ok is false when none
// waits. Settled or back ends it.
func (a *asks) take(call string) (id string, ok bool) {
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

// back says that a decision did not arrive: the request waits again.
func (a *asks) back(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.pending {
		if w.id == id {
			w.deciding = false
		}
	}
}

// settled says that a request does not wait any more. Withdrawn is true when
// it did, and no decision of ours was on its way.
func (a *asks) settled(id string) (call string, withdrawn bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.pending, func(w *ask) bool { return w.id == id })
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

// ids are the requests on the list.
func (a *asks) ids() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, w := range a.pending {
		ids = append(ids, w.id)
	}
	return ids
}
