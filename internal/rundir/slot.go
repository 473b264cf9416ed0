package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// Slot is the directory of one agent session of a run. It holds the session's
// checkout and the note that a worker needs to continue the session. It is not part
// of the record.
type Slot struct{ dir *Dir }

// Agents returns the path of the directory that holds the slots of a run.
func (s *Store) Agents(id run.ID) string { return filepath.Join(s.dir, "agents", string(id)) }

// Slot returns the run's slot of that name. The first write makes its directory.
func (s *Store) Slot(id run.ID, name string) Slot {
	return Slot{s.dirAt(filepath.Join(s.Agents(id), name), s.Run(id).path)}
}

// Session returns the directory of a standing session, in the form of a slot. It holds the session's
// checkout, its note, and, other than a run's slot, its artifacts: see Slot.Dir.
func (s *Store) Session(id string) Slot {
	return Slot{s.dirAt(filepath.Join(s.dir, "sessions", id), "")}
}

// Dir returns the directory of the slot, for the files that are kept in it by digest.
func (s Slot) Dir() *Dir { return s.dir }

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

// Path returns the path of the slot's directory.
func (s Slot) Path() string { return s.dir.path }

const (
	noteName = "note.json"
	heldName = "held"
	wantName = "wanted" // a lock that all waiting processes share
)

// wantedPoll is the interval at which the holder of a slot checks for waiting processes.
const wantedPoll = 500 * time.Millisecond

// Note returns the note that SetNote wrote last; nil if it wrote none.
func (s Slot) Note() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(s.dir.path, noteName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// SetNote replaces the note. The note is on disk, and in the bucket, when SetNote returns.
func (s Slot) SetNote(note []byte) error {
	root, err := s.dir.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := replaceSynced(root, noteName, note); err != nil {
		return err
	}
	return s.dir.Publish()
}

// Hold takes the slot for this process until release is called. It waits for the
// slot until ctx ends. While it waits it calls held with the process that has the
// slot, as Take does. While this process has the slot and another one waits, wanted
// is called repeatedly.
func (s Slot) Hold(ctx context.Context, wanted func(), held func(pid int)) (release func(), err error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	lock, err := s.dir.Take(now, heldName, nil)
	if errors.Is(err, context.Canceled) {
		enough, err := s.wantSlot(ctx)
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
	stop := s.watchWanted(wanted)
	return func() { stop(); lock.Unlock() }, nil
}

// wantSlot lets the holder know that this process waits, until enough is called or this
// process dies.
func (s Slot) wantSlot(ctx context.Context) (enough func() error, err error) {
	f, err := s.dir.openBeside(wantName, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := file.WaitLock(ctx, f, unix.LOCK_SH); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// watchWanted calls wanted repeatedly while another process waits, until stop is called.
// stop does not wait for a running call of wanted, because wanted itself may call
// stop.
func (s Slot) watchWanted(wanted func()) (stop func()) {
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
			if s.isWanted() {
				wanted()
			}
		}
	}()
	return func() { close(done) }
}

// isWanted reports whether a living process waits.
func (s Slot) isWanted() bool {
	f, err := s.dir.openBeside(wantName, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}
