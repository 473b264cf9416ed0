package delivery

// Session is the managed session of the thread, with the proofs about it. A proof counts in the epoch
// in which it was made: an epoch is one event stream that is known to have no gap.
type Session struct {
	ID           string          `json:"id"`
	Thread       string          `json:"thread"` // the bound thread
	Adapter      string          `json:"adapter"`
	Epoch        int             `json:"epoch"` // from 1
	State        SessionState    `json:"state,omitempty"`
	Activity     ActivityProof   `json:"activity"`
	Capabilities Capabilities    `json:"capabilities"`
	Permissions  PermissionProof `json:"permissions"`
	// Startup is the upper bound of the permissions: the first that the session was seen to have.
	Startup *Allows `json:"startup,omitempty"`
	View    *View   `json:"view,omitempty"`
}

// ActivityProof is whether the thread runs a turn, by an authoritative read of it. The revision grows by
// one with each proof.
type ActivityProof struct {
	Epoch    int      `json:"epoch"`
	Revision int      `json:"revision"`
	Activity Activity `json:"activity,omitempty"`
}

// Capabilities is what the adapter is proved to be able to in the epoch.
type Capabilities struct {
	Epoch            int        `json:"epoch"`
	Revision         int        `json:"revision"`
	ThreadStart      bool       `json:"thread_start,omitempty"`
	ThreadResume     bool       `json:"thread_resume,omitempty"`
	TurnStart        bool       `json:"turn_start,omitempty"`
	CurrentStateSync bool       `json:"current_state_sync,omitempty"` // an authoritative read of the thread
	TurnCompleted    bool       `json:"turn_completed_event,omitempty"`
	NegativeEnds     bool       `json:"negative_terminal_events,omitempty"` // failed, interrupted and replaced are distinct
	Steer            SteerProof `json:"steer,omitzero"`
}

// Minimum reports whether the capabilities suffice for a turn of its own.
func (c Capabilities) Minimum() bool {
	return (c.ThreadResume || c.ThreadStart) && c.TurnStart && c.CurrentStateSync && c.TurnCompleted && c.NegativeEnds
}

// SteerProof is what a steer needs beyond Minimum (docs/contracts/delivery.md, 2.3). Gate is the
// operator's word: without it nothing is steered, whatever is proved.
type SteerProof struct {
	Gate         bool `json:"gate,omitempty"`
	SameTurn     bool `json:"same_turn,omitempty"`     // the answer names the active turn
	Reconciles   bool `json:"reconciles,omitempty"`    // the marker is found in exactly that turn
	Ordered      bool `json:"ordered,omitempty"`       // two steers cannot overtake each other
	Smoke        bool `json:"smoke,omitempty"`         // no extra turn and no early end were seen
	KeepsAnswers bool `json:"keeps_answers,omitempty"` // the answer under way is not cut off
}

// TurnSteer reports whether everything that a steer needs of the adapter is proved.
func (c Capabilities) TurnSteer() bool {
	p := c.Steer
	return c.Minimum() && p.SameTurn && p.Reconciles && p.Ordered && p.Smoke && p.KeepsAnswers
}

// Allows is what a session may do.
type Allows struct {
	Approval bool `json:"allows_approval"`
	Network  bool `json:"allows_network"`
	Write    bool `json:"allows_write_access"`
}

// PermissionProof is what the session may do by the agent's word. Current is nil if that could not be
// read.
type PermissionProof struct {
	Epoch    int     `json:"epoch"`
	Revision int     `json:"revision"`
	Current  *Allows `json:"current"`
}

// hasDrifted reports whether now allows something that the start did not.
func (start Allows) hasDrifted(now Allows) bool {
	return now.Approval && !start.Approval || now.Network && !start.Network || now.Write && !start.Write
}

func (a Allows) allowsAny() bool { return a.Approval || a.Network || a.Write }

// beginEpoch takes the proofs away and begins an epoch. The revisions continue.
func (s *Session) beginEpoch() {
	s.Epoch++
	s.Activity = ActivityProof{Revision: s.Activity.Revision, Activity: UnknownActivity}
	s.Capabilities = Capabilities{Revision: s.Capabilities.Revision}
	s.Permissions = PermissionProof{Revision: s.Permissions.Revision}
	s.View = nil
}
