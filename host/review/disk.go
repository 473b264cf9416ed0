package review

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Disk is the Record of a runs directory.
type Disk struct {
	dir string

	mu   sync.Mutex
	all  string // what MarkAll has seen
	seen time.Time
}

// NewDisk returns the record of a runs directory.
func NewDisk(runsDir string) *Disk { return &Disk{dir: filepath.Join(runsDir, "workflows")} }

func (d *Disk) runPath(id run.ID) string { return filepath.Join(d.dir, string(id)) }

// Load returns an artifact by its reference, whose digest it has.
func (d *Disk) Load(id run.ID, ref run.Ref) ([]byte, error) {
	dir, err := d.openRun(id)
	if err != nil {
		return nil, err
	}
	return dir.Load(ref)
}

func (d *Disk) openRun(id run.ID) (*rundir.Dir, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	return rundir.At(d.runPath(id))
}

// Mark returns size and time of the run's log, which a worker writes before each step and each wait.
func (d *Disk) Mark(id run.ID) string {
	if id.Validate() != nil {
		return ""
	}
	return markOf(filepath.Join(d.runPath(id), "state.json"))
}

func markOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// recent is the age up to which a run's record is looked at each time: one that has not changed for longer is looked at
// when its directory is read anew.
const readAnew = 100 * time.Millisecond

// MarkAll returns a value that changes whenever the state of a run does. Callers at once share one look.
func (d *Disk) MarkAll() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); d.all == "" || now.Sub(d.seen) > readAnew {
		d.all, d.seen = d.readMarks(), now
	}
	return d.all
}

// readMarks looks at the state of every run. The newest change names the whole: a worker replaces the file.
func (d *Disk) readMarks() string {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return "none"
	}
	var newest time.Time
	names := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		names++
		if info, err := os.Stat(filepath.Join(d.dir, e.Name(), "state.json")); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return fmt.Sprintf("%d-%d", names, newest.UnixNano())
}
