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
	"github.com/ratchet-dev/ratchet/internal/citizen/file"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// RingAgain rings the doorbell of every mailbox whose ring was lost: there is a
// fresh body in it that is older than that, which a doorbell would have renamed,
// nobody has rung for as long, and somebody is there to be woken. It returns
// whose they are. Another call within that time rings none of them again.
//
// A mailbox that cannot be looked at hides none of the others. A doorbell that
// was ringing after all finds nothing fresh the second time, and is silent.
func (m Mailboxes) RingAgain(ctx context.Context, older time.Duration) (rung []dispatch.GardenID, err error) {
	names, err := file.Names(m.Dirs.Mailboxes)
	if err != nil {
		return nil, fmt.Errorf("look for lost rings: %w", err)
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
			errs = append(errs, fmt.Errorf("ring for %s: %w", id, err))
		} else if again {
			rung = append(rung, id)
		}
	}
	return rung, errors.Join(errs...)
}

func (m Mailboxes) ringAgain(id dispatch.GardenID, older time.Duration) (bool, error) {
	b := m.box(id)
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
	return true, b.ring(m.now())
}

// lostRing says whether a body is fresh though it has been there for so long, and
// so has the last ring.
func (b box) lostRing(now time.Time, older time.Duration) (bool, error) {
	rung, err := past(b.signal(), now, older)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && !rung {
		return false, err
	}
	names, err := file.Names(b.dir)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !fresh(name) {
			continue
		}
		if lies, err := past(filepath.Join(b.dir, name), now, older); lies || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return lies, err
		}
	}
	return false, nil
}

// past says whether a file was last written so long before now. One of as long
// after now was written by a clock that says nothing, and counts too.
func past(path string, now time.Time, older time.Duration) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	return now.Sub(info.ModTime()).Abs() >= older, nil
}
