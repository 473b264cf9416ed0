package delivery

import (
	"slices"
	"time"
)

// Snapshot is the state of the deliveries into one thread. It results from the thread's events.
type Snapshot struct {
	Seq     int     `json:"seq"`
	Thread  string  `json:"thread"`
	Mode    Mode    `json:"mode,omitempty"`
	Limits  Limits  `json:"limits"`
	Session Session `json:"session,omitzero"`
	// Queue holds the open batches, the oldest first: the first is the head.
	Queue []Entry `json:"queue,omitempty"`
	// Closed holds the last closed batches, the oldest first: see KeepClosed.
	Closed []Entry `json:"closed,omitempty"`
	// LastAccepted is when the thread last accepted a delivery.
	LastAccepted time.Time `json:"lastAccepted,omitzero"`
}

// The bounds of the snapshot.
const (
	MaxClosed       = 32
	maxAttemptsKept = 8 // of one batch; refused attempts cost nothing, and there may be many
)

// Entry is a batch and its progress.
type Entry struct {
	Batch     Batch     `json:"batch"`
	CreatedAt time.Time `json:"createdAt"`
	Replay    Replay    `json:"replay"`
	// Until is the end of the window: of redelivery while the batch is automatic, then of resolution.
	Until time.Time `json:"until"`
	// NotBefore is the end of the pause after an overloaded agent's refusal.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Charged counts the accepted attempts, Generation all of them. Attempts holds the last ones.
	Charged    int       `json:"charged,omitempty"`
	Generation int       `json:"generation,omitempty"`
	Attempts   []Attempt `json:"attempts,omitempty"`

	Close    Close     `json:"close,omitempty"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
	By       string    `json:"by,omitempty"` // of a close by a person
	Note     string    `json:"note,omitempty"`
	// Words is the digest of the batch, once Batch has only the beginning of its words.
	Words string `json:"words,omitempty"`
}

// Attempt is one try to deliver a batch.
type Attempt struct {
	Generation  int          `json:"generation"`
	State       AttemptState `json:"state"`
	RPC         RPCState     `json:"rpc"`
	Observation Observation  `json:"observation,omitempty"`

	RequestID string  `json:"requestId"`
	Marker    string  `json:"marker"`
	Kind      RPCKind `json:"kind"`
	// Expected is the turn that a steer goes into.
	Expected           string    `json:"expected,omitempty"`
	Adapter            string    `json:"adapter"`
	Mode               Mode      `json:"mode,omitempty"`
	Session            string    `json:"session"`
	Epoch              int       `json:"epoch"`
	ActivityRevision   int       `json:"activityRevision"`
	CapabilityRevision int       `json:"capabilityRevision"`
	StartedAt          time.Time `json:"startedAt"`

	Turn       string    `json:"turn,omitempty"`
	AcceptedAt time.Time `json:"acceptedAt,omitzero"`
	Deadline   time.Time `json:"deadline,omitzero"`
	// Marked says that the marker was seen in Turn: the message was taken in, not only accepted.
	Marked    bool      `json:"marked,omitempty"`
	LastEvent TurnEvent `json:"lastEvent,omitempty"`
}

// Active reports whether the attempt may still deliver.
func (a Attempt) Active() bool { return a.State == AcceptPending || a.State == Cooldown }

// newestAttempt returns the last attempt; nil if there is none.
func (e *Entry) newestAttempt() *Attempt {
	if len(e.Attempts) == 0 {
		return nil
	}
	return &e.Attempts[len(e.Attempts)-1]
}

// activeAttempt returns the attempt that may still deliver; nil if there is none.
func (e *Entry) activeAttempt() *Attempt {
	if a := e.newestAttempt(); a != nil && a.Active() {
		return a
	}
	return nil
}

// Head returns the oldest open batch; nil if there is none.
func (s *Snapshot) Head() *Entry {
	if len(s.Queue) == 0 {
		return nil
	}
	return &s.Queue[0]
}

// InFlight returns the active attempt of the thread; nil if there is none.
func (s *Snapshot) InFlight() *Attempt {
	for i := range s.Queue {
		if a := s.Queue[i].activeAttempt(); a != nil {
			return a
		}
	}
	return nil
}

// Attempt returns the attempt that the request began; zero if none is kept.
func (s *Snapshot) Attempt(request string) Attempt {
	if _, a := s.findAttempt(func(a *Attempt) bool { return a.RequestID == request }); a != nil {
		return *a
	}
	return Attempt{}
}

// findEntry returns the open batch; nil if there is none.
func (s *Snapshot) findEntry(batch string) *Entry {
	i := slices.IndexFunc(s.Queue, func(e Entry) bool { return e.Batch.ID == batch })
	if i < 0 {
		return nil
	}
	return &s.Queue[i]
}

// Known returns the batch with the id, if it is open or among the last closed ones; else nil.
func (s *Snapshot) Known(id string) *Entry {
	if e := s.findEntry(id); e != nil {
		return e
	}
	i := slices.IndexFunc(s.Closed, func(e Entry) bool { return e.Batch.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Closed[i]
}

// findAttempt returns the attempt that passes, and its batch: the newest of an open batch before older ones
// and closed batches.
func (s *Snapshot) findAttempt(passes func(*Attempt) bool) (*Entry, *Attempt) {
	for _, list := range [][]Entry{s.Queue, s.Closed} {
		for i := range list {
			for j := len(list[i].Attempts) - 1; j >= 0; j-- {
				if a := &list[i].Attempts[j]; passes(a) {
					return &list[i], a
				}
			}
		}
	}
	return nil, nil
}

// isCurrent reports whether the attempt's session, and the stream of its events, is still the same.
func (s *Snapshot) isCurrent(a *Attempt) bool {
	return s.Session.State == Live && s.Session.ID == a.Session && s.Session.Epoch == a.Epoch
}

// queuedBytes returns the length of the texts that wait.
func (s *Snapshot) queuedBytes() int {
	n := 0
	for _, e := range s.Queue {
		n += e.Batch.Bytes()
	}
	return n
}
