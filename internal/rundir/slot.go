package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Slot is where one agent session of a run lives: its checkout, and what a
// worker must know to go on with it. It is no part of the record.
type Slot struct{ dir *Dir }

// Agents holds the slots of a run.
func (s *Store) Agents(id run.ID) string { return filepath.Join(s.dir, "agents", string(id)) }

// Slot is the run's slot of that name; its directory is made by the first write.
func (s *Store) Slot(id run.ID, name string) Slot {
	return Slot{&Dir{path: filepath.Join(s.Agents(id), name)}}
}

// Slots lists the names of the run's slots.
func (s *Store) Slots(id run.ID) ([]string, error) {
	entries, err := os.ReadDir(s.Agents(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Path is the slot's directory.
func (s Slot) Path() string { return s.dir.path }

const (
	noteName = "note.json"
	heldName = "held"
	wanting  = "wanted-" // and an id: one for each that waits, locked by it
)

// wantedPoll is how often the holder of a slot looks whether it is wanted.
const wantedPoll = 500 * time.Millisecond

// Note is what SetNote wrote last; nil when it never did.
func (s Slot) Note() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(s.dir.path, noteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// SetNote replaces the note; it is on disk when SetNote returns.
func (s Slot) SetNote(note []byte) error { return s.dir.replace(noteName, note) }

// Hold takes the slot for this process until release, and waits for it until
// ctx ends: meanwhile held is called with the process that has it, as by Take.
// Once it is ours, wanted is called, and called again, while somebody else waits.
func (s Slot) Hold(ctx context.Context, wanted func(), held func(pid int)) (release func(), err error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	lock, err := s.dir.Take(now, heldName, nil)
	if errors.Is(err, context.Canceled) {
		enough, err := s.want()
		if err != nil {
			return nil, err
		}
		defer enough()
		lock, err = s.dir.Take(ctx, heldName, held)
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	stop := s.watch(wanted)
	return func() { stop(); lock.Unlock() }, nil
}

// want tells the holder that somebody waits, until enough is called or this
// process dies.
func (s Slot) want() (enough func(), err error) {
	name := filepath.Join(s.dir.path, wanting+uuid.NewString())
	f, err := os.CreateTemp(s.dir.path, ".wants-*")
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(f.Name(), name) // it is seen locked, or not at all
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return func() {
		os.Remove(name) // what is left is known by its lock, which is free
		f.Close()
	}, nil
}

// watch calls wanted while somebody waits, until stop, which waits for no call
// under way: wanted may be what stops.
func (s Slot) watch(wanted func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(wantedPoll)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if s.wanted() {
				wanted()
			}
		}
	}()
	return func() { close(done) }
}

// wanted says whether anybody who lives waits, and removes what the dead left.
func (s Slot) wanted() bool {
	names, _ := filepath.Glob(filepath.Join(s.dir.path, wanting+"*"))
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue // it waits no more
		}
		free := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
		if free {
			os.Remove(name)
		}
		f.Close()
		if !free {
			return true
		}
	}
	return false
}
