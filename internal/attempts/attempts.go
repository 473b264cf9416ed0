// Package attempts distinguishes the dead workers of a host from stopped ones. Each attempt at an activity
// is a file. The file is locked for as long as its process lives, and holds the engine's token of
// the attempt. A free lock on a file with a token proves that the process is gone. A token is a key
// to its step: the directory is 0700, the files are 0600, and nothing else keeps tokens.
package attempts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
)

// Attempt is the content of its file.
type Attempt struct {
	Engine string    `json:"engine"` // the maker of the token: the id of a namespace
	Token  []byte    `json:"token"`
	PID    int       `json:"pid"`
	Began  time.Time `json:"began"`
}

// Store is the directory of the attempts of a host.
type Store struct{ dir string }

// Open makes the directory where it does not exist.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the attempts: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Held is an attempt of this process.
type Held struct{ file *os.File }

// Begin notes the attempt. Its file is locked before it has a content.
func (s *Store) Begin(a Attempt) (*Held, error) {
	content, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, uuid.NewString()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("note the attempt: %w", err)
	}
	h := &Held{f}
	if err = lock(f); err == nil {
		_, err = f.Write(content)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("note the attempt: %w", err), h.End())
	}
	failpoint.Hit("attempt.noted")
	return h, nil
}

// lock locks f without waiting.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// File returns the locked file. A process that inherits it holds the lock too.
func (h *Held) File() *os.File { return h.file }

// End removes the attempt, even if another process holds its lock.
func (h *Held) End() error { return errors.Join(os.Remove(h.file.Name()), h.file.Close()) }

// Dead calls report for each attempt whose process is gone, together with every process that
// inherited its lock. It removes the attempts that report settles. No other process sees an attempt
// as dead while it is reported.
func (s *Store) Dead(report func(Attempt) (settled bool)) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var wrong []error
	for _, e := range entries {
		if err := s.checkEntry(e, report); err != nil && !errors.Is(err, fs.ErrNotExist) { // else it has ended meanwhile
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// unwritten is the time for which a file may be empty before its process locks and writes it.
const unwritten = time.Minute

func (s *Store) checkEntry(e fs.DirEntry, report func(Attempt) bool) error {
	info, err := e.Info()
	if err != nil || info.Size() == 0 && time.Since(info.ModTime()) < unwritten {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, e.Name()), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := lock(f); errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if _, err := os.Lstat(f.Name()); err != nil {
		return err
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var a Attempt
	if json.Unmarshal(content, &a) == nil && !report(a) { // half a token is of no use
		return nil
	}
	return os.Remove(f.Name())
}
