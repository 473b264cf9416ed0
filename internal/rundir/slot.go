package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
	noteName   = "note.json"
	heldName   = "held"
	wantedName = "wanted"
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
// ctx ends. While somebody else waits, wanted is called, and called again.
func (s Slot) Hold(ctx context.Context, wanted func()) (release func(), err error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	unlock, err := s.dir.Lock(now, heldName)
	if errors.Is(err, context.Canceled) {
		if err := s.dir.replace(wantedName, nil); err != nil {
			return nil, err
		}
		unlock, err = s.dir.Lock(ctx, heldName)
	}
	if err != nil {
		return nil, err
	}
	name := filepath.Join(s.dir.path, wantedName)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		unlock()
		return nil, err
	}
	stop := watch(name, wanted)
	return func() { stop(); unlock() }, nil
}

// watch calls wanted while the file is there, until stop, which waits for no
// call under way: wanted may be what stops.
func watch(name string, wanted func()) (stop func()) {
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
			if _, err := os.Lstat(name); err == nil {
				wanted()
			}
		}
	}()
	return func() { close(done) }
}
