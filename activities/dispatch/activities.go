// Package dispatch implements the activities of dispatches: it resolves targets in the registry of this
// host, locks them, delivers messages and owns the turns of the sessions that it resumes. Each activity
// may run twice, unless its doc says otherwise.
package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/gidlock"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/citizen/trust"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// Activities holds the activities of dispatches, which work on the registry
// of this host. New creates it.
type Activities struct {
	dirs   citizen.Dirs
	store  *citizen.Store
	locks  gidlock.Locks
	boxes  mailbox.Mailboxes
	resume func(b dispatch.Backend, approve bool) (Resumer, bool)
	// observe bounds the time that a session may take to begin; zero means OwnedTurn.Observe.
	observe time.Duration
	grace   time.Duration

	secrets *redact.Redactor
	now     func() time.Time
	held    heldLocks
}

// Resumer resumes the sessions of a backend.
type Resumer struct {
	agent.Adapter
	Options agent.Options // of each start; startAgent sets Dir and Resume
}

// Config configures the activities. Dirs and Resume are required.
type Config struct {
	Dirs citizen.Dirs
	// Resume returns the adapter that resumes dormant sessions of backend b; ok is false if this
	// worker resumes none. Approve reports that the session's directory is trusted. For a backend
	// without a control socket the adapter must be an agent.Prober.
	Resume func(b dispatch.Backend, approve bool) (Resumer, bool)
	// Observe bounds the time that a resumed session may take to begin. Zero means the 30 s of
	// docs/contracts/dispatch.md, 10, which OwnedTurn.Observe carries.
	Observe time.Duration
	// Grace is the time that an agent has to end after it was asked to. Zero means the 5 s of
	// docs/contracts/dispatch.md, 10.
	Grace time.Duration
	// Redact removes the worker's secrets from the texts of agents.
	Redact *redact.Redactor
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// InvalidError is the type of the error about an input that can never work.
const InvalidError = "Invalid"

const stopGrace = 5 * time.Second

// New returns the activities, or an error if the configuration
// is incomplete.
func New(c Config) (*Activities, error) {
	if c.Dirs.Sessions == "" || c.Resume == nil {
		return nil, errors.New("dispatch: the configuration is incomplete")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Activities{
		dirs: c.Dirs, store: &citizen.Store{Dir: c.Dirs.Sessions}, locks: gidlock.Locks{Dir: c.Dirs.Locks},
		boxes: mailbox.Mailboxes{Dirs: c.Dirs}, resume: c.Resume, observe: c.Observe, grace: cmp.Or(c.Grace, stopGrace), secrets: c.Redact, now: c.Now,
	}, nil
}

// Resolve looks the target up in the registry and probes nothing. A broken record
// is an error, because its target is not known. A second call looks again.
func (d *Activities) Resolve(_ context.Context, id dispatch.GardenID) (ResolveResult, error) {
	record, err := d.store.Address(id)
	if errors.Is(err, citizen.ErrUnknown) {
		return d.resolveRecordless(id), nil
	}
	if err != nil {
		return ResolveResult{}, report.Permanent(InvalidError, err)
	}
	if ours, ok := d.store.FindOurs(id); ok && d.store.IsOurs(record) && !ours.Alive() {
		return ResolveResult{Reject: dispatch.BadTarget, Diagnostic: fmt.Sprintf("it was %s, whose worker has ended", ours.Who())}, nil
	}
	to := ResolveResult{Backend: record.Backend, CWD: record.CWD}
	if record.Backend.Probed() {
		return to, nil
	}
	switch at := controlsocket.Inspect(d.dirs.Socket(id)); at.State {
	case controlsocket.Absent:
	case controlsocket.Unreadable:
		return to, fmt.Errorf("look for a socket of %s: %s", id, at.Code)
	default:
		return ResolveResult{Reject: dispatch.TargetAddressConflict, Diagnostic: fmt.Sprintf("the record says %s, but there is a %s at %s", record.Backend, at.State, d.dirs.Socket(id))}, nil
	}
	mail := d.boxes.Deliverability(record)
	to.Deliverable, to.Diagnostic = mail.Deliverable, mail.Reason
	if d.proberOf(record.Backend) != nil {
		to.Session = record.NativeSessionID
	}
	return to, nil
}

// proberOf returns the prober of a backend whose sessions have no control socket,
// or nil if this worker has none or does not resume such sessions.
func (d *Activities) proberOf(b dispatch.Backend) agent.Prober {
	r, _ := d.resume(b, false)
	p, _ := r.Adapter.(agent.Prober)
	return p
}

// resolveRecordless resolves a target without a record: either a session that listens and never
// registered, or no target at all.
func (d *Activities) resolveRecordless(id dispatch.GardenID) ResolveResult {
	if controlsocket.Inspect(d.dirs.Socket(id)).State == controlsocket.SocketFile {
		return ResolveResult{Backend: dispatch.Pi, Recordless: true}
	}
	return ResolveResult{Reject: dispatch.BadTarget}
}

// Lock takes the target's lock under the nonce. It first releases a lock that this process holds
// for an ended execution and that no activity uses. A second call with the same nonce returns the
// lock again.
func (d *Activities) Lock(ctx context.Context, c Lock) (LockResult, error) {
	run := activity.GetInfo(ctx).WorkflowExecution.RunID
	_, err := d.locks.Acquire(ctx, c.Target, c.Nonce)
	if taken, ok := errors.AsType[*gidlock.Conflict](err); ok && taken.Holder != nil && d.held.isAbandoned(c.Target, taken.Holder.Claim, run) {
		if _, err = d.locks.Release(ctx, c.Target, taken.Holder.Claim); err == nil {
			_, err = d.locks.Acquire(ctx, c.Target, c.Nonce)
		}
	}
	failpoint.Hit("desk.locked")
	if taken, ok := errors.AsType[*gidlock.Conflict](err); ok {
		return LockResult{Diagnostic: report.Summary(taken.Error())}, nil
	}
	if err != nil {
		return LockResult{}, err
	}
	d.held.addLock(c, run)
	path, err := d.locks.Path(c.Target)
	return LockResult{OK: true, Diagnostic: report.Summary(fmt.Sprintf("process %d took the lock %s", os.Getpid(), path))}, err
}

// Unlock releases the lock if the nonce holds it. A second call is a no-op.
func (d *Activities) Unlock(ctx context.Context, c Lock) error {
	_, err := d.locks.Release(ctx, c.Target, c.Nonce)
	failpoint.Hit("desk.unlocked")
	if err == nil {
		d.held.removeLock(c)
	}
	return err
}

// Look inspects the target's socket and probes it. A second call looks again.
func (d *Activities) Look(ctx context.Context, id dispatch.GardenID) (LookResult, error) {
	seen := controlsocket.Look(ctx, d.dirs.Socket(id))
	if err := ctx.Err(); err != nil {
		return LookResult{}, err // the look was cut off, and its result is not a fact
	}
	if seen.Conflict != "" {
		return LookResult{Conflict: true, Diagnostic: fmt.Sprintf("%s at %s", seen.Conflict, d.dirs.Socket(id))}, nil
	}
	return LookResult{Liveness: dispatch.LivenessOf(dispatch.Pi, seen.Liveness), Diagnostic: describeLookCode(seen.Code)}, nil
}

// describeLookCode returns the meaning of the code that a look returned.
func describeLookCode(code string) string {
	switch code {
	case "":
		return ""
	case "ENOENT":
		return "it has no control socket"
	case "ECONNREFUSED":
		return "nothing listens at its control socket"
	}
	return "its control socket: " + code
}

// Ask asks the session's own client whether the session runs. A second call asks
// again.
func (d *Activities) Ask(_ context.Context, n NativeSession) (LookResult, error) {
	p := d.proberOf(n.Backend)
	if p == nil {
		return LookResult{}, fmt.Errorf("this worker does not resume sessions of %s", n.Backend)
	}
	running, err := p.Running(n.Session)
	switch {
	case err != nil:
		return LookResult{Liveness: dispatch.Indeterminate, Diagnostic: report.Summary(err.Error())}, nil
	case running:
		return LookResult{Liveness: dispatch.Alive}, nil
	}
	return LookResult{Liveness: dispatch.Dead}, nil
}

// Trust reports whether a session may be resumed in the directory. A second call
// looks again.
func (d *Activities) Trust(_ context.Context, dir string) (TrustResult, error) {
	facts, err := trust.Look(d.dirs, dir)
	if err != nil {
		return TrustResult{}, report.Permanent(InvalidError, err)
	}
	v := trust.DecideLaunch(facts)
	return TrustResult{OK: v.Kind != trust.Deny, Approve: v.Kind == trust.Approve, Diagnostic: report.Summary(v.String())}, nil
}

// Deliver sends the message to the session at the target's socket. It must be called only once,
// because a second call sends the message again.
func (d *Activities) Deliver(ctx context.Context, l dispatch.Message) (DeliverResult, error) {
	mode := cmp.Or(l.Request.Mode, dispatch.FollowUp)
	defer d.markInUse(l.Request.Target)()
	failpoint.Hit("desk.before-deliver")
	as, err := controlsocket.Client{Path: d.dirs.Socket(l.Request.Target)}.Send(ctx, controlsocket.Message{
		Text: l.Request.Message, Mode: mode, Sender: &l.Sender, WantsReply: l.Request.WantsReply,
	})
	failpoint.Hit("desk.delivered")
	out := DeliverResult{Outcome: dispatch.Outcome{Kind: dispatch.Sent, Transport: dispatch.ControlSocket, DeliveredAs: as}}
	if err != nil {
		out.Outcome = dispatch.Outcome{Kind: dispatch.Unknown, Transport: dispatch.ControlSocket, Error: report.Summary(err.Error())}
	}
	if unsent, ok := errors.AsType[*controlsocket.NotSentError](err); ok {
		out.Outcome.Kind, out.Gone = dispatch.ExecutionFailed, unsent.Gone()
	}
	if refused, ok := errors.AsType[*controlsocket.RefusedError](err); ok {
		out.Outcome.Kind, out.Outcome.Error = dispatch.Rejected, report.Summary(refused.Said)
	}
	return out, nil
}

// Enqueue puts the message into the target's mailbox and rings the doorbell. A second call with the
// same message finds it there. With an error the outcome is nil, because the zero Outcome does not
// encode and would hide the error.
func (d *Activities) Enqueue(ctx context.Context, l dispatch.Message) (*dispatch.Outcome, error) {
	if err := d.checkDeliverable(ctx, l.Request.Target); err != nil {
		return nil, err
	}
	done, err := d.boxes.Enqueue(ctx, mailbox.Mail{
		To: l.Request.Target, ID: l.ID, Body: mailbox.Render(&l.Sender, l.Request.Message, l.Request.WantsReply, d.dirs.Home),
	})
	if err != nil {
		return nil, err
	}
	failpoint.Hit("desk.enqueued")
	return &dispatch.Outcome{Kind: dispatch.Enqueued, Transport: dispatch.MetaMailbox, Mail: filepath.Base(done.Message)}, nil
}

// deliverableFor is the time for which the knowledge that a mailbox is read stays valid.
const deliverableFor = time.Minute

// checkDeliverable returns an error if the target's mail is no longer read. It asks only if the
// activity was scheduled at least deliverableFor ago, as after a time without a worker.
func (d *Activities) checkDeliverable(ctx context.Context, id dispatch.GardenID) error {
	if d.now().Sub(activity.GetInfo(ctx).ScheduledTime) < deliverableFor {
		return nil
	}
	record, err := d.store.Address(id)
	if err != nil {
		return report.Permanent(InvalidError, err)
	}
	if mail := d.boxes.Deliverability(record); !mail.Deliverable {
		return report.Permanent(InvalidError, fmt.Errorf("no session reads the mail of %s any more: %s", id, mail.Reason))
	}
	return nil
}

// signalWorkflow signals the workflow of the activity.
func signalWorkflow(ctx context.Context, signal string, what any) error {
	info := activity.GetInfo(ctx)
	return activity.GetClient(ctx).SignalWorkflow(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID, signal, what)
}
