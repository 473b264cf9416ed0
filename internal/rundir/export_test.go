package rundir

import (
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Sealed folds the lines of the log that the recorders of this program wrote. It
// ignores lines that others have added since. Without a seal that fits the log,
// Sealed folds all lines.
func (d *Dir) Sealed() (*run.Snapshot, error) {
	j, err := d.openJournal()
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	defer j.closeFiles()
	b := j.b
	if covered := j.seal.linesCovered(j.lines); covered > 0 {
		b = j.b[:sizeOf(j.lines[:covered])]
	}
	events, err := eventsIn(b)
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("%s contains no events: it is not the directory of a run", d.path)
	}
	if err != nil {
		return nil, err
	}
	return d.foldEvents(events)
}

// Record is BeginRecord, and waits for the disk.
func (d *Dir) Record(e Entry) (Recorded, error) {
	out, onDisk, err := d.BeginRecord(e)
	if err == nil {
		err = onDisk()
	}
	return out, err
}
