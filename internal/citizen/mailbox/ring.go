package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// RingAgain rings the doorbell of every mailbox whose ring was lost. A ring was lost if the mailbox
// has a fresh body older than that, which a doorbell would have renamed, if the last ring is as
// old, and if there is a session to wake. It returns the ids of their citizens. Another call within
// that time rings none of them again.
//
// A mailbox that cannot be inspected hides none of the others. A doorbell that was ringing after
// all finds nothing fresh the second time, and is silent.
func (m Mailboxes) RingAgain(ctx context.Context, older time.Duration) (rung []dispatch.GardenID, err error) {
	names, err := file.Names(m.Dirs.Mailboxes)
	if err != nil {
		return nil, fmt.Errorf("look for mail that was not announced: %w", err)
	}
	var errs []error
	for _, name := range names {
		if ctx.Err() != nil {
			return rung, errors.Join(append(errs, context.Cause(ctx))...)
		}
		id, err := dispatch.ParseGardenID(name)
		if err != nil {
			continue
		}
		again, err := m.ringAgain(id, older)
		if err != nil {
			errs = append(errs, fmt.Errorf("announce mail to %s: %w", id, err))
		} else if again {
			rung = append(rung, id)
		}
	}
	return rung, errors.Join(errs...)
}

func (m Mailboxes) ringAgain(id dispatch.GardenID, older time.Duration) (bool, error) {
	b := m.boxOf(id)
	lost, err := b.lostRing(m.now(), older)
	if err != nil || !lost {
		return false, err
	}
	store := citizen.Store{Dir: m.Dirs.Sessions}
	r, err := store.Find(id)
	if errors.Is(err, citizen.ErrUnknown) {
		return false, nil
	}
	if err != nil || !m.Deliverability(r).Deliverable {
		return false, err
	}
	return true, b.ringDoorbell(m.now())
}

// lostRing reports whether a fresh body and the last ring are both at least that old.
func (b box) lostRing(now time.Time, older time.Duration) (bool, error) {
	rung, err := writtenBefore(b.signalPath(), now, older)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !rung {
		return false, err
	}
	names, err := file.Names(b.dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !isFresh(name) {
			continue
		}
		if lies, err := writtenBefore(filepath.Join(b.dir, name), now, older); lies || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return lies, err
		}
	}
	return false, nil
}

// writtenBefore reports whether a file was last written at least that long before now. A file written as
// long after now counts too: the clock that wrote it says nothing.
func writtenBefore(path string, now time.Time, older time.Duration) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	return now.Sub(info.ModTime()).Abs() >= older, nil
}
