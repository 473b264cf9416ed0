package delivery

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is one line of a thread's history. Type equals the type of Payload.
type Event struct {
	Seq     int       `json:"seq"` // from 1, without a gap
	TS      time.Time `json:"ts"`
	Type    EventType `json:"type"`
	Payload Payload   `json:"payload"`
}

// EventType is the kind of an event.
type EventType string

// The kinds.
const (
	OpenedEvent      EventType = "OPENED"
	BoundEvent       EventType = "SESSION_BOUND"
	RetiredEvent     EventType = "SESSION_RETIRED"
	ProvedEvent      EventType = "PROVED"
	InvalidatedEvent EventType = "PROOF_INVALIDATED"
	EnqueuedEvent    EventType = "BATCH_ENQUEUED"
	BegunEvent       EventType = "ATTEMPT_BEGUN"
	AcceptedEvent    EventType = "ATTEMPT_ACCEPTED"
	RefusedEvent     EventType = "ATTEMPT_REFUSED"
	MarkedEvent      EventType = "MARKER_SEEN"
	ObservedEvent    EventType = "TURN_OBSERVED"
	StaleEvent       EventType = "ACCEPTANCE_UNKNOWN"
	UnansweredEvent  EventType = "ANSWER_LOST"
	ExpiredEvent     EventType = "OBSERVATION_EXPIRED"
	WindowEvent      EventType = "WINDOW_PASSED"
	ClosedEvent      EventType = "BATCH_CLOSED"
)

// Payload is the content of an event. The set of payloads is closed.
type Payload interface{ Type() EventType }

// The payloads.
type (
	// Opened begins the history of a thread.
	Opened struct {
		Thread string `json:"thread"`
		Mode   Mode   `json:"mode,omitempty"`
		Limits Limits `json:"limits,omitzero"`
	}
	// Bound binds the thread to a managed session, or again to the same. It begins an epoch.
	Bound struct {
		Session string `json:"session"`
		Thread  string `json:"thread"`
		Adapter string `json:"adapter"`
	}
	// SessionRetired ends a session for good.
	SessionRetired struct {
		Session string `json:"session"`
	}
	// Proved carries what an authoritative read of the session in the epoch has proved.
	Proved struct {
		Session      string           `json:"session"`
		Epoch        int              `json:"epoch"`
		Activity     *ActivityProof   `json:"activity,omitempty"`
		Capabilities *Capabilities    `json:"capabilities,omitempty"`
		Permissions  *PermissionProof `json:"permissions,omitempty"`
		View         *View            `json:"view,omitempty"`
	}
	// Invalidated ends an epoch: the events of the session may have a gap. Gone says that its process
	// has ended too.
	Invalidated struct {
		Session string `json:"session"`
		Epoch   int    `json:"epoch"`
		Reason  string `json:"reason"`
		Gone    bool   `json:"gone,omitempty"`
	}
	// Enqueued adds a batch.
	Enqueued struct {
		Batch Batch `json:"batch"`
	}
	// Begun records an attempt before its request is sent.
	Begun struct {
		Batch              string  `json:"batch"`
		Generation         int     `json:"generation"`
		RequestID          string  `json:"requestId"`
		Marker             string  `json:"marker"`
		Kind               RPCKind `json:"kind"`
		Expected           string  `json:"expected,omitempty"` // the turn of a steer
		Adapter            string  `json:"adapter"`
		Session            string  `json:"session"`
		Epoch              int     `json:"epoch"`
		ActivityRevision   int     `json:"activityRevision"`
		CapabilityRevision int     `json:"capabilityRevision"`
	}
	// Accepted is the answer to an attempt's request: the turn that took it.
	Accepted struct {
		RequestID string    `json:"requestId"`
		Turn      string    `json:"turn"`
		At        time.Time `json:"at"` // by the clock of the observer
		Session   string    `json:"session"`
		Epoch     int       `json:"epoch"`
	}
	// Refused is the answer that the request had no effect.
	Refused struct {
		RequestID string  `json:"requestId"`
		Class     Refusal `json:"class"`
		Reason    string  `json:"reason,omitempty"`
	}
	// Marked says that a turn has a user message with an attempt's marker. First says that it is the
	// turn's first one, and so that the turn was begun by it. Read says that a read of the thread showed
	// it and no event.
	Marked struct {
		Marker  string    `json:"marker"`
		Turn    string    `json:"turn"`
		First   bool      `json:"first,omitempty"`
		At      time.Time `json:"at"`
		Session string    `json:"session"`
		Epoch   int       `json:"epoch"`
		Read    bool      `json:"read,omitempty"`
	}
	// TurnSeen is one observation of a turn. Only the process that owns the thread may observe: a file
	// that a client writes proves nothing.
	TurnSeen struct {
		Turn    string    `json:"turn"`
		What    TurnEvent `json:"what"`
		At      time.Time `json:"at"`
		Session string    `json:"session"`
		Epoch   int       `json:"epoch"`
		Read    bool      `json:"read,omitempty"`
	}
	// Stale says that the request has no answer and was not seen in a turn, and that its time to be
	// accepted is over. A sweep makes it.
	Stale struct {
		RequestID string `json:"requestId"`
	}
	// Unanswered says that the request can have no answer any more: the call of it has ended without one, and so has
	// the process that it was sent to. Shown is what a later process reads of it, for a person: it proves nothing.
	Unanswered struct {
		RequestID string `json:"requestId"`
		Shown     string `json:"shown,omitempty"`
	}
	// ObservationExpired says that the deadline of an accepted attempt has passed. A sweep makes it.
	ObservationExpired struct {
		RequestID string `json:"requestId"`
	}
	// WindowPassed says that the window of a batch has passed. A sweep makes it.
	WindowPassed struct {
		Batch string `json:"batch"`
	}
	// Closed is the close of a batch by a person.
	Closed struct {
		Batch  string `json:"batch"`
		Reason Close  `json:"reason"`
		By     string `json:"by,omitempty"`
		Note   string `json:"note,omitempty"`
	}
)

// Type implements Payload.
func (Opened) Type() EventType             { return OpenedEvent }
func (Bound) Type() EventType              { return BoundEvent }
func (SessionRetired) Type() EventType     { return RetiredEvent }
func (Proved) Type() EventType             { return ProvedEvent }
func (Invalidated) Type() EventType        { return InvalidatedEvent }
func (Enqueued) Type() EventType           { return EnqueuedEvent }
func (Begun) Type() EventType              { return BegunEvent }
func (Accepted) Type() EventType           { return AcceptedEvent }
func (Refused) Type() EventType            { return RefusedEvent }
func (Marked) Type() EventType             { return MarkedEvent }
func (TurnSeen) Type() EventType           { return ObservedEvent }
func (Stale) Type() EventType              { return StaleEvent }
func (Unanswered) Type() EventType         { return UnansweredEvent }
func (ObservationExpired) Type() EventType { return ExpiredEvent }
func (WindowPassed) Type() EventType       { return WindowEvent }
func (Closed) Type() EventType             { return ClosedEvent }

var payloads = map[EventType]func([]byte) (Payload, error){
	OpenedEvent:      decodeAs[Opened],
	BoundEvent:       decodeAs[Bound],
	RetiredEvent:     decodeAs[SessionRetired],
	ProvedEvent:      decodeAs[Proved],
	InvalidatedEvent: decodeAs[Invalidated],
	EnqueuedEvent:    decodeAs[Enqueued],
	BegunEvent:       decodeAs[Begun],
	AcceptedEvent:    decodeAs[Accepted],
	RefusedEvent:     decodeAs[Refused],
	MarkedEvent:      decodeAs[Marked],
	ObservedEvent:    decodeAs[TurnSeen],
	StaleEvent:       decodeAs[Stale],
	UnansweredEvent:  decodeAs[Unanswered],
	ExpiredEvent:     decodeAs[ObservationExpired],
	WindowEvent:      decodeAs[WindowPassed],
	ClosedEvent:      decodeAs[Closed],
}

func decodeAs[P Payload](b []byte) (Payload, error) {
	var p P
	err := decodeExact(b, string(p.Type()), &p)
	return p, err
}

// UnmarshalJSON refuses an unknown type and unknown members.
func (e *Event) UnmarshalJSON(b []byte) error {
	var raw struct {
		Seq     int             `json:"seq"`
		TS      time.Time       `json:"ts"`
		Type    EventType       `json:"type"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := decodeExact(b, "delivery event", &raw); err != nil {
		return err
	}
	decode, ok := payloads[raw.Type]
	if !ok {
		return fmt.Errorf("unknown delivery event %q", raw.Type)
	}
	p, err := decode(raw.Payload)
	if err != nil {
		return err
	}
	*e = Event{Seq: raw.Seq, TS: raw.TS, Type: raw.Type, Payload: p}
	return nil
}

// Event returns the next event for the payload. It does not apply it.
func (s *Snapshot) Event(now time.Time, p Payload) Event {
	return Event{Seq: s.Seq + 1, TS: now.UTC(), Type: p.Type(), Payload: p}
}
