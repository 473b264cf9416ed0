package dispatch_test

import (
	"encoding/json"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// cell is one row of the tables of the contract (docs/contracts/dispatch.md, 2.3 and 2.4).
type cell struct {
	name        string
	intent      dispatch.Intent
	observed    dispatch.Liveness
	deliverable bool
	want        string // the receipt
}

const (
	sent     = `{"ok":true,"action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":"alive"}`
	resumed  = `{"ok":true,"action":"resume","transport":"spawn-bg","ownership":"owned","observedLiveness":"dead"}`
	mailed   = `{"ok":true,"action":"send","transport":"meta-mailbox","ownership":"ack-only","observedLiveness":"unsupported"}`
	dormant  = `{"ok":false,"reason":"dormant-fire-forget-unsupported","observedLiveness":"dead"}`
	unsure   = `{"ok":false,"reason":"indeterminate-no-spawn","observedLiveness":"indeterminate"}`
	running  = `{"ok":false,"reason":"owned-live-no-autosend","observedLiveness":"alive"}`
	noMail   = `{"ok":false,"reason":"mailbox-undeliverable","observedLiveness":"unsupported"}`
	noDomain = `{"ok":false,"reason":"backend-liveness-unsupported","observedLiveness":"unsupported"}`
)

var cells = []cell{
	{"fire and forget, live", dispatch.FireAndForget, dispatch.Alive, false, sent},
	{"fire and forget, live, with a mailbox", dispatch.FireAndForget, dispatch.Alive, true, sent},
	{"fire and forget, dormant", dispatch.FireAndForget, dispatch.Dead, false, dormant},
	{"fire and forget, dormant, with a mailbox", dispatch.FireAndForget, dispatch.Dead, true, dormant},
	{"fire and forget, indeterminate", dispatch.FireAndForget, dispatch.Indeterminate, false, unsure},
	{"fire and forget, indeterminate, with a mailbox", dispatch.FireAndForget, dispatch.Indeterminate, true, unsure},
	{"owned outcome, live", dispatch.OwnedOutcome, dispatch.Alive, false, running},
	{"owned outcome, live, with a mailbox", dispatch.OwnedOutcome, dispatch.Alive, true, running},
	{"owned outcome, dormant", dispatch.OwnedOutcome, dispatch.Dead, false, resumed},
	{"owned outcome, dormant, with a mailbox", dispatch.OwnedOutcome, dispatch.Dead, true, resumed},
	{"owned outcome, indeterminate", dispatch.OwnedOutcome, dispatch.Indeterminate, false, unsure},
	{"owned outcome, indeterminate, with a mailbox", dispatch.OwnedOutcome, dispatch.Indeterminate, true, unsure},
	{"fire and forget, unsupported, a mailbox that is read", dispatch.FireAndForget, dispatch.Unsupported, true, mailed},
	{"fire and forget, unsupported, a mailbox that is not", dispatch.FireAndForget, dispatch.Unsupported, false, noMail},
	{"owned outcome, unsupported, a mailbox that is read", dispatch.OwnedOutcome, dispatch.Unsupported, true, noDomain},
	{"owned outcome, unsupported, a mailbox that is not", dispatch.OwnedOutcome, dispatch.Unsupported, false, noDomain},
}

func TestEveryCellIsAReceiptAndBack(t *testing.T) {
	if want := len(dispatch.Intents) * len(dispatch.Livenesses) * 2; len(cells) != want {
		t.Fatalf("%d rows, there are %d cells", len(cells), want)
	}
	for _, c := range cells {
		t.Run(c.name, func(t *testing.T) {
			r := dispatch.Resolve(c.intent, c.observed, c.deliverable)
			if r.Observed() != c.observed {
				t.Errorf("observed %q", r.Observed())
			}
			b, err := json.Marshal(r)
			if err != nil || string(b) != c.want {
				t.Fatalf("got  %s, %v\nwant %s", b, err, c.want)
			}
			var back dispatch.Receipt
			if err := json.Unmarshal(b, &back); err != nil || back != r {
				t.Errorf("came back as %+v, %v", back, err)
			}
		})
	}
}

func TestWhatTheReceiptSays(t *testing.T) {
	allowed := map[string]bool{sent: true, resumed: true, mailed: true}
	for _, c := range cells {
		r := dispatch.Resolve(c.intent, c.observed, c.deliverable)
		if r.OK() != allowed[c.want] {
			t.Errorf("%s: ok is %v", c.name, r.OK())
		}
		if full := r.Action() != "" && r.Transport() != "" && r.Ownership() != ""; full != r.OK() || r.OK() != (r.Reason() == "") {
			t.Errorf("%s: %+v mixes the branches", c.name, r)
		}
	}
}

func TestAWordOutsideItsSetGivesNoReceipt(t *testing.T) {
	for _, r := range []dispatch.Receipt{
		dispatch.Resolve("", dispatch.Alive, true),
		dispatch.Resolve("owned", dispatch.Dead, true),
		dispatch.Resolve("", dispatch.Unsupported, true),
		dispatch.Resolve(dispatch.FireAndForget, "", true),
		dispatch.Resolve(dispatch.FireAndForget, "live", true),
	} {
		if r != (dispatch.Receipt{}) || r.OK() {
			t.Errorf("%+v", r)
		}
		if b, err := json.Marshal(r); err == nil {
			t.Errorf("encoded as %s", b)
		}
	}
}

func TestLivenessOf(t *testing.T) {
	for _, b := range dispatch.Backends {
		for _, probed := range append([]dispatch.Liveness{"", "live"}, dispatch.Livenesses...) {
			want := dispatch.Unsupported
			if b == dispatch.Pi {
				want = dispatch.Indeterminate
				if probed == dispatch.Alive || probed == dispatch.Dead {
					want = probed
				}
			}
			if got := dispatch.LivenessOf(b, probed); got != want {
				t.Errorf("%s probed %q: %s, want %s", b, probed, got, want)
			}
		}
	}
	if got := dispatch.LivenessOf("", dispatch.Dead); got != dispatch.Unsupported {
		t.Errorf("no backend: %s", got)
	}
}

func TestStanding(t *testing.T) {
	want := map[dispatch.Liveness]dispatch.Standing{
		dispatch.Alive: dispatch.Live, dispatch.Dead: dispatch.Dormant, dispatch.Indeterminate: dispatch.Inconclusive,
	}
	for _, l := range append([]dispatch.Liveness{""}, dispatch.Livenesses...) {
		s, ok := l.Standing()
		if _, in := want[l]; s != want[l] || ok != in {
			t.Errorf("%q stands at %q, %v", l, s, ok)
		}
	}
}

func TestCapability(t *testing.T) {
	for _, b := range append([]dispatch.Backend{""}, dispatch.Backends...) {
		want := dispatch.DirectInject
		switch b {
		case dispatch.ClaudeCode:
			want = dispatch.SelfFetch
		case "":
			want = ""
		}
		if got := b.Capability(); got != want {
			t.Errorf("%q: %q", b, got)
		}
	}
}
