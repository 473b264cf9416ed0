package dispatch_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	activities "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// dispatching is one dispatch, and all that is to come of it.
type dispatching struct {
	name   string
	intent dispatch.Intent
	script script
	calls  string // in their order

	reason   dispatch.Reason   // of a reject
	observed dispatch.Liveness // at the receipt
	kind     dispatch.Kind     // of the outcome of what was accepted
	by       dispatch.Transport
	again    dispatch.Reason // of the second look
	final    dispatch.Kind   // what had happened when the release failed
	fails    bool            // there is no receipt
	locked   bool            // the lock stays
}

const (
	fire = dispatch.FireAndForget
	own  = dispatch.OwnedOutcome
)

// dispatchings are every path of a single dispatch (docs/contracts/dispatch.md, 6, 9, 10).
var dispatchings = []dispatching{
	// Before the lock.
	{name: "nobody", intent: fire, script: script{resolved: list(nobody)}, calls: "Resolve", reason: dispatch.BadTarget},
	{name: "a record and a socket that name two receivers", intent: own, script: script{resolved: list(twofold)}, calls: "Resolve", reason: dispatch.TargetAddressConflict},
	{name: "a record that is broken", intent: fire, script: script{failing: fails("Resolve", broken)}, calls: "Resolve", fails: true},
	{name: "a record that can be read at the third try", intent: fire, script: script{failing: fails("Resolve", shaky, goneOutcome)},
		calls: "Resolve Resolve Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Sent, by: dispatch.ControlSocket},
	{name: "a record that nobody can read", intent: fire, script: script{failing: fails("Resolve", slices.Repeat([]error{shaky}, 25)...)},
		calls: strings.TrimSpace(strings.Repeat("Resolve ", 25)), fails: true},
	{name: "a session without a record is not resumed", intent: own, script: script{resolved: list(recordless)}, calls: "Resolve", reason: dispatch.BadTarget},

	// Backends without a liveness: no lock.
	{name: "mail that is read", intent: fire, script: script{resolved: list(reading)}, calls: "Resolve Enqueue", observed: dispatch.Unsupported, kind: dispatch.Enqueued, by: dispatch.MetaMailbox},
	{name: "mail that nobody reads", intent: fire, script: script{resolved: list(away)}, calls: "Resolve", reason: dispatch.MailboxUndeliverable, observed: dispatch.Unsupported},
	{name: "the outcome of who reads mail", intent: own, script: script{resolved: list(reading)}, calls: "Resolve", reason: dispatch.BackendLivenessUnsupported, observed: dispatch.Unsupported},
	{name: "the outcome of who reads none", intent: own, script: script{resolved: list(away)}, calls: "Resolve", reason: dispatch.BackendLivenessUnsupported, observed: dispatch.Unsupported},
	{name: "a mailbox that needs a second try", intent: fire, script: script{resolved: list(reading), failing: fails("Enqueue", shaky)},
		calls: "Resolve Enqueue Enqueue", observed: dispatch.Unsupported, kind: dispatch.Enqueued, by: dispatch.MetaMailbox},
	{name: "a mailbox that is broken", intent: fire, script: script{resolved: list(reading), failing: fails("Enqueue", broken)},
		calls: "Resolve Enqueue", observed: dispatch.Unsupported, kind: dispatch.ExecutionFailed, by: dispatch.MetaMailbox},
	{name: "a mailbox that does not say", intent: fire, script: script{resolved: list(reading), failing: fails("Enqueue", slices.Repeat([]error{goneOutcome}, 25)...)},
		calls: "Resolve" + strings.Repeat(" Enqueue", 25), observed: dispatch.Unsupported, kind: dispatch.Unknown, by: dispatch.MetaMailbox},

	// The lock.
	{name: "a lock that somebody has", intent: fire, script: script{holder: "foreign"}, calls: "Resolve Lock", reason: dispatch.TargetLocked, locked: true},
	{name: "a lock that cannot be made", intent: fire, script: script{failing: fails("Lock", broken)}, calls: "Resolve Lock Unlock", fails: true},
	{name: "a lock whose worker dies", intent: fire, script: script{failing: fails("Lock", goneOutcome)},
		calls: "Resolve Lock Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Sent, by: dispatch.ControlSocket},
	{name: "a look that fails", intent: own, script: script{failing: fails("Look", broken)}, calls: "Resolve Lock Look Unlock", fails: true},
	{name: "a foreign file at the address", intent: own, script: script{seen: list(conflict)}, calls: "Resolve Lock Look Unlock", reason: dispatch.TargetAddressConflict},
	{name: "a reject whose release fails", intent: fire, script: script{seen: list(dead), failing: fails("Unlock", broken)}, calls: "Resolve Lock Look Unlock", fails: true, locked: true},
	{name: "a reject whose release needs a second try", intent: fire, script: script{seen: list(dead), failing: fails("Unlock", shaky)},
		calls: "Resolve Lock Look Unlock Unlock", reason: dispatch.DormantFireForgetUnsupported, observed: dispatch.Dead},
	{name: "a failed look whose release fails too", intent: fire, script: script{failing: map[string][]error{"Look": {broken}, "Unlock": {broken}}}, calls: "Resolve Lock Look Unlock", fails: true, locked: true},

	// The table.
	{name: "fire at who lives", intent: fire, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Sent, by: dispatch.ControlSocket},
	{name: "fire at who does not run", intent: fire, script: script{seen: list(dead)}, calls: "Resolve Lock Look Unlock", reason: dispatch.DormantFireForgetUnsupported, observed: dispatch.Dead},
	{name: "fire at who cannot be told", intent: fire, script: script{seen: list(unclear)}, calls: "Resolve Lock Look Unlock", reason: dispatch.IndeterminateNoSpawn, observed: dispatch.Indeterminate},
	{name: "own who lives", intent: own, calls: "Resolve Lock Look Unlock", reason: dispatch.OwnedLiveNoAutosend, observed: dispatch.Alive},
	{name: "own who does not run", intent: own, script: script{seen: list(dead), trust: activities.TrustResult{OK: true}},
		calls: "Resolve Lock Look Trust Own", observed: dispatch.Dead, kind: dispatch.Completed, by: dispatch.SpawnBg},
	{name: "own who cannot be told", intent: own, script: script{seen: list(unclear)}, calls: "Resolve Lock Look Unlock", reason: dispatch.IndeterminateNoSpawn, observed: dispatch.Indeterminate},
	{name: "fire at a session without a record", intent: fire, script: script{resolved: list(recordless)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Sent, by: dispatch.ControlSocket},
	{name: "fire at one that is gone", intent: fire, script: script{resolved: list(recordless), seen: list(dead)}, calls: "Resolve Lock Look Unlock", reason: dispatch.DormantFireForgetUnsupported, observed: dispatch.Dead},
	{name: "fire at one that cannot be told", intent: fire, script: script{resolved: list(recordless), seen: list(unclear)}, calls: "Resolve Lock Look Unlock", reason: dispatch.IndeterminateNoSpawn, observed: dispatch.Indeterminate},

	// Sending.
	{name: "the session refuses", intent: fire, script: script{delivered: list(refused)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket},
	{name: "the socket cannot be reached", intent: fire, script: script{delivered: list(unsent)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket},
	{name: "the session does not answer", intent: fire, script: script{delivered: list(dubious)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket},
	{name: "the worker dies while it sends", intent: fire, script: script{failing: fails("Deliver", goneOutcome)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket},
	{name: "the worker panics while it sends", intent: fire, script: script{failing: fails("Deliver", shaky)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket},
	{name: "no worker sends", intent: fire, script: script{delivered: list(unsent), failing: fails("Deliver", unstarted)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket},

	// The second look.
	{name: "gone, and back", intent: fire, script: script{delivered: list(nowhere, sent)}, calls: secondLook + "Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.FallbackSent, by: dispatch.ControlSocket},
	{name: "gone, and back to refuse", intent: fire, script: script{delivered: list(nowhere, refused)}, calls: secondLook + "Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket},
	{name: "gone twice", intent: fire, script: script{delivered: list(nowhere, nowhere)}, calls: secondLook + "Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket},
	{name: "gone, and back to be silent", intent: fire, script: script{delivered: list(nowhere, dubious)}, calls: secondLook + "Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket},
	{name: "gone, and the worker dies at the second try", intent: fire, script: script{delivered: list(nowhere, sent), failing: fails("Deliver", nil, goneOutcome)}, calls: secondLook + "Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket},
	{name: "gone with its record", intent: fire, script: script{resolved: list(aPi, nobody), delivered: list(nowhere)}, calls: secondLook + "Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.BadTarget},
	{name: "gone, and two receivers now", intent: fire, script: script{resolved: list(aPi, twofold), delivered: list(nowhere)}, calls: secondLook + "Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.TargetAddressConflict},
	{name: "gone, and a foreign file now", intent: fire, script: script{seen: list(alive, conflict), delivered: list(nowhere)}, calls: secondLook + "Look Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.TargetAddressConflict},
	{name: "gone for good", intent: fire, script: script{seen: list(alive, dead), delivered: list(nowhere)}, calls: secondLook + "Look Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.DormantFireForgetUnsupported},
	{name: "gone, and cannot be told", intent: fire, script: script{seen: list(alive, unclear), delivered: list(nowhere)}, calls: secondLook + "Look Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.IndeterminateNoSpawn},
	{name: "gone, and reads mail now", intent: fire, script: script{resolved: list(aPi, reading), delivered: list(nowhere)}, calls: secondLook + "Enqueue Unlock", observed: dispatch.Alive, kind: dispatch.FallbackSent, by: dispatch.MetaMailbox},
	{name: "gone, and its mail is not read", intent: fire, script: script{resolved: list(aPi, away), delivered: list(nowhere)}, calls: secondLook + "Unlock", observed: dispatch.Alive, kind: dispatch.Rejected, by: dispatch.ControlSocket, again: dispatch.MailboxUndeliverable},
	{name: "gone, and its mailbox is broken", intent: fire, script: script{resolved: list(aPi, reading), delivered: list(nowhere), failing: fails("Enqueue", broken)}, calls: secondLook + "Enqueue Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.MetaMailbox},
	{name: "gone, and its record is broken", intent: fire, script: script{delivered: list(nowhere), failing: fails("Resolve", nil, broken)}, calls: secondLook + "Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket},
	{name: "gone, and the look fails", intent: fire, script: script{delivered: list(nowhere), failing: fails("Look", nil, broken)}, calls: secondLook + "Look Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket},

	// Resuming.
	{name: "a directory that is not trusted", intent: own, script: script{seen: list(dead)}, calls: "Resolve Lock Look Trust Unlock", reason: dispatch.UntrustedFailFast, observed: dispatch.Dead},
	{name: "a trust store that is broken", intent: own, script: script{seen: list(dead), failing: fails("Trust", broken)}, calls: "Resolve Lock Look Trust Unlock", fails: true},
	resuming("it exits", script{ends: list(dispatch.Outcome{Kind: dispatch.ChildExited, Transport: dispatch.SpawnBg, ExitCode: new(1), Error: "1"})}, "", dispatch.ChildExited),
	resuming("its turn fails", script{ends: list(dispatch.Outcome{Kind: dispatch.TurnFailed, Transport: dispatch.SpawnBg, Error: "no"})}, "", dispatch.TurnFailed),
	resuming("it does not start", script{silent: true, ends: list(noStart)}, " Unlock", dispatch.StartFailed),
	resuming("it ends before it has the letter", script{ends: list(noStart)}, "", dispatch.StartFailed),
	stays(resuming("it is not seen to end", script{silent: true, ends: list(retained)}, "", dispatch.LockRetained)),
	resuming("its worker dies at the start", script{failing: fails("Own", goneOutcome)}, " Unlock", dispatch.Unknown),
	resuming("its worker dies later", script{own: dies}, "", dispatch.Unknown),
	resuming("no worker starts it", script{failing: fails("Own", unstarted)}, " Unlock", dispatch.StartFailed),

	// Sessions whose own client tells whether they run.
	{name: "fire at one that could be resumed", intent: fire, script: script{resolved: list(sleeping)}, calls: "Resolve Enqueue", observed: dispatch.Unsupported, kind: dispatch.Enqueued, by: dispatch.MetaMailbox},
	native("own one that runs", script{seen: list(alive)}, "Unlock", dispatch.OwnedLiveNoAutosend, dispatch.Alive),
	native("own one of which nobody can tell", script{seen: list(unclear)}, "Unlock", dispatch.IndeterminateNoSpawn, dispatch.Indeterminate),
	native("own one in a directory that is not trusted", script{}, "Trust Unlock", dispatch.UntrustedFailFast, dispatch.Dead),
	{name: "own one whose client cannot be asked", intent: own, script: script{resolved: list(sleeping), failing: fails("Ask", broken)}, calls: "Resolve Lock Ask Unlock", fails: true},
	waking("own one that does not run", script{}, dispatch.Completed),
	waking("own one whose turn fails", script{ends: list(dispatch.Outcome{Kind: dispatch.TurnFailed, Transport: dispatch.SpawnBg, Error: "no"})}, dispatch.TurnFailed),
	waking("own one whose worker dies", script{own: dies}, dispatch.Unknown),

	// A release that fails.
	{name: "sent, and the lock stays", intent: fire, script: script{failing: fails("Unlock", broken)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket, final: dispatch.Sent, locked: true},
	{name: "failed, and the lock stays", intent: fire, script: script{delivered: list(unsent), failing: fails("Unlock", broken)}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.ExecutionFailed, by: dispatch.ControlSocket, locked: true},
	{name: "gone, and the lock stays", intent: fire, script: script{failing: map[string][]error{"Deliver": {goneOutcome}, "Unlock": {broken}}}, calls: "Resolve Lock Look Deliver Unlock", observed: dispatch.Alive, kind: dispatch.Unknown, by: dispatch.ControlSocket, locked: true},
}

const secondLook = "Resolve Lock Look Deliver Resolve "

// resuming is a dispatch to a session that is resumed.
func resuming(name string, s script, then string, kind dispatch.Kind) dispatching {
	s.seen, s.trust = list(dead), activities.TrustResult{OK: true, Approve: true}
	return dispatching{
		name: name, intent: own, script: s, calls: "Resolve Lock Look Trust Own" + then,
		observed: dispatch.Dead, kind: kind, by: dispatch.SpawnBg,
	}
}

// native is a dispatch that is rejected for what a client tells of its session.
func native(name string, s script, then string, why dispatch.Reason, observed dispatch.Liveness) dispatching {
	s.resolved = list(sleeping)
	return dispatching{name: name, intent: own, script: s, calls: "Resolve Lock Ask " + then, reason: why, observed: observed}
}

// waking is one to a session that is resumed and that others do not reach.
func waking(name string, s script, kind dispatch.Kind) dispatching {
	d := resuming(name, s, "", kind)
	d.script.resolved, d.calls = list(sleeping), "Resolve Lock Ask Trust Own Unlock"
	return d
}

// stays is a dispatch after which the lock stays.
func stays(d dispatching) dispatching {
	d.locked = true
	return d
}

func dies(context.Context, activities.OwnedTurn) error { return goneOutcome }

func TestDispatch(t *testing.T) {
	for _, row := range dispatchings {
		t.Run(row.name, func(t *testing.T) { row.play(t, goneOutcome) })
	}
}

// A worker that another finds dead leaves what one leaves that is missed.
func TestDispatchWhoseWorkerIsFoundDead(t *testing.T) {
	for _, row := range dispatchings {
		t.Run(row.name, func(t *testing.T) { row.play(t, found) })
	}
}

// play takes the dispatch to its end in fake activities whose workers die so.
func (row dispatching) play(t *testing.T, death error) {
	t.Helper()
	fake := newFakeActivities(row.script)
	fake.death = death
	d := newTestTarget(t, fake)
	d.give(0, message("l-1", row.intent))
	served := d.serveMessage()
	if got := d.w.noted(); got != row.calls {
		t.Errorf("calls %s\nwant  %s", got, row.calls)
	}
	if stays := d.w.holder != ""; stays != row.locked {
		t.Errorf("the lock is %q's", d.w.holder)
	}
	if row.fails {
		if d.errs["l-1"] == nil || len(served.Ended) != 0 {
			t.Errorf("no error, and %d dispatches are kept", len(served.Ended))
		}
		return
	}
	row.verify(t, d.results["l-1"])
	if len(served.Ended) != 1 || served.Ended[0].ID != "l-1" {
		t.Errorf("kept %+v", served.Ended)
	}
}

// verify fails unless the result is that of the row.
func (row dispatching) verify(t *testing.T, res dispatch.Result) {
	t.Helper()
	r := res.Receipt
	if r.Reason() != row.reason || r.Observed() != row.observed || r.OK() != (row.kind != "") || (res.Outcome != nil) != r.OK() {
		t.Fatalf("%+v, outcome %+v", r, res.Outcome)
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
	if !r.OK() {
		return
	}
	out := *res.Outcome
	if out.Kind != row.kind || out.Transport != row.by || out.RejectReason != row.again {
		t.Errorf("%+v", out)
	}
	if out.ReleaseFailed != (row.final != "") || row.final != "" && out.Finalized.Kind != row.final {
		t.Errorf("finalized %+v", out.Finalized)
	}
}
