package sessionruns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// wish is a run that the agent was permitted to start. It is in the ledger before anything of the run is made.
type wish struct {
	ID   run.ID     `json:"id"`
	Goal run.Digest `json:"goal"`
	// Base is the commit that the run begins at, also if it is started later.
	Base run.Commit `json:"base"`
	At   time.Time  `json:"at"`
	Name run.Name   `json:"name,omitempty"`
	// Branch is where its commits will be.
	Branch string `json:"branch,omitempty"`
	// Started says that the engine has the run, or had it. Without it the engine knows.
	Started bool `json:"started,omitempty"`
}

// ledger holds all wishes of a session, the oldest first.
type ledger struct {
	Runs []wish `json:"runs"`
}

// ledgerName is the name of the ledger in the session's directory, and maxLedger bounds its bytes.
const (
	ledgerName = "runs.json"
	maxLedger  = 1 << 20
)

// readLedger returns the ledger of a session; one that was never written is empty. One that cannot be read is an error:
// an empty one would let a run start twice.
func readLedger(dir string) (l ledger, err error) {
	b, err := file.Read(filepath.Join(dir, ledgerName), maxLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return l, fmt.Errorf("read the list of the session's runs: %w", err)
	}
	return l, nil
}

// find returns the wish with the id.
func (l ledger) find(id run.ID) (wish, bool) {
	i := slices.IndexFunc(l.Runs, func(w wish) bool { return w.ID == id })
	if i < 0 {
		return wish{}, false
	}
	return l.Runs[i], true
}

// keepWish replaces the wish with the same id, or adds it. It is on disk when keep returns.
func (s *served) keepWish(w wish) error {
	return s.changeLedger(func(l *ledger) {
		if i := slices.IndexFunc(l.Runs, func(old wish) bool { return old.ID == w.ID }); i >= 0 {
			l.Runs[i] = w
			return
		}
		l.Runs = append(l.Runs, w)
	})
}

// forgetWish removes a wish of which surely nothing came.
func (s *served) forgetWish(id run.ID) error {
	return s.changeLedger(func(l *ledger) { l.Runs = slices.DeleteFunc(l.Runs, func(w wish) bool { return w.ID == id }) })
}

func (s *served) changeLedger(change func(*ledger)) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	l, err := readLedger(s.Dir)
	if err != nil {
		return err
	}
	change(&l)
	b, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = file.Replace(filepath.Join(s.Dir, ledgerName), b)
	}
	if err != nil {
		return fmt.Errorf("keep the list of the session's runs: %w", err)
	}
	return nil
}
