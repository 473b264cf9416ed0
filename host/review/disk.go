package review

import (
	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Disk is the Record of a runs directory.
type Disk struct{ dir string }

// NewDisk returns the record of a runs directory.
func NewDisk(runsDir string) Disk { return Disk{filepath.Join(runsDir, "workflows")} }

// Load returns an artifact by its reference, whose digest it has.
func (d Disk) Load(id run.ID, ref run.Ref) ([]byte, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	dir, err := rundir.At(filepath.Join(d.dir, string(id)))
	if err != nil {
		return nil, err
	}
	return dir.Load(ref)
}
