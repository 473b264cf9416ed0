package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Delivery is the peer's own word for how it took a message.
type Delivery string

// The deliveries.
const (
	Direct   Delivery = "direct"   // it was idle and began a turn
	Steered  Delivery = "steer"    // into the current turn
	Followed Delivery = "followUp" // it waits for the end of the current turn
)

// Outcome describes what happened after the verdict. It is a separate axis: it never changes the
// receipt, and its failures are no reject reasons.
type Outcome struct {
	Kind Kind `json:"kind"`
	// Transport carried the message, or was chosen to carry it. After a fallback it differs from
	// the transport of the receipt.
	Transport Transport `json:"transport"`

	DeliveredAs Delivery `json:"deliveredAs,omitempty"` // by a control socket
	Mail        string   `json:"mail,omitempty"`        // name of the file in the mailbox
	Answer      string   `json:"answer,omitempty"`      // the agent's last text in its turn, or the head of it

	// RejectReason is the reason why a second look at the target rejected. It is empty when the
	// peer itself refused; Error then has the peer's words.
	RejectReason Reason `json:"rejectReason,omitempty"`
	// ExitCode is the exit code of the agent's process; nil when a signal ended it.
	ExitCode *int `json:"exitCode,omitempty"`
	// TimedOut reports that we ended the process because its time was up.
	TimedOut bool `json:"timedOut,omitempty"`
	// Retention is the reason why the lock stays. Diagnostic holds the facts that an operator needs
	// to free it.
	Retention  Retention   `json:"reason,omitempty"`
	Diagnostic *Diagnostic `json:"diagnostic,omitempty"`
	// Finalized is the outcome that was final when the release of the lock failed. ReleaseFailed
	// reports that failure.
	Finalized     *Outcome `json:"finalizedOutcome,omitempty"`
	ReleaseFailed bool     `json:"releaseFailed,omitempty"`
	// Error is one line. It is set exactly when the outcome is not a success.
	Error string `json:"error,omitempty"`
}

// Retention is the reason why a lock is kept.
type Retention string

// The reasons to keep a lock.
const (
	KillUnconfirmed Retention = "kill-unconfirmed" // asked to end when its time was up
	ObserveFailed   Retention = "observe-failed"   // asked to end because it could not be watched
)

func (r *Retention) UnmarshalText(b []byte) error {
	return exact.Word(r, b, "retention", KillUnconfirmed, ObserveFailed)
}

// Diagnostic names the process and the files of a retained lock.
type Diagnostic struct {
	GardenID         GardenID `json:"gardenId"`
	PID              int      `json:"pid"`
	Socket           string   `json:"socket,omitempty"`
	LockPath         string   `json:"lockPath"`
	ObserveTimeoutMs int64    `json:"observeTimeoutMs"`
	KillGraceMs      int64    `json:"killGraceMs"`
}

// Succeeded reports whether the caller got the result that its intent asks for.
func (o Outcome) Succeeded() bool { return rules[o.Kind].good }

// RetrySafe reports whether the same message may be dispatched again without the danger that the
// target gets it twice.
func (o Outcome) RetrySafe() bool { return rules[o.Kind].retrySafe }

// Fallback returns the outcome of the transport that the second look found, as an outcome of the
// dispatch. A success becomes FallbackSent; every other outcome stays.
func (o Outcome) Fallback() Outcome {
	if o.Succeeded() {
		o.Kind = FallbackSent
	}
	return o
}

// Dirty returns the outcome for a lock that could not be released afterwards. ExecutionFailed,
// Unknown and LockRetained take precedence over the failed release.
func (o Outcome) Dirty(release error) Outcome {
	if o.Kind == ExecutionFailed || o.Kind == Unknown || o.Kind == LockRetained {
		return o
	}
	return Outcome{
		Kind: ExecutionFailed, Transport: o.Transport, Finalized: &o, ReleaseFailed: true,
		Error: "release the lock: " + release.Error(),
	}
}

// Validate returns an error for an outcome with members that do not belong to its kind, or without
// members that do.
func (o Outcome) Validate() error {
	r, known := rules[o.Kind]
	retained := o.Kind == LockRetained
	for _, c := range []struct {
		wrong bool
		what  string
	}{
		{!known, "unknown kind"},
		{!slices.Contains(r.by, o.Transport), "not by " + string(o.Transport)},
		{r.good == (o.Error != ""), "a success cannot have an error"},
		{o.DeliveredAs != "" && (!r.good || o.Transport != ControlSocket), "only a control socket sets deliveredAs"},
		{(o.Mail != "") != (r.good && o.Transport == MetaMailbox), "only a mailbox has a mail"},
		{o.Answer != "" && o.Transport != SpawnBg, "only a resume has an answer"},
		{o.RejectReason != "" && o.Kind != Rejected, "only rejected has a reject reason"},
		{(o.ExitCode != nil || o.TimedOut) && o.Kind != ChildExited, "only child-exited has an exit"},
		{(o.Retention != "") != retained || (o.Diagnostic != nil) != retained, "only lock-retained has a reason and a diagnostic"},
		{(o.Finalized != nil) != o.ReleaseFailed || o.ReleaseFailed && o.Kind != ExecutionFailed, "only a failed release has a final outcome"},
	} {
		if c.wrong {
			return fmt.Errorf("outcome %q: %s", string(o.Kind), c.what)
		}
	}
	if o.Finalized != nil {
		return o.Finalized.Validate()
	}
	return nil
}

// MarshalJSON writes a valid outcome together with retrySafe.
func (o Outcome) MarshalJSON() ([]byte, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	type plain Outcome
	return json.Marshal(struct {
		plain
		RetrySafe bool `json:"retrySafe"`
	}{plain(o), o.RetrySafe()})
}

// UnmarshalJSON returns an error for an outcome that is not valid.
func (o *Outcome) UnmarshalJSON(b []byte) error {
	type plain Outcome
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if err := Outcome(p).Validate(); err != nil {
		return err
	}
	*o = Outcome(p)
	return nil
}
