package dispatch_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// preProbe are the reasons that go without a liveness, in the contract's words.
var preProbe = []dispatch.Reason{"bad-target", "target-locked", "target-address-conflict"}

func TestEveryReasonWithEveryLiveness(t *testing.T) {
	made := 0
	for _, why := range dispatch.Reasons {
		for _, observed := range append([]dispatch.Liveness{"", "live", "dormant"}, dispatch.Livenesses...) {
			want := slices.Contains(dispatch.Livenesses, observed)
			if slices.Contains(preProbe, why) {
				want = observed == ""
			}
			r, err := dispatch.Reject(why, observed)
			if (err == nil) != want {
				t.Errorf("%s with %q: %v", why, observed, err)
			}
			if err != nil {
				if r != (dispatch.Receipt{}) {
					t.Errorf("%s with %q: refused and made %+v", why, observed, r)
				}
				continue
			}
			made++
			if r.OK() || r.Reason() != why || r.Observed() != observed {
				t.Errorf("%s with %q: %+v", why, observed, r)
			}
			roundTrip(t, r)
		}
	}
	if want := len(preProbe) + (9-len(preProbe))*4; made != want {
		t.Errorf("%d rejects, want %d", made, want)
	}
}

func roundTrip(t *testing.T, r dispatch.Receipt) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back dispatch.Receipt
	if err := json.Unmarshal(b, &back); err != nil || back != r {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
}

func TestRejectRefusesOtherWords(t *testing.T) {
	for _, why := range []dispatch.Reason{"", "BAD-TARGET", "locked", "unknown"} {
		for _, observed := range append([]dispatch.Liveness{""}, dispatch.Livenesses...) {
			if r, err := dispatch.Reject(why, observed); err == nil || r != (dispatch.Receipt{}) {
				t.Errorf("%q with %q: %+v, %v", why, observed, r, err)
			}
		}
	}
}

func TestNullIsWrittenAsAMember(t *testing.T) {
	r, err := dispatch.Reject(dispatch.BadTarget, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if want := `{"ok":false,"reason":"bad-target","observedLiveness":null}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

// receipts that look like one and are none. The schema refuses them as well.
var ill = map[string]string{
	"nothing":                                   ``,
	"null":                                      `null`,
	"a list":                                    `[]`,
	"an empty object":                           `{}`,
	"no ok":                                     `{"reason":"bad-target","observedLiveness":null}`,
	"ok is null":                                `{"ok":null,"reason":"bad-target","observedLiveness":null}`,
	"ok is a text":                              `{"ok":"true","action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":"alive"}`,
	"a success with a reason":                   `{"ok":true,"action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":"alive","reason":"bad-target"}`,
	"a success without its liveness":            `{"ok":true,"action":"send","transport":"control-socket","ownership":"ack-only"}`,
	"a success with a null liveness":            `{"ok":true,"action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":null}`,
	"a success without an action":               `{"ok":true,"transport":"control-socket","ownership":"ack-only","observedLiveness":"alive"}`,
	"a success of no cell: alive by mail":       `{"ok":true,"action":"send","transport":"meta-mailbox","ownership":"ack-only","observedLiveness":"alive"}`,
	"a success of no cell: alive resumed":       `{"ok":true,"action":"resume","transport":"spawn-bg","ownership":"owned","observedLiveness":"alive"}`,
	"a success of no cell: indeterminate":       `{"ok":true,"action":"resume","transport":"spawn-bg","ownership":"owned","observedLiveness":"indeterminate"}`,
	"a success of no cell: mixed facets":        `{"ok":true,"action":"send","transport":"control-socket","ownership":"owned","observedLiveness":"alive"}`,
	"tmux-live, which no cell yields":           `{"ok":true,"action":"resume","transport":"tmux-live","ownership":"owned","observedLiveness":"dead"}`,
	"an unknown transport":                      `{"ok":true,"action":"send","transport":"native-push","ownership":"ack-only","observedLiveness":"alive"}`,
	"a reject with an action":                   `{"ok":false,"reason":"bad-target","observedLiveness":null,"action":"send"}`,
	"a reject with another member":              `{"ok":false,"reason":"bad-target","observedLiveness":null,"hint":"x"}`,
	"a reject without its liveness":             `{"ok":false,"reason":"bad-target"}`,
	"a reject without a reason":                 `{"ok":false,"observedLiveness":"dead"}`,
	"an unknown reason":                         `{"ok":false,"reason":"record-less-socket","observedLiveness":null}`,
	"before a probe, with a liveness":           `{"ok":false,"reason":"bad-target","observedLiveness":"indeterminate"}`,
	"after a probe, without one":                `{"ok":false,"reason":"owned-live-no-autosend","observedLiveness":null}`,
	"a liveness of the other axis":              `{"ok":false,"reason":"untrusted-fail-fast","observedLiveness":"dormant"}`,
	"a member in other letters":                 `{"ok":false,"Reason":"bad-target","observedLiveness":null}`,
	"a member in other letters beside its own":  `{"ok":false,"reason":"bad-target","REASON":"x","observedLiveness":null}`,
	"the empty text as a liveness":              `{"ok":false,"reason":"bad-target","observedLiveness":""}`,
	"the empty text as a reason":                `{"ok":false,"reason":"","observedLiveness":null}`,
	"a number as a reason":                      `{"ok":false,"reason":1,"observedLiveness":null}`,
	"a success that says it is none":            `{"ok":false,"action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":"alive"}`,
	"a reject that says it is a success":        `{"ok":true,"reason":"bad-target","observedLiveness":null}`,
	"an object in the place of ok":              `{"ok":{},"reason":"bad-target","observedLiveness":null}`,
	"ok in other letters":                       `{"OK":false,"reason":"bad-target","observedLiveness":null}`,
	"a success with both spellings of a member": `{"ok":true,"action":"send","Action":"send","transport":"control-socket","ownership":"ack-only","observedLiveness":"alive"}`,
}

func TestReceiptRefuses(t *testing.T) {
	for name, text := range ill {
		var r dispatch.Receipt
		if err := json.Unmarshal([]byte(text), &r); err == nil && text != "null" || r != (dispatch.Receipt{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if err := r.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s: taken as %+v", name, r)
		}
	}
}

// What no schema can tell: to it both members are one.
func TestReceiptRefusesAMemberTwice(t *testing.T) {
	var r dispatch.Receipt
	text := `{"ok":false,"reason":"target-locked","reason":"bad-target","observedLiveness":null}`
	if err := json.Unmarshal([]byte(text), &r); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHintsAreOneLine(t *testing.T) {
	for _, why := range dispatch.Reasons {
		if h := why.Hint(); h == "" || strings.Contains(h, "\n") || strings.HasSuffix(h, ".") {
			t.Errorf("%s: %q", why, h)
		}
	}
}

func FuzzReceipt(f *testing.F) {
	for _, text := range ill {
		f.Add(text)
	}
	for _, c := range cells {
		f.Add(c.want)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r dispatch.Receipt
		if err := r.UnmarshalJSON([]byte(text)); err == nil {
			roundTrip(t, r)
		}
	})
}
