package citizen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Store is a directory of records. A nil Now and a nil Random mean the system's clock and
// randomness.
type Store struct {
	Dir    string
	Now    func() time.Time
	Random io.Reader
}

// The errors that callers branch on.
var (
	ErrUnknown      = errors.New("no such session")
	ErrDuplicate    = errors.New("more than one record has this native session id")
	ErrOtherBackend = errors.New("the native session belongs to another backend")
)

// BadRecord is an entry of the store that is not the record of a citizen.
type BadRecord struct {
	Name string // of the file
	Err  error
}

func (e *BadRecord) Error() string { return fmt.Sprintf("record %s: %v", e.Name, e.Err) }

// Unwrap returns the problem with the entry.
func (e *BadRecord) Unwrap() error { return e.Err }

// Path returns the path of a citizen's record.
func (s *Store) Path(id dispatch.GardenID) string {
	return filepath.Join(s.Dir, string(id)+recordSuffix)
}

// Find reads the record of a citizen. It returns ErrUnknown when there is none, and a *BadRecord
// when something else is in its place or the record cannot be read.
func (s *Store) Find(id dispatch.GardenID) (Record, error) {
	if err := id.Validate(); err != nil {
		return Record{}, err
	}
	r, err := s.readRecord(string(id) + recordSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return r, err
}

func (s *Store) readRecord(name string) (Record, error) {
	b, err := file.Read(filepath.Join(s.Dir, name), file.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, err
	}
	var r Record
	if err == nil {
		r, err = parseNamed(name, b)
	}
	if err != nil {
		return Record{}, &BadRecord{Name: name, Err: err}
	}
	return r, nil
}

// List reads every record, sorted by garden id, and returns an error for each bad entry. A broken
// entry hides no other. All records that claim the same native session are bad. A store that does
// not exist is empty. A store that cannot be read is an error.
func (s *Store) List() (good []Record, bad []*BadRecord, err error) {
	good, bad, err = s.scanRecords()
	if err != nil {
		return nil, nil, err
	}
	claims := make(map[string]int)
	for _, r := range good {
		claims[r.NativeSessionID]++
	}
	unique := good[:0]
	for _, r := range good {
		if claims[r.NativeSessionID] > 1 {
			err := fmt.Errorf("%w: %s", ErrDuplicate, r.NativeSessionID)
			bad = append(bad, &BadRecord{Name: string(r.GardenID) + recordSuffix, Err: err})
			continue
		}
		unique = append(unique, r)
	}
	return unique, bad, nil
}

// scanRecords is like List, but without the rule about native sessions.
func (s *Store) scanRecords() (good []Record, bad []*BadRecord, err error) {
	entries, err := os.ReadDir(s.Dir) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list the sessions: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), recordSuffix) {
			continue
		}
		r, err := s.readRecord(e.Name())
		if broken, ok := errors.AsType[*BadRecord](err); ok {
			bad = append(bad, broken)
		} else if err == nil { // else it has just been removed
			good = append(good, r)
		}
	}
	return good, bad, nil
}

// FindNative looks a native session up in the bodies of all records. It returns ErrUnknown when no
// record has it, ErrDuplicate when two have it, and ErrOtherBackend when its record is of another
// backend. It ignores bad entries; List returns them.
func (s *Store) FindNative(backend dispatch.Backend, native string) (Record, error) {
	records, _, err := s.scanRecords()
	if err != nil {
		return Record{}, err
	}
	return findNative(records, backend, native)
}

func findNative(records []Record, backend dispatch.Backend, native string) (Record, error) {
	if native == "" {
		return Record{}, errors.New("an empty native session id")
	}
	var found []Record
	for _, r := range records {
		if r.NativeSessionID == native {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 0:
		return Record{}, fmt.Errorf("native session %s: %w", native, ErrUnknown)
	case len(found) > 1:
		return Record{}, fmt.Errorf("native session %s: %w: %s and %s", native, ErrDuplicate, found[0].GardenID, found[1].GardenID)
	case found[0].Backend != backend:
		return Record{}, fmt.Errorf("native session %s: %w: %s is of %s, not %s", native, ErrOtherBackend, found[0].GardenID, found[0].Backend, backend)
	}
	return found[0], nil
}

// Address is Find for a dispatch. It also returns an error for a citizen whose native session
// another record claims, because the target of the dispatch would be ambiguous.
func (s *Store) Address(id dispatch.GardenID) (Record, error) {
	r, err := s.Find(id)
	if err != nil {
		return Record{}, err
	}
	if _, err := s.FindNative(r.Backend, r.NativeSessionID); err != nil && !errors.Is(err, ErrUnknown) {
		return Record{}, err
	}
	return r, nil
}
