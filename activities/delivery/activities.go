// Package delivery holds the activities of the deliveries into sessions: they read what a session's thread does, record
// an attempt durably, send it once, and look what became of it (docs/contracts/delivery.md). Package internal/delivery
// decides. An activity runs on the worker that holds the session's process.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// Sessions is what the activities need of the worker's sessions.
type Sessions interface {
	// Find returns the session in the agent process with this id, if this worker owns the process.
	Find(session, process string) (agent.Session, bool)
}

// Config configures the activities. Sessions and Ledger are required.
type Config struct {
	Sessions Sessions
	Ledger   ledger.Store
	// Steer opens the gate of the steers. The worker's operator opens it, and nothing else does.
	Steer bool
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Activities holds the activities of deliveries. New creates it.
type Activities struct{ Config }

// New returns the activities, or an error if the configuration is incomplete.
func New(c Config) (*Activities, error) {
	if c.Sessions == nil || c.Ledger == (ledger.Store{}) {
		return nil, errors.New("session results: the configuration is incomplete")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Activities{c}, nil
}

// The types of errors.
const (
	// GoneError says that this worker does not hold the process that was asked for.
	GoneError = "SessionGone"
	// ReadError says that the thread could not be read. Then nothing is known of it.
	ReadError = "ThreadUnread"
	// LedgerError says that the ledger could not be written.
	LedgerError = "LedgerUnwritten"
)

// The limits of the requests (docs/contracts/delivery.md, 7).
const (
	readLimit   = 10 * time.Second
	answerLimit = time.Minute
)

// errGone is the cause of GoneError.
var errGone = errors.New("this worker does not hold the session's process")

// ProveThread reads the thread and returns what the read proves in the session's epoch. A session that cannot prove anything
// gets no capabilities. A second call reads again.
func (a *Activities) ProveThread(ctx context.Context, in ProveInput) (ProveResult, error) {
	if err := a.Ledger.Record(ctx, in.Session, in.Record); err != nil {
		return ProveResult{}, report.Permanent(LedgerError, err)
	}
	s, ok := a.Sessions.Find(in.Session, in.Process)
	if !ok {
		return ProveResult{}, report.Permanent(GoneError, errGone)
	}
	w, ok := s.(agent.Watched)
	if !ok {
		return ProveResult{Proved: agent.Thread{ID: s.ID()}.Prove(in.Managed, delivery.Capabilities{})}, nil
	}
	thread, err := readThread(ctx, w)
	if err != nil {
		return ProveResult{}, report.Permanent(ReadError, err)
	}
	can := w.Capabilities()
	can.Steer.Gate = a.Steer
	return ProveResult{Proved: thread.Prove(in.Managed, can)}, nil
}

func readThread(ctx context.Context, w agent.Watched) (agent.Thread, error) {
	ctx, stop := context.WithTimeout(ctx, readLimit)
	defer stop()
	return w.Thread(ctx)
}

// SendDelivery records the attempt durably and sends it. It must be called only once: a second call sends the message again.
// A refusal says that the message had no effect. After an error it is unknown whether it had one.
func (a *Activities) SendDelivery(ctx context.Context, in DeliverInput) (DeliverResult, error) {
	if in.Attempt.Kind == delivery.TurnSteer && !a.Steer {
		return refusedResult(delivery.NotSent, errors.New("this worker sends nothing into a running turn")), nil
	}
	if err := a.Ledger.Record(ctx, in.Session, in.Record); err != nil {
		return refusedResult(delivery.NotSent, fmt.Errorf("cannot record the attempt: %w", err)), nil
	}
	failpoint.Hit("delivery.before-rpc")
	s, ok := a.Sessions.Find(in.Session, in.Process)
	w, watched := s.(agent.Watched)
	if !ok || !watched {
		return refusedResult(delivery.NotSent, errGone), nil
	}
	out, err := a.sendMessage(ctx, w, in)
	failpoint.Hit("delivery.accepted")
	return out, err
}

func refusedResult(class delivery.Refusal, why error) DeliverResult {
	return DeliverResult{Refused: class, Reason: report.Summary(why.Error())}
}

func (a *Activities) sendMessage(ctx context.Context, w agent.Watched, in DeliverInput) (DeliverResult, error) {
	ctx, stop := context.WithTimeout(ctx, answerLimit)
	defer stop()
	turn, err := w.Deliver(ctx, agent.Delivery{
		Text: in.Text, Marker: in.Attempt.Marker, Expected: in.Attempt.Expected, Tokens: in.Left.Tokens, Cost: in.Left.Cost,
	})
	if refused, ok := errors.AsType[*agent.Refused](err); ok {
		return refusedResult(refused.Class, refused.Cause), nil
	}
	if err != nil {
		// Without its cause: a cancellation in it would make the activity a canceled one, which for the workflow
		// is one that never began, and whose message may be sent again.
		return DeliverResult{}, temporal.NewNonRetryableApplicationError(err.Error(), UnknownError, nil)
	}
	return DeliverResult{Turn: turn, At: a.Now().UTC()}, nil
}

// UnknownError says that it is not known whether a message was accepted.
const UnknownError = "AcceptanceUnknown"

// ReconcileDelivery reads the thread and returns what it shows of an attempt. A second call reads again.
func (a *Activities) ReconcileDelivery(ctx context.Context, in ReconcileInput) (ReconcileResult, error) {
	s, _ := a.Sessions.Find(in.Session, in.Process)
	w, ok := s.(agent.Watched)
	if !ok {
		return ReconcileResult{}, report.Permanent(GoneError, errGone)
	}
	thread, err := readThread(ctx, w)
	if err != nil {
		return ReconcileResult{}, report.Permanent(ReadError, err)
	}
	out := ReconcileResult{Recent: thread.Recent}
	for _, p := range thread.Reconcile(in.Marker, in.Session, in.Epoch, a.Now().UTC()) {
		switch p := p.(type) {
		case delivery.Marked:
			out.Marked = &p
		case delivery.TurnSeen:
			out.Turn = &p
		}
	}
	return out, nil
}

// RecordDelivery writes entries into the ledger. A second call with the same entries changes nothing.
func (a *Activities) RecordDelivery(ctx context.Context, in RecordInput) error {
	if err := a.Ledger.Record(ctx, in.Session, in.Record); err != nil {
		return report.Permanent(LedgerError, err)
	}
	return nil
}
