// Package marker holds the two notes that a session's own hooks leave about the process that runs
// it (docs/contracts/dispatch.md, 3, 5 and 12). The sender marker tells the process's children
// which citizen they are. The receiver marker says that mail would wake a session. A note counts
// only while the process that it names runs; the record stays the authority.
package marker

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// ErrStale reports a marker whose process has ended, or whose process number belongs to another
// process.
var ErrStale = errors.New("the process that the marker names is gone")

// Citizen identifies the citizen of a marker. The marker counts only if the citizen's record has
// the same three values.
type Citizen struct {
	GardenID        dispatch.GardenID
	Backend         dispatch.Backend
	NativeSessionID string
}

// Owner is the process that runs the session.
type Owner struct {
	PID      int
	StartKey string
}

// OwnerOf returns the running process with that number.
func OwnerOf(pid int) Owner { return Owner{PID: pid, StartKey: process.StartKey(pid)} }

func (o Owner) validate() error {
	if !process.Plausible(o.PID) {
		return fmt.Errorf("process %d cannot own a session", o.PID)
	}
	return nil
}

// checkAlive returns ErrStale unless this process still runs. A zombie does not run: in a container it may stay one for
// ever.
func (o Owner) checkAlive() error {
	if err := o.validate(); err != nil {
		return err
	}
	if !process.Runs(o.PID, o.StartKey) {
		return fmt.Errorf("%w: %d", ErrStale, o.PID)
	}
	return nil
}

// Sender is the marker in <senders>/<backend>/<pid>.json.
type Sender struct {
	Citizen
	CWD       string
	Owner     Owner
	UpdatedAt string
}

type senderForm struct {
	Backend         dispatch.Backend  `json:"backend"`
	GardenID        dispatch.GardenID `json:"gardenId"`
	NativeSessionID string            `json:"nativeSessionId"`
	CWD             string            `json:"cwd"`
	OwnerPID        int               `json:"ownerPid"`
	OwnerStartKey   string            `json:"ownerStartKey"`
	UpdatedAt       string            `json:"updatedAt"`
}

// SenderPath returns the path of the sender marker of a process.
func SenderPath(dir string, b dispatch.Backend, pid int) string {
	return filepath.Join(dir, string(b), strconv.Itoa(pid)+".json")
}

// ReadSender reads a sender marker. It returns an error unless the process that the marker names
// runs and is the process that the file is named for. Otherwise a caller that looks for the marker
// of one process would read the marker of another.
func ReadSender(path string) (Sender, error) {
	o, err := openMarker(path)
	if err != nil {
		return Sender{}, err
	}
	m := Sender{Citizen: readCitizen(o), Owner: readOwner(o), CWD: o.Text("cwd"), UpdatedAt: o.Text("updatedAt")}
	err = checkMarker(o, m.Backend, m.Owner)
	if err == nil {
		err = m.checkPath(path)
	}
	if err != nil {
		return Sender{}, fmt.Errorf("sender marker %s: %w", path, err)
	}
	return m, nil
}

// checkPath returns an error if path is not the path of the process's marker.
func (m Sender) checkPath(path string) error {
	if dir := filepath.Dir(filepath.Dir(path)); filepath.Clean(path) != SenderPath(dir, m.Backend, m.Owner.PID) {
		return fmt.Errorf("it belongs to process %d of %s", m.Owner.PID, m.Backend)
	}
	return nil
}

// WriteSender makes m the marker of its process. A second call replaces it.
func WriteSender(dir string, m Sender, now time.Time) error {
	form := senderForm{
		m.Backend, m.GardenID, m.NativeSessionID, m.CWD, m.Owner.PID, m.Owner.StartKey, document.Stamp(now),
	}
	return writeMarker(SenderPath(dir, m.Backend, m.Owner.PID), form, m.Citizen, m.Owner)
}

// Provenance is the event of the session that armed the watch on its mailbox.
type Provenance string

// The events that can arm a watch. A prompt of the user's cannot, and makes no receiver.
const (
	SessionStart Provenance = "session-start"
	CwdChanged   Provenance = "cwd-changed"
	FileChanged  Provenance = "file-changed"
)

// UnmarshalText returns an error for an event that cannot arm a watch.
func (p *Provenance) UnmarshalText(b []byte) error {
	switch Provenance(b) {
	case SessionStart, CwdChanged, FileChanged:
		*p = Provenance(b)
		return nil
	}
	return fmt.Errorf("the event %q does not start a watch", b)
}

// ClaudeCodeCLI is the kind of owner that a receiver has when none is given.
const ClaudeCodeCLI = "claude-code-cli"

// Receiver is the marker in <receivers>/<gid>.json.
type Receiver struct {
	Citizen
	Owner      Owner
	OwnerKind  string // empty: ClaudeCodeCLI
	Provenance Provenance
	UpdatedAt  string
}

type receiverForm struct {
	GardenID        dispatch.GardenID `json:"gardenId"`
	Backend         dispatch.Backend  `json:"backend"`
	NativeSessionID string            `json:"nativeSessionId"`
	OwnerPID        int               `json:"ownerPid"`
	OwnerStartKey   string            `json:"ownerStartKey"`
	OwnerKind       string            `json:"ownerKind"`
	ArmProvenance   Provenance        `json:"armProvenance"`
	UpdatedAt       string            `json:"updatedAt"`
}

// ReceiverPath returns the path of the receiver marker of a citizen.
func ReceiverPath(dir string, id dispatch.GardenID) string {
	return filepath.Join(dir, string(id)+".json")
}

// ReadReceiver reads a receiver marker. It returns an error unless the process that the marker
// names runs.
func ReadReceiver(dir string, id dispatch.GardenID) (Receiver, error) {
	path := ReceiverPath(dir, id)
	o, err := openMarker(path)
	if err != nil {
		return Receiver{}, err
	}
	m := Receiver{Citizen: readCitizen(o), Owner: readOwner(o), OwnerKind: o.Text("ownerKind"), UpdatedAt: o.Text("updatedAt")}
	o.Word("armProvenance", &m.Provenance)
	if err := checkMarker(o, m.Backend, m.Owner); err != nil {
		return Receiver{}, fmt.Errorf("receiver marker %s: %w", path, err)
	}
	return m, nil
}

// WriteReceiver makes m the marker of its citizen. A second call replaces it. It returns an error
// for a provenance that arms no watch.
func WriteReceiver(dir string, m Receiver, now time.Time) error {
	var p Provenance
	if err := p.UnmarshalText([]byte(m.Provenance)); err != nil {
		return fmt.Errorf("receiver marker of %s: %w", m.GardenID, err)
	}
	m.OwnerKind = cmp.Or(m.OwnerKind, ClaudeCodeCLI)
	form := receiverForm{
		m.GardenID, m.Backend, m.NativeSessionID, m.Owner.PID, m.Owner.StartKey, m.OwnerKind, p, document.Stamp(now),
	}
	return writeMarker(ReceiverPath(dir, m.GardenID), form, m.Citizen, m.Owner)
}

func openMarker(path string) (*document.Object, error) {
	b, err := file.Read(path, file.MaxDocument)
	if err != nil {
		return nil, err
	}
	o, err := document.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("marker %s: %w", path, err)
	}
	return o, nil
}

func readCitizen(o *document.Object) (c Citizen) {
	o.Word("gardenId", &c.GardenID)
	o.Word("backend", &c.Backend)
	c.NativeSessionID = o.Text("nativeSessionId")
	return c
}

func readOwner(o *document.Object) Owner {
	return Owner{PID: o.Int("ownerPid"), StartKey: o.Text("ownerStartKey")}
}

// checkMarker returns the errors of reading a marker. Backends with a socket have no markers.
func checkMarker(o *document.Object, b dispatch.Backend, owner Owner) error {
	if b.Probed() {
		o.Refuse("backend", fmt.Sprintf("%s has no markers", b))
	}
	if err := o.Err(); err != nil {
		return err
	}
	return owner.checkAlive()
}

// writeMarker refuses a marker that a reader would never accept. It does not refuse a marker whose
// process has ended meanwhile.
func writeMarker(path string, form any, c Citizen, o Owner) error {
	var unknown error
	if b := c.Backend; b.Capability() == "" || b.Probed() {
		unknown = fmt.Errorf("backend %q has no markers", b)
	}
	var nameless error
	if c.NativeSessionID == "" || o.StartKey == "" {
		nameless = errors.New("no native session or no start key")
	}
	if err := errors.Join(c.GardenID.Validate(), o.validate(), unknown, nameless); err != nil {
		return fmt.Errorf("write marker: %w", err)
	}
	b, err := document.Marshal(form)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Replace(path, b)
}
