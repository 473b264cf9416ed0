package delivery_test

import (
	"encoding"
	"reflect"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/delivery"
)

func set[T ~string, P interface {
	*T
	encoding.TextUnmarshaler
}](known ...T) func(word string) (in bool, taken string, err error) {
	return func(word string) (bool, string, error) {
		var v T
		err := P(&v).UnmarshalText([]byte(word))
		in := false
		for _, k := range known {
			in = in || string(k) == word
		}
		return in, string(v), err
	}
}

var closes = []delivery.Close{delivery.Delivered, delivery.Confirmed, delivery.Unconfirmed, delivery.WindowExhausted, delivery.ResolutionPassed, delivery.Cancelled}

func TestWordsAreClosed(t *testing.T) {
	sets := map[string]func(string) (bool, string, error){
		"rpc kind": set(delivery.TurnStart, delivery.TurnSteer), "attempt": set(delivery.AcceptPending, delivery.Cooldown, delivery.Finished, delivery.Abandoned), "rpc": set(delivery.PendingAcceptance, delivery.AcceptedRPC, delivery.RejectedBeforeAccept, delivery.UnknownRPC),
		"observation": set(delivery.Tracking, delivery.ObservedComplete, delivery.Expired, delivery.Unobserved), "replay": set(delivery.Automatic, delivery.Manual), "mode": set(delivery.Modes...),
		"turn kind": set(delivery.RegularTurn, delivery.OtherTurn, delivery.UnknownTurn), "risk": set(delivery.LowRisk, delivery.MixedRisk, delivery.UnknownRisk), "close": set(closes...), "audit": set(delivery.AuditAllow, delivery.AuditDeny, delivery.AuditStart, delivery.AuditAccepted, delivery.AuditRejected, delivery.AuditReconciled, delivery.AuditObserved, delivery.AuditManualized),
		"turn event": set(delivery.TurnEvents...), "refusal": set(delivery.Refusals...), "activity": set(delivery.UnknownActivity, delivery.ActiveThread, delivery.IdleThread),
		"session": set(delivery.Live, delivery.Detached, delivery.Parked, delivery.Retired), "job": set(delivery.JobReady, delivery.JobFailed),
	}
	words := []string{
		"turn_start", "turn_steer", "accept_pending", "cooldown", "closed", "abandoned", "pending_acceptance", "accepted",
		"rejected_before_accept", "unknown", "tracking", "completed", "expired", "automatic", "manual_resolution_only", "strict_safe",
		"trusted_all", "regular", "non_regular", "read_only_low_risk", "mixed", "delivered", "operator_confirmed_delivery",
		"operator_closed_unconfirmed", "redelivery_window_exhausted", "manual_resolution_expired", "cancelled", "allow", "deny",
		"attempt-start", "rejected", "reconciled", "observed", "manualized", "turn_started", "turn_completed", "turn_failed",
		"turn_interrupted", "turn_replaced", "benign", "lost", "busy", "not_sent", "permanent", "active", "idle", "live", "detached",
		"parked", "retired", "ready", "failed",
		"", " idle", "Idle", "prepared", "superseded", "off",
	}
	known := map[string]bool{}
	for name, try := range sets {
		for _, word := range words {
			in, taken, err := try(word)
			if (err == nil) != in || in && taken != word || !in && taken != "" {
				t.Errorf("%s %q: %q, %v", name, word, taken, err)
			}
			known[word] = known[word] || in
		}
	}
	for _, word := range words[:len(words)-6] {
		if !known[word] {
			t.Errorf("%q is in no set", word)
		}
	}
}

func TestStatusesOfAgents(t *testing.T) {
	ends, activities := map[string]delivery.TurnEvent{}, map[string]delivery.Activity{}
	for _, word := range []string{"completed", "failed", "interrupted", "inProgress", "replaced", ""} {
		ends[word] = delivery.EndOf(word)
	}
	for _, word := range []string{"idle", "active", "notLoaded", "systemError", ""} {
		activities[word] = delivery.ActivityOf(word)
	}
	if want := map[string]delivery.TurnEvent{
		"completed": delivery.TurnCompleted, "failed": delivery.TurnFailed, "interrupted": delivery.TurnInterrupted,
		"inProgress": delivery.TurnReplaced, "replaced": delivery.TurnReplaced, "": delivery.TurnReplaced,
	}; !reflect.DeepEqual(ends, want) {
		t.Errorf("ends %v", ends)
	}
	if want := map[string]delivery.Activity{
		"idle": delivery.IdleThread, "active": delivery.ActiveThread, "notLoaded": delivery.UnknownActivity,
		"systemError": delivery.UnknownActivity, "": delivery.UnknownActivity,
	}; !reflect.DeepEqual(activities, want) {
		t.Errorf("activities %v", activities)
	}
}
