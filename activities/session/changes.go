package session

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// Retired is the result of Retire.
type Retired struct {
	Changes run.Ref `json:"changes,omitzero"` // the diff of the checkout; zero: none was made
	// Found is what the note on disk says of the last message: a turn may have been given up without a process.
	Found *session.Handed `json:"found,omitempty"`
}

// changesName is the name of the artifact that holds the last diff.
const changesName = "changes.patch"

// UnfitError is the type of the error of a checkout whose changes no diff can carry.
const UnfitError = "Unfit"

// Diff keeps the diff of the session's checkout as it is now. A second call reads again.
func (a *Activities) Diff(ctx context.Context, in session.Input) (run.Ref, error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "reads the changes"})
	defer stop()
	return a.keepChanges(ctx, a.Runs.Session(string(in.ID)), in)
}

// keepChanges keeps the diff. Without a checkout it is empty.
func (a *Activities) keepChanges(ctx context.Context, slot rundir.Slot, in session.Input) (run.Ref, error) {
	work, err := openCheckout(slot, in.Repository)
	if err != nil {
		return run.Ref{}, err
	}
	diff, err := work.Changes(ctx, patch.Limits{})
	if errors.Is(err, scratch.ErrNotMade) {
		diff, err = nil, nil
	}
	if _, unfit := errors.AsType[*scratch.UnfitError](err); unfit {
		return run.Ref{}, report.Permanent(UnfitError, err)
	}
	if err != nil {
		return run.Ref{}, err
	}
	return slot.Dir().Keep(changesName, a.Redact.Bytes(diff))
}

// Retire keeps the diff of the session's checkout and removes the checkout. Changes that no diff can carry
// keep it in its place. A second call finds the diff of the first.
func (a *Activities) Retire(ctx context.Context, in session.Input) (Retired, error) {
	_, stop := report.Heartbeat(ctx, report.Progress{Doing: "keeps the changes"})
	defer stop()
	slot := a.Runs.Session(string(in.ID))
	release, err := slot.Hold(ctx, func() {}, nil)
	if err != nil {
		return Retired{}, err
	}
	defer release()
	work, err := openCheckout(slot, in.Repository)
	if err != nil {
		return Retired{}, err
	}
	_, ref, _ := slot.Dir().Find(changesName) // of the first call, if there was a checkout
	if _, made := work.Made(); made {
		if ref, err = a.keepChanges(ctx, slot, in); err != nil {
			return Retired{}, err
		}
	}
	if err := work.Remove(ctx); err != nil { // its mark first, so that no later call reads the half of it
		return Retired{}, err
	}
	n, _ := loadNote(slot) // one that cannot be read holds up no retirement
	for _, name := range []string{"checkout", "home", "cache", "layers"} {
		err = errors.Join(err, git.RemoveTree(filepath.Join(slot.Path(), name)))
	}
	return Retired{Changes: ref, Found: n.Last}, err
}
