// Package gidlock is the lock of one citizen on disk, which keeps every program
// of this host, not only ours, from dispatching to it at the same time (docs/contracts/dispatch.md, 7). There is no time after which a lock is free: only the lock of a
// process that is certainly dead is taken over, and only on its own host.
//
// A lock is ours by its claim, a name that the dispatch keeps through restarts
// of the program. It cannot be ours by its nonce, as it is for others: when the
// process that took the lock has died, the lock has to name a living one before
// somebody reclaims it, and a program that has judged the dead one looks at the
// nonce alone to see whether the lock still is the same. So each process that
// takes over writes a new nonce under the old claim. The claim and what tells
// our process from a later one with its number are further members of the
// holder, which other programs pass over.
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
	"github.com/ratchet-dev/ratchet/internal/citizen/file"
	"github.com/ratchet-dev/ratchet/internal/citizen/process"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Locks is a directory of locks.
type Locks struct {
	Dir string

	at func(step string) // told of every step, so that a test can do what others may do there
}

// Holder is what a lock says, in the order of the file.
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

// owner marks a lock as one of this protocol.
const owner = "entwurf_v2"

// Conflict is a lock that another dispatch has, or that nobody can tell from one.
type Conflict struct {
	LockPath string  `json:"lockPath"`
	Holder   *Holder `json:"holder"` // nil when the file does not say
	Detail   string  `json:"detail"` // for the person who may have to remove it
}

func (c *Conflict) Error() string { return fmt.Sprintf("locked: %s: %s", c.LockPath, c.Detail) }

// Lock is a lock that is ours.
type Lock struct {
	Holder
	// Again says that the claim had it before this call. After a crash, a lock
	// that was not had again was free for a while, or somebody else's.
	Again bool
}

// Path is where the lock of a citizen lies. It refuses what is no garden id.
func (l Locks) Path(id dispatch.GardenID) (string, error) {
	if err := id.Validate(); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	return filepath.Join(l.Dir, string(id)+".lock"), nil
}

// Acquire takes the lock of a citizen for a claim, or a *Conflict. It does not
// wait for a holder. A second call with the same claim has it again, whichever
// of our processes made the first one and whether that one still runs: the lock
// then names the process of the second. So a claim belongs to one dispatch, and
// nothing else may use it. The claim too meets a *Conflict while another program
// is reclaiming the lock of its dead process, which is then lost or free again.
func (l Locks) Acquire(ctx context.Context, id dispatch.GardenID, claim string) (Lock, error) {
	s, leave, err := l.enter(ctx, id, claim)
	if err != nil {
		return Lock{}, err
	}
	defer leave()
	h, err := s.create()
	if err == nil {
		return Lock{Holder: h}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return Lock{}, fmt.Errorf("lock %s: %w", id, err)
	}
	s.step("exists")
	there, err := s.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.retry() // its holder has just released it
	case err != nil:
		return Lock{}, fmt.Errorf("lock %s: %w", id, err)
	case there == nil:
		return Lock{}, s.conflict(nil)
	case there.Claim == claim:
		return s.have(*there)
	case there.dead():
		return s.reclaim(*there)
	}
	return Lock{}, s.conflict(there)
}

// Released is what a release found.
type Released string

// What a release found. Only Unlocked changed anything.
const (
	Unlocked Released = "released"
	NotOwned Released = "not-owned"
	Absent   Released = "absent"
)

// Release removes the lock if it is the claim's. A second call finds it Absent,
// or NotOwned when somebody has it by then.
func (l Locks) Release(ctx context.Context, id dispatch.GardenID, claim string) (Released, error) {
	s, leave, err := l.enter(ctx, id, claim)
	if err != nil {
		return "", err
	}
	defer leave()
	found, err := s.release()
	if err != nil {
		return "", fmt.Errorf("unlock %s: %w", id, err)
	}
	return found, nil
}

// Holds says whether the lock on disk is the claim's. It looks and changes
// nothing.
func (l Locks) Holds(id dispatch.GardenID, claim string) (bool, error) {
	path, err := l.Path(id)
	if err != nil {
		return false, err
	}
	there, err := read(path, id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return there != nil && claim != "" && there.Claim == claim, err
}

// enter makes the directory and keeps our other processes out of it, for the few
// files that one call touches.
func (l Locks) enter(ctx context.Context, id dispatch.GardenID, claim string) (*session, func(), error) {
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

// holder is what a lock of this process says.
func (s *session) holder() (Holder, error) {
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

// mine says whether the lock names this very process.
func (h Holder) mine() bool {
	return h.near() && h.PID == os.Getpid() && process.Is(h.PID, h.StartKey)
}

// dead says whether the holder certainly is: there is no process of its number,
// or, where the lock is one of ours, the number is a later one's by now.
func (h Holder) dead() bool {
	return h.near() && (process.Gone(h.PID) || h.PIDSpace == process.Space() && process.Replaced(h.PID, h.StartKey))
}

// near says whether the holder's number can be looked up here: that of another
// host or of another space says nothing. A lock of another program names no
// space and is taken to count in ours.
func (h Holder) near() bool {
	host, err := os.Hostname()
	return err == nil && h.Hostname == host && (h.PIDSpace == "" || h.PIDSpace == process.Space())
}

// read is the holder of a lock or of a marker, nil when the file does not name
// one: it is empty, garbage, for another citizen, not a file.
func read(path string, id dispatch.GardenID) (*Holder, error) {
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

func (s *session) create() (Holder, error) {
	h, err := s.holder()
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
