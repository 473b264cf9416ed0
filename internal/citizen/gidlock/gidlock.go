// Package gidlock locks one citizen on disk. The lock keeps every program of this host, not only
// ours, from dispatching to the citizen at the same time (docs/contracts/dispatch.md, 7). No lock
// expires: a process takes over only the lock of a process that is certainly dead, and only on its
// own host.
//
// A lock is ours by its claim, a name that the dispatch keeps through restarts of the program.
// Other programs own a lock by its nonce, which does not work here: when the process that took the
// lock has died, the lock must name a living process before another program reclaims it, and a
// program that has judged the dead process compares the nonce alone to see whether the lock is
// unchanged. Each process that takes over therefore writes a new nonce under the old claim. The
// holder has further members, which other programs ignore: the claim, and the keys that tell our
// process from a later one with the same number.
package gidlock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// Locks is a directory of locks.
type Locks struct {
	Dir string

	at func(step string) // called at every step; a test acts there as other programs may
}

// Holder is the content of a lock, in the order of the file.
type Holder struct {
	GardenID  dispatch.GardenID `json:"gardenId"`
	PID       int               `json:"pid"`
	Hostname  string            `json:"hostname"`
	CreatedAt string            `json:"createdAt"`
	Nonce     string            `json:"nonce"` // 16 hex digits
	Owner     string            `json:"owner"`
	LockPath  string            `json:"lockPath"`

	// StartKey, PIDSpace and Claim are ours; empty in the locks of others.
	StartKey string `json:"ownerStartKey,omitempty"`
	PIDSpace string `json:"ownerPidSpace,omitempty"`
	Claim    string `json:"claim,omitempty"`
}

// owner marks a lock of this protocol.
const owner = "entwurf_v2"

// Conflict reports a lock that another dispatch has, or a file that cannot be told from such a
// lock.
type Conflict struct {
	LockPath string  `json:"lockPath"`
	Holder   *Holder `json:"holder"` // nil when the file names none
	Detail   string  `json:"detail"` // for the person who may have to remove it
}

func (c *Conflict) Error() string { return fmt.Sprintf("locked: %s: %s", c.LockPath, c.Detail) }

// Lock is a lock that is ours.
type Lock struct {
	Holder
	// Again reports that the claim had the lock before this call. After a crash, a lock without
	// Again was free for a while, or another dispatch had it.
	Again bool
}

// Path returns the path of a citizen's lock. It returns an error if id is not a garden id.
func (l Locks) Path(id dispatch.GardenID) (string, error) {
	if err := id.Validate(); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	return filepath.Join(l.Dir, string(id)+".lock"), nil
}

// Acquire takes the lock of a citizen for a claim, or returns a *Conflict. It does not wait for a
// holder. A second call with the same claim gets the lock again, whichever of our processes made
// the first call and whether or not that process still runs; the lock then names the process of the
// second call. A claim therefore belongs to one dispatch, and nothing else may use it. Acquire also
// returns a *Conflict to the claim itself while another program is reclaiming the lock of the
// claim's dead process; the lock is then lost or free again.
func (l Locks) Acquire(ctx context.Context, id dispatch.GardenID, claim string) (Lock, error) {
	s, leave, err := l.openSession(ctx, id, claim)
	if err != nil {
		return Lock{}, err
	}
	defer leave()
	h, err := s.createLock()
	if err == nil {
		return Lock{Holder: h}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return Lock{}, fmt.Errorf("lock %s: %w", id, err)
	}
	s.step("exists")
	there, err := s.readLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.retryCreate() // its holder has just released it
	case err != nil:
		return Lock{}, fmt.Errorf("lock %s: %w", id, err)
	case there == nil:
		return Lock{}, s.conflictWith(nil)
	case there.Claim == claim:
		return s.haveAlready(*there)
	case there.isDead():
		return s.reclaimDead(*there)
	}
	return Lock{}, s.conflictWith(there)
}

// Released is the result of a release.
type Released string

// The results of a release. Only Unlocked changed anything.
const (
	Unlocked Released = "released"
	NotOwned Released = "not-owned"
	Absent   Released = "absent"
)

// Release removes the lock if it is the claim's. A second call returns Absent, or NotOwned when
// another dispatch has the lock by then.
func (l Locks) Release(ctx context.Context, id dispatch.GardenID, claim string) (Released, error) {
	s, leave, err := l.openSession(ctx, id, claim)
	if err != nil {
		return "", err
	}
	defer leave()
	found, err := s.releaseLock()
	if err != nil {
		return "", fmt.Errorf("unlock %s: %w", id, err)
	}
	return found, nil
}

// openSession makes the directory and keeps our other processes out of it while one call touches its few
// files.
func (l Locks) openSession(ctx context.Context, id dispatch.GardenID, claim string) (*session, func(), error) {
	path, err := l.Path(id)
	if err != nil {
		return nil, nil, err
	}
	if claim == "" {
		return nil, nil, fmt.Errorf("lock %s: no claim", id)
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", id, err)
	}
	leave, err := file.Lock(ctx, filepath.Join(l.Dir, ".ratchet.lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", id, err)
	}
	file.Sweep(l.Dir)
	return &session{id: id, claim: claim, path: path, at: l.at}, leave, nil
}

// newHolder returns the content of a lock of this process.
func (s *session) newHolder() (Holder, error) {
	host, err := os.Hostname()
	if err != nil {
		return Holder{}, err
	}
	nonce := make([]byte, 8)
	rand.Read(nonce) // never fails
	pid := os.Getpid()
	return Holder{
		GardenID: s.id, PID: pid, Hostname: host, CreatedAt: document.Stamp(time.Now()), Nonce: hex.EncodeToString(nonce),
		Owner: owner, LockPath: s.path, StartKey: process.StartKey(pid), PIDSpace: process.Space(), Claim: s.claim,
	}, nil
}

// isMine reports whether the lock names this very process.
func (h Holder) isMine() bool {
	return h.isNear() && h.PID == os.Getpid() && process.Is(h.PID, h.StartKey)
}

// isDead reports whether the holder is certainly dead: no process has its number, or, in a lock of
// ours, a later process has the number by now, or the process has ended and is not waited for.
func (h Holder) isDead() bool {
	return h.isNear() && (process.Gone(h.PID) || h.PIDSpace == process.Space() && h.hasEnded())
}

// hasEnded reports whether the process with the holder's number is a later one, or has ended.
func (h Holder) hasEnded() bool {
	return process.Replaced(h.PID, h.StartKey) || process.Is(h.PID, h.StartKey) && !process.Runs(h.PID, h.StartKey)
}

// isNear reports whether the holder's number can be looked up here. A number of another host or of
// another space says nothing. A lock of another program names no space and is taken to count in
// ours.
func (h Holder) isNear() bool {
	host, err := os.Hostname()
	return err == nil && h.Hostname == host && (h.PIDSpace == "" || h.PIDSpace == process.Space())
}

// readHolder returns the holder of a lock or of a marker. It returns nil when the file does not name one:
// it is empty, garbage, for another citizen, or not a file.
func readHolder(path string, id dispatch.GardenID) (*Holder, error) {
	b, err := file.Read(path, file.MaxDocument)
	if errors.Is(err, file.ErrIrregular) || errors.Is(err, file.ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := document.Parse(b)
	if err != nil {
		return nil, nil
	}
	h := Holder{
		GardenID: dispatch.GardenID(o.Text("gardenId")), PID: o.Int("pid"), Hostname: o.Text("hostname"),
		CreatedAt: o.Text("createdAt"), Nonce: o.Text("nonce"), Owner: o.Text("owner"), LockPath: path,
		StartKey: o.Optional("ownerStartKey"), PIDSpace: o.Optional("ownerPidSpace"), Claim: o.Optional("claim"),
	}
	if o.Err() != nil || h.GardenID != id || h.Owner != owner {
		return nil, nil
	}
	return &h, nil
}

func (s *session) createLock() (Holder, error) {
	h, err := s.newHolder()
	if err != nil {
		return Holder{}, err
	}
	b, err := document.Line(h)
	if err != nil {
		return Holder{}, err
	}
	s.step("before-create")
	if err := file.Create(s.path, b); err != nil {
		return Holder{}, err
	}
	s.step("after-create")
	return h, nil
}
