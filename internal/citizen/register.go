package citizen

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Birth holds the known facts about a session when it becomes a citizen.
type Birth struct {
	// GardenID is for a session that is addressed by an id made before it, as pi is. If it is
	// empty, an id is made.
	GardenID dispatch.GardenID
	Backend  dispatch.Backend
	// NativeSessionID is the backend's own id. Empty means the garden id, which pi's sessions have.
	NativeSessionID string
	CWD             string
	Model           string
	TranscriptPath  string
	IsEntwurf       bool

	about *dispatch.About // a session of ours: its note is written before its record
}

// mintings is the number of ids that are tried. Each second has 24 random bits.
const mintings = 8

// ErrTaken reports that another record has the native session, or the garden id that was asked for.
var ErrTaken = errors.New("already registered")

// Register writes the record of a session that has none, and updates the record of one that has. It
// never replaces another entry on disk. If a made id is taken, it makes another. If an id that was
// asked for is taken, it returns ErrTaken. A second call with the same birth only updates the time of
// the record. Register looks for the native session, or for the garden id where the native session id
// is the garden id.
func (s *Store) Register(ctx context.Context, b Birth) (Record, error) {
	unlock, records, err := s.lockAndList(ctx)
	if err != nil {
		return Record{}, fmt.Errorf("register a session: %w", err)
	}
	defer unlock()
	native := b.nativeID()
	if native == "" {
		return s.createRecord(records, b)
	}
	r, err := findNative(records, b.Backend, native)
	switch {
	case errors.Is(err, ErrUnknown):
		return s.createRecord(records, b)
	case err != nil:
		return Record{}, err
	case b.GardenID != "" && r.GardenID != b.GardenID:
		return Record{}, fmt.Errorf("native session %s: %w: %s", native, ErrTaken, r.GardenID)
	}
	if b.about != nil {
		if err := s.keepOurs(r.GardenID, *b.about); err != nil {
			return Record{}, err
		}
	}
	return s.attachTo(r, b)
}

// nativeID returns the id that the session is looked up by. It is empty when that will be the garden
// id still to be made.
func (b Birth) nativeID() string { return cmp.Or(b.NativeSessionID, string(b.GardenID)) }

// Remove takes a citizen out of the registry. Removing it again does nothing. A bad entry stays,
// because it is not known to be that citizen.
func (s *Store) Remove(ctx context.Context, id dispatch.GardenID) error {
	unlock, _, err := s.lockAndList(ctx)
	if err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	defer unlock()
	if _, err := s.Find(id); err != nil {
		if errors.Is(err, ErrUnknown) {
			return nil
		}
		return err
	}
	return errors.Join(os.Remove(s.Path(id)), file.SyncDir(s.Dir))
}

// lockName is a file of ours in the store. The other programs do not lock. They ignore the file,
// because it is not named like a record.
const lockName = ".ratchet.lock"

// lockAndList makes the store, keeps our other processes from changing it, removes files that killed
// processes left, and reads the records.
func (s *Store) lockAndList(ctx context.Context) (unlock func(), records []Record, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, nil, err
	}
	unlock, err = file.Lock(ctx, filepath.Join(s.Dir, lockName))
	if err != nil {
		return nil, nil, err
	}
	file.Sweep(s.Dir)
	records, _, err = s.scanRecords()
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return unlock, records, nil
}

func (s *Store) createRecord(records []Record, b Birth) (Record, error) {
	r := Record{
		Version: versionOfNew(records), GardenID: b.GardenID, Backend: b.Backend, NativeSessionID: b.NativeSessionID,
		CWD: b.CWD, Model: b.Model, TranscriptPath: b.TranscriptPath, IsEntwurf: b.IsEntwurf, CreatedAt: document.Stamp(s.now()),
	}
	r.UpdatedAt = r.CreatedAt
	for range mintings {
		err := s.mintIDs(&r, b)
		if err == nil {
			err = s.writeWithNote(r, b)
		}
		switch {
		case err == nil:
			return r, nil
		case !errors.Is(err, fs.ErrExist):
			return Record{}, fmt.Errorf("create a session record: %w", err)
		case b.GardenID != "":
			return Record{}, fmt.Errorf("garden id %s: %w", b.GardenID, ErrTaken)
		}
	}
	return Record{}, fmt.Errorf("create a session record: %d garden ids in a row were taken", mintings)
}

// versionOfNew returns the version of new records: V3 where the store has a V3, otherwise V2.
func versionOfNew(records []Record) Version {
	for _, r := range records {
		if r.Version == V3 {
			return V3
		}
	}
	return V2
}

// mintIDs gives the record the ids that its birth leaves open.
func (s *Store) mintIDs(r *Record, b Birth) error {
	if b.GardenID == "" {
		var tag [3]byte
		if _, err := io.ReadFull(s.random(), tag[:]); err != nil {
			return err
		}
		r.GardenID = dispatch.NewGardenID(s.now(), tag)
	}
	if b.NativeSessionID == "" {
		r.NativeSessionID = string(r.GardenID)
	}
	return nil
}

// writeWithNote writes the record, and before it the note of a session of ours: no record of ours is ever without.
func (s *Store) writeWithNote(r Record, b Birth) error {
	if b.about == nil {
		return s.writeRecord(r)
	}
	if err := s.keepOurs(r.GardenID, *b.about); err != nil {
		return err
	}
	if err := s.writeRecord(r); err != nil {
		return errors.Join(err, s.removeOurs(r.GardenID))
	}
	return nil
}

func (s *Store) writeRecord(r Record) error {
	b, err := r.Marshal()
	if err != nil {
		return err
	}
	failpoint.Hit("citizen.before-create")
	if err := file.Create(s.Path(r.GardenID), b); err != nil {
		return err
	}
	failpoint.Hit("citizen.after-create")
	return file.SyncDir(s.Dir)
}

// attachTo updates a record with a later sighting of its session. A fact that the birth does not know
// stays unchanged.
func (s *Store) attachTo(r Record, b Birth) (Record, error) {
	r.CWD = b.CWD
	r.UpdatedAt = document.Stamp(s.now())
	r.Model = cmp.Or(b.Model, r.Model)
	r.TranscriptPath = cmp.Or(b.TranscriptPath, r.TranscriptPath)
	r.IsEntwurf = r.IsEntwurf || b.IsEntwurf
	r.Version = max(r.Version, V2)
	text, err := r.Marshal()
	if err != nil {
		return Record{}, err
	}
	failpoint.Hit("citizen.before-attach")
	if err := file.Replace(s.Path(r.GardenID), text); err != nil {
		return Record{}, fmt.Errorf("attach to %s: %w", r.GardenID, err)
	}
	return r, file.SyncDir(s.Dir)
}

func (s *Store) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s *Store) random() io.Reader {
	if s.Random == nil {
		return rand.Reader
	}
	return s.Random
}
