package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Receipt is the verdict on one dispatch: an acceptance, which only a cell of the tables gives, or
// a reject. Only Resolve, Reject and the decoder make one. The zero Receipt is no verdict: it is
// not accepted, and it does not encode.
type Receipt struct {
	verdict  tableCell
	observed Liveness
}

// Reject returns the receipt of a rejected dispatch. Observed is the measured liveness. It must be
// empty for the reasons that are decided before a probe, and for no other.
func Reject(why Reason, observed Liveness) (Receipt, error) {
	if err := known(why, "reject reason", Reasons); err != nil {
		return Receipt{}, err
	}
	switch {
	case why.BeforeProbe() && observed != "":
		return Receipt{}, fmt.Errorf("reject %s: it comes before a probe, so it has no liveness; got %q", why, string(observed))
	case !why.BeforeProbe() && !slices.Contains(Livenesses, observed):
		return Receipt{}, fmt.Errorf("reject %s: it needs the liveness that was observed, got %q", why, string(observed))
	}
	return Receipt{tableCell{reason: why}, observed}, nil
}

// OK reports whether the dispatch is accepted.
func (r Receipt) OK() bool { return r.verdict.action != "" }

// Action returns the action, empty on a reject.
func (r Receipt) Action() Action { return r.verdict.action }

// Transport returns the transport, empty on a reject.
func (r Receipt) Transport() Transport { return r.verdict.transport }

// Ownership returns the ownership, empty on a reject.
func (r Receipt) Ownership() Ownership { return r.verdict.ownership }

// Reason returns the reason of a reject, empty on an acceptance.
func (r Receipt) Reason() Reason { return r.verdict.reason }

// Observed returns the liveness that the verdict was made from. It is empty when the verdict was
// made before a probe.
func (r Receipt) Observed() Liveness { return r.observed }

// success and reject are the two branches of a receipt in JSON.
type (
	success struct {
		OK        bool      `json:"ok"`
		Action    Action    `json:"action"`
		Transport Transport `json:"transport"`
		Ownership Ownership `json:"ownership"`
		Observed  Liveness  `json:"observedLiveness"`
	}
	reject struct {
		OK       bool      `json:"ok"`
		Reason   Reason    `json:"reason"`
		Observed *Liveness `json:"observedLiveness"`
	}
)

// MarshalJSON writes the branch of the verdict, with exactly its members.
func (r Receipt) MarshalJSON() ([]byte, error) {
	switch {
	case r == Receipt{}:
		return nil, errors.New("the receipt is empty")
	case r.OK():
		return json.Marshal(success{true, r.verdict.action, r.verdict.transport, r.verdict.ownership, r.observed})
	case r.observed == "":
		return json.Marshal(reject{Reason: r.verdict.reason})
	}
	return json.Marshal(reject{Reason: r.verdict.reason, Observed: &r.observed})
}

// UnmarshalJSON returns an error for members of the other branch, for a success that no cell of the
// tables gives, and for a reject that Reject would not make.
func (r *Receipt) UnmarshalJSON(b []byte) error {
	made, err := parse(b)
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	*r = made
	return nil
}

func parse(b []byte) (Receipt, error) {
	var given struct{ OK *bool }
	if err := json.Unmarshal(b, &given); err != nil {
		return Receipt{}, err
	}
	switch {
	case given.OK == nil:
	case *given.OK:
		var s success
		if err := exact.Decode(b, &s); err != nil {
			return Receipt{}, err
		}
		return s.receipt()
	default:
		var s reject
		if err := exact.Decode(b, &s); err != nil {
			return Receipt{}, err
		}
		if s.Observed == nil {
			return Reject(s.Reason, "")
		}
		return Reject(s.Reason, *s.Observed)
	}
	return Receipt{}, errors.New("ok is neither true nor false")
}

// receipt returns the receipt of the cell that the success came from.
func (s success) receipt() (Receipt, error) {
	want := Receipt{tableCell{action: s.Action, transport: s.Transport, ownership: s.Ownership}, s.Observed}
	for _, intent := range Intents {
		if Resolve(intent, s.Observed, true) == want {
			return want, nil
		}
	}
	return Receipt{}, fmt.Errorf("the rules do not allow %s by %s, %s, for a target that is %s", s.Action, s.Transport, s.Ownership, s.Observed)
}
