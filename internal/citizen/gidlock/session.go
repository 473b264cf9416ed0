package gidlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// session is one call about one lock, while our other processes are kept out. Other programs may
// meanwhile create the lock where there is none, release their own, and, holding the marker,
// reclaim the lock of a dead process.
type session struct {
	id    dispatch.GardenID
	claim string
	path  string
	at    func(step string)
}

// step marks a point at which this process may be killed and others may act.
func (s *session) step(name string) {
	failpoint.Hit("gidlock." + name)
	if s.at != nil {
		s.at(name)
	}
}

func (s *session) readLock() (*Holder, error) { return readHolder(s.path, s.id) }

// retryCreate creates the lock once more after the lock that was there is gone.
func (s *session) retryCreate() (Lock, error) {
	h, err := s.createLock()
	if errors.Is(err, fs.ErrExist) {
		return Lock{}, s.takenConflict()
	}
	return Lock{Holder: h}, err
}

// haveAlready returns the lock that the claim already has, with this process in it.
func (s *session) haveAlready(there Holder) (Lock, error) {
	if there.isMine() {
		return Lock{Holder: there, Again: true}, nil
	}
	h, err := s.takeOver(there)
	return Lock{Holder: h, Again: true}, err
}

// takeOver writes this process into a lock of the claim's. It needs the marker, because the process
// in the lock may be dead and another program about to reclaim the lock.
func (s *session) takeOver(there Holder) (h Holder, err error) {
	err = s.withMarker(there, func() error {
		if h, err = s.newHolder(); err != nil {
			return err
		}
		h.CreatedAt = there.CreatedAt
		b, err := document.Line(h)
		if err != nil {
			return err
		}
		s.step("before-takeover")
		return file.Replace(s.path, b)
	})
	s.step("after-takeover")
	return h, err
}

// reclaimDead takes the lock of a dead process.
func (s *session) reclaimDead(dead Holder) (Lock, error) {
	var h Holder
	err := s.withMarker(dead, func() (err error) {
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.step("in-gap")
		h, err = s.createLock()
		if errors.Is(err, fs.ErrExist) {
			return s.takenConflict() // by another, in the gap
		}
		return err
	})
	return Lock{Holder: h}, err
}

func (s *session) releaseLock() (Released, error) {
	there, err := s.readLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent, nil
	case err != nil:
		return "", err
	case there == nil || there.Claim != s.claim:
		return NotOwned, nil
	case there.isMine():
		return s.removeLock()
	}
	var found Released
	err = s.withMarker(*there, func() (err error) {
		found, err = s.removeLock()
		return err
	})
	return found, err
}

func (s *session) removeLock() (Released, error) {
	s.step("before-release")
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	s.step("after-release")
	return Unlocked, err
}

// withMarker runs change if the lock is still the lock that was judged. Meanwhile the marker keeps
// other programs from reclaiming the lock. It removes the marker afterwards whatever happens. A
// marker that stays because this process was killed names the process, and the next of our
// processes that needs a marker removes it.
func (s *session) withMarker(judged Holder, change func() error) error {
	marker := s.path + ".reclaim"
	if err := s.makeMarker(marker); err != nil {
		return err
	}
	defer os.Remove(marker)
	s.step("marked")
	there, err := s.readLock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if there == nil || there.Nonce != judged.Nonce {
		return s.conflictWith(there)
	}
	return change()
}

// makeMarker makes the marker. Markers of other programs are empty and stay for a person to judge. A
// marker that a process of ours left behind is removed, which is safe because our processes make
// and remove markers one at a time.
func (s *session) makeMarker(marker string) error {
	h, err := s.newHolder()
	if err != nil {
		return err
	}
	b, err := document.Line(h)
	if err != nil {
		return err
	}
	err = file.Create(marker, b)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	left, err := readHolder(marker, s.id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if left != nil && (left.isDead() || left.isMine()) {
		if err := os.Remove(marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err = file.Create(marker, b)
	if errors.Is(err, fs.ErrExist) {
		there, _ := s.readLock()
		c := s.conflictWith(there)
		c.Detail = fmt.Sprintf("another process takes the lock over, or died doing so: %s%s; if none does, remove that file", marker, writtenSince(marker))
		return c
	}
	return err
}

// takenConflict returns the conflict with the holder that came first.
func (s *session) takenConflict() *Conflict {
	there, _ := s.readLock()
	return s.conflictWith(there)
}

func (s *session) conflictWith(there *Holder) *Conflict {
	c := &Conflict{LockPath: s.path, Holder: there}
	if there == nil {
		c.Detail = fmt.Sprintf("the file%s names no process that holds the lock; remove it when no message to the session is in progress", writtenSince(s.path))
		return c
	}
	space := ""
	if there.PIDSpace != "" && !there.isNear() {
		space = fmt.Sprintf(", counted in %s,", there.PIDSpace)
	}
	c.Detail = fmt.Sprintf("process %d%s on %s has held it since %s; the file%s may be removed when that process is gone",
		there.PID, space, there.Hostname, there.CreatedAt, writtenSince(s.path))
	return c
}

// writtenSince returns a phrase that says when a file was last written, empty if that cannot be seen.
func writtenSince(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return " of " + info.ModTime().UTC().Format(time.RFC3339)
}
