package mailbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// State is the content of state.json: the times of the last events, as they stand on disk, empty
// for never. No program writes LastDelivered; the package keeps it as it is.
type State struct {
	GardenID      dispatch.GardenID `json:"gardenId"`
	LastEnqueued  string            `json:"lastEnqueuedAt,omitempty"`
	LastDelivered string            `json:"lastDeliveredAt,omitempty"`
	LastRead      string            `json:"lastReadAt,omitempty"`
}

// Stamp is a member of the state.
type Stamp string

// The stamps.
const (
	LastEnqueued  Stamp = "lastEnqueuedAt"
	LastDelivered Stamp = "lastDeliveredAt"
	LastRead      Stamp = "lastReadAt"
)

type stateForm struct {
	SchemaVersion   int               `json:"schemaVersion"`
	GardenID        dispatch.GardenID `json:"gardenId"`
	LastEnqueuedAt  *string           `json:"lastEnqueuedAt"`
	LastDeliveredAt *string           `json:"lastDeliveredAt"`
	LastReadAt      *string           `json:"lastReadAt"`
}

const stateVersion = 1

func (b box) statePath() string { return filepath.Join(b.dir, "state.json") }

// readState reads the state. It returns an error for a file that is not exactly a state.
func (b box) readState() (State, error) {
	raw, err := file.Read(b.statePath(), file.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return State{GardenID: b.id}, nil
	}
	var s State
	if err == nil {
		s, err = parseState(raw)
	}
	if err == nil && s.GardenID != b.id {
		err = fmt.Errorf("it belongs to %s", s.GardenID)
	}
	if err != nil {
		return State{}, fmt.Errorf("state of mailbox %s: %w", b.id, err)
	}
	return s, nil
}

func parseState(raw []byte) (s State, err error) {
	o, err := document.Parse(raw)
	if err != nil {
		return State{}, err
	}
	o.Only("schemaVersion", "gardenId", string(LastEnqueued), string(LastDelivered), string(LastRead))
	if v := o.Int("schemaVersion"); v != stateVersion {
		o.Refuse("schemaVersion", fmt.Sprintf("%d: want %d", v, stateVersion))
	}
	o.Word("gardenId", &s.GardenID)
	s.LastEnqueued = o.Nullable(string(LastEnqueued))
	s.LastDelivered = o.Nullable(string(LastDelivered))
	s.LastRead = o.Nullable(string(LastRead))
	return s, o.Err()
}

// stampState sets one member of the state to now. The caller has locked the mailbox.
func (b box) stampState(which Stamp, now time.Time) error {
	s, err := b.readState()
	if err != nil {
		return err
	}
	switch at := document.Stamp(now); which {
	case LastEnqueued:
		s.LastEnqueued = at
	case LastRead:
		s.LastRead = at
	default:
		return fmt.Errorf("state of mailbox %s: no field for %q", b.id, which)
	}
	raw, err := document.Marshal(stateForm{
		stateVersion, b.id, document.Nullable(s.LastEnqueued), document.Nullable(s.LastDelivered), document.Nullable(s.LastRead),
	})
	if err != nil {
		return err
	}
	failpoint.Hit("mailbox.before-stamp")
	return file.Replace(b.statePath(), raw)
}
