package codex

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// threadView is what the client has reported of its thread: a fold of its notifications, which sends nothing
// and keeps no time. A read is joined with it; see joinRead.
type threadView struct {
	allows *delivery.Allows
	active []*turnView // turns that were begun and not ended
}

// turnView holds the observations of one turn.
type turnView struct {
	agent.ActiveTurn
	opened   bool // seen from its beginning
	other    bool // a compaction, a review, or a turn under two ids
	messages int
}

// threadStatus is a status in the client's form.
type threadStatus struct {
	Type  string   `json:"type"`
	Flags []string `json:"activeFlags"`
}

// The types of items that say what a turn does beyond what its thread's policy bounds
// (CLIENT.md, 14).
var (
	plainItems   = []string{"userMessage", "agentMessage", "reasoning", "plan", "commandExecution", "functionCallOutput", "imageView", "sleep"}
	networkItems = []string{"webSearch", "mcpToolCall", "dynamicToolCall", "collabAgentToolCall", "subAgentActivity", "imageGeneration"}
	otherItems   = []string{"contextCompaction", "enteredReviewMode", "exitedReviewMode"}
)

// trackedTurn returns the active turn with the id, which it adds if it is not known. Of more turns than a client
// can run at once, the oldest are forgotten: a read that shows one then finds its beginning unknown.
func (v *threadView) trackedTurn(id string) *turnView {
	i := slices.IndexFunc(v.active, func(t *turnView) bool { return t.ID == id })
	if i >= 0 {
		return v.active[i]
	}
	t := &turnView{ActiveTurn: agent.ActiveTurn{ID: id}}
	v.active = append(v.active[max(len(v.active)+1-keptTurns, 0):], t)
	return t
}

// openTurn takes a turn/started. It reports whether the turn was not known to run.
func (v *threadView) openTurn(w wireTurn) bool {
	known := slices.ContainsFunc(v.active, func(t *turnView) bool { return t.ID == w.ID })
	t := v.trackedTurn(w.ID)
	t.opened = t.opened || !known
	t.other = t.other || w.foreignRoot()
	return !known
}

// foreignRoot reports whether the turn belongs to another, or to none.
func (w wireTurn) foreignRoot() bool {
	return len(w.Root) > 0 && string(w.Root) != strconv.Quote(w.ID)
}

// addMessage takes a user message. It reports whether it is the first of a turn that was seen from its
// beginning.
func (v *threadView) addMessage(turn string) bool {
	t := v.trackedTurn(turn)
	t.messages++
	return t.opened && t.messages == 1
}

func (t *turnView) addItem(kind string) {
	switch {
	case slices.Contains(plainItems, kind):
	case kind == "fileChange":
		t.Wrote = true
	case slices.Contains(networkItems, kind):
		t.Network = true
	case slices.Contains(otherItems, kind):
		t.other = true
	default:
		t.Strange = true
	}
}

// setStatus takes a status. A thread that is not active runs no turn, though the end of a turn is reported
// later, and under another id where the client began it under two.
func (v *threadView) setStatus(s threadStatus) {
	if s.Type != "active" {
		v.active = nil
	}
}

// asActive returns the turn as its readers see it.
func (t *turnView) asActive() agent.ActiveTurn {
	a := t.ActiveTurn
	switch {
	case t.other:
		a.Kind = delivery.OtherTurn
	case t.opened:
		a.Kind = delivery.RegularTurn
	default:
		a.Kind = delivery.UnknownTurn
	}
	return a
}

// wireThread is a thread in the answer to a read.
type wireThread struct {
	ID     string       `json:"id"`
	Status threadStatus `json:"status"`
	Turns  []wireTurn   `json:"turns"`
}

// keptTurns bounds the turns that are kept, of a read and of the notifications.
const keptTurns = 64

// joinRead returns what a read and the view say together. The read wins, because it is younger; a turn that
// the read does not have at all, and that runs by the notifications, is a doubt and is kept as one.
func (v *threadView) joinRead(read wireThread) agent.Thread {
	t := agent.Thread{ID: read.ID, Status: read.Status.Type, Flags: read.Status.Flags, Allows: v.allows}
	inRead := map[string]bool{}
	for _, w := range read.Turns {
		inRead[w.ID] = true
		if w.Status == "inProgress" {
			t.Active = append(t.Active, v.joinTurn(w))
		}
	}
	for _, seen := range v.active {
		if !inRead[seen.ID] {
			a := seen.asActive()
			if a.Kind == delivery.RegularTurn {
				a.Kind = delivery.UnknownTurn
			}
			t.Active = append(t.Active, a)
		}
	}
	for _, w := range read.Turns[max(len(read.Turns)-keptTurns, 0):] {
		t.Turns = append(t.Turns, w.asRecord())
	}
	return t
}

// joinTurn returns a turn in progress with everything that either source says against it.
func (v *threadView) joinTurn(w wireTurn) agent.ActiveTurn {
	t := turnView{ActiveTurn: agent.ActiveTurn{ID: w.ID}}
	if i := slices.IndexFunc(v.active, func(t *turnView) bool { return t.ID == w.ID }); i >= 0 {
		t = *v.active[i]
	}
	t.other = t.other || w.foreignRoot()
	for _, raw := range w.Items {
		var i item
		if json.Unmarshal(raw, &i) != nil {
			t.Strange = true
			continue
		}
		t.addItem(i.Type)
	}
	return t.asActive()
}

// asRecord returns a turn of a read, with the ids of its user messages.
func (w wireTurn) asRecord() agent.ThreadTurn {
	r := agent.ThreadTurn{ID: w.ID, Status: w.Status, Ended: w.Completed != nil}
	for _, raw := range w.Items {
		var i item
		if json.Unmarshal(raw, &i) == nil && i.Type == "userMessage" {
			r.Markers = append(r.Markers, i.ClientID)
		}
	}
	return r
}
