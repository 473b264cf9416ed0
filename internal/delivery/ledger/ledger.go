// Package ledger keeps the record of the deliveries into each session on disk: events.ndjson, with one line for each
// event of package delivery and the lines of the audit that the event caused (docs/contracts/delivery.md, 8). An
// activity writes it before a request is sent. The workflow is the truth. The ledger is for people, and is durable before
// the request.
package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/delivery"
	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// The errors about a ledger that is not written to. A person has to look at each of them.
var (
	ErrBehind   = errors.New("the ledger lacks entries")
	ErrDiverged = errors.New("the ledger records other deliveries")
	ErrDamaged  = errors.New("the ledger has an invalid line")
)

// Entry is one line. N counts from 1 without a gap, over the whole life of a session.
type Entry struct {
	N     int             `json:"n"`
	Event *delivery.Event `json:"event,omitempty"` // nil for a refusal of the gate, which changes nothing
	Audit []delivery.Line `json:"audit,omitempty"`
}

// UnmarshalJSON refuses unknown members.
func (e *Entry) UnmarshalJSON(b []byte) error {
	type plain Entry
	if err := exact.Decode(b, (*plain)(e)); err != nil {
		return fmt.Errorf("entry: %w", err)
	}
	if e.N < 1 {
		return fmt.Errorf("entry %d", e.N)
	}
	return nil
}

// Store holds the ledgers below one directory.
type Store struct{ dir string }

// In returns the ledgers of a runs directory. It makes nothing.
func In(runs string) Store { return Store{dir: filepath.Join(runs, "deliveries")} }

const (
	entriesFile = "events.ndjson"
	lockFile    = "lock"
	// maxLedger bounds what Read reads, and maxTail what Record compares. An entry with the largest batch has some
	// 100 KiB, and the entries of one call are few.
	maxLedger = 64 << 20
	maxTail   = 4 << 20
)

// sessionName matches the names that a session's directory can have.
var sessionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

func (s Store) sessionPath(session string) (string, error) {
	if !sessionName.MatchString(session) {
		return "", fmt.Errorf("session id %q: want 1 to 128 letters, digits, '.', '_' and '-'", session)
	}
	return filepath.Join(s.dir, session), nil
}

// Record makes the ledger hold the entries, durably, and appends those that it lacks. A second call with the same
// entries changes nothing. The error is ErrBehind if entries before the first one are missing, ErrDiverged if an entry
// was written with other words, and ErrDamaged if another program has written there; then nothing is written. A ledger
// that is not there at all begins with the first entry given, so that a person can put a damaged one aside.
func (s Store) Record(ctx context.Context, session string, entries []Entry) error {
	dir, err := s.sessionPath(session)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := file.Lock(ctx, filepath.Join(dir, lockFile))
	if err != nil {
		return err
	}
	defer unlock()
	f, err := openEntries(filepath.Join(dir, entriesFile))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := appendEntries(f, entries); err != nil {
		return fmt.Errorf("the ledger %s: %w", f.Name(), err)
	}
	return file.SyncDir(dir)
}

// openEntries opens the ledger and makes it if it is missing. It follows no link and waits for no pipe.
func openEntries(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, fmt.Errorf("open %s: %w", path, file.ErrIrregular)
	}
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, file.ErrIrregular), err, f.Close())
	}
	return f, nil
}

// appendEntries appends the entries that the file lacks. A last line that a crash has cut is overwritten.
func appendEntries(f *os.File, entries []Entry) error {
	end, have, err := readTail(f)
	if err != nil {
		return err
	}
	last := 0
	if len(have) > 0 {
		last = have[len(have)-1].n
	}
	if first := entries[0].N; last > 0 && first > last+1 {
		return fmt.Errorf("%w: it ends at %d instead of %d", ErrBehind, last, first)
	}
	var more []byte
	for i, e := range entries {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 && e.N != entries[i-1].N+1 {
			return fmt.Errorf("%w: entry %d follows %d", ErrBehind, e.N, entries[i-1].N)
		}
		if e.N > last {
			more = append(append(more, text...), '\n')
			continue
		}
		at := slices.IndexFunc(have, func(l line) bool { return l.n == e.N })
		if at >= 0 && !bytes.Equal(have[at].text, text) {
			return fmt.Errorf("%w: entry %d", ErrDiverged, e.N)
		}
	}
	if len(more) == 0 {
		return nil
	}
	return writeSynced(f, end, more)
}

func writeSynced(f *os.File, end int64, more []byte) error {
	if err := f.Truncate(end); err != nil {
		return err
	}
	half := len(more) / 2
	if _, err := f.WriteAt(more[:half], end); err != nil {
		return err
	}
	failpoint.Hit("delivery.half-ledger")
	if _, err := f.WriteAt(more[half:], end+int64(half)); err != nil {
		return err
	}
	return f.Sync()
}

// line is an entry as it stands in the file, without its line feed.
type line struct {
	n    int
	text []byte
}

// readTail returns the last whole lines, and the offset of the end of the last one.
func readTail(f *os.File) (end int64, have []line, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	from := max(info.Size()-maxTail, 0)
	b, err := io.ReadAll(io.NewSectionReader(f, from, maxTail))
	if err != nil {
		return 0, nil, err
	}
	if from > 0 { // the first line is cut
		cut := bytes.IndexByte(b, '\n') + 1
		if cut == 0 {
			return 0, nil, fmt.Errorf("%w: its last line has more than %d bytes", ErrDamaged, maxTail)
		}
		from, b = from+int64(cut), b[cut:]
	}
	end = from
	for text := range bytes.Lines(b) {
		if text[len(text)-1] != '\n' {
			break
		}
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil || len(have) > 0 && e.N != have[len(have)-1].n+1 {
			return 0, nil, fmt.Errorf("%w: after entry %d: %.60q", ErrDamaged, lastOf(have), text)
		}
		have = append(have, line{e.N, text[:len(text)-1]})
		end += int64(len(text))
	}
	return end, have, nil
}

func lastOf(have []line) int {
	if len(have) == 0 {
		return 0
	}
	return have[len(have)-1].n
}

// Read returns the entries of a session; none where there is no ledger. A last line that is being written, or that a
// crash has cut, is left out.
func (s Store) Read(session string) ([]Entry, error) {
	dir, err := s.sessionPath(session)
	if err != nil {
		return nil, err
	}
	b, err := file.Read(filepath.Join(dir, entriesFile), maxLedger)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for text := range bytes.Lines(b) {
		if text[len(text)-1] != '\n' {
			break
		}
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return entries, fmt.Errorf("%w: line %d of %s: %v", ErrDamaged, len(entries)+1, filepath.Join(dir, entriesFile), err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Sessions returns the sessions that have a ledger, sorted.
func (s Store) Sessions() ([]string, error) {
	names, err := file.Names(s.dir)
	return slices.DeleteFunc(names, func(name string) bool { return !sessionName.MatchString(name) }), err
}
