package citizen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Record is the identity of a session that is a citizen. It never holds the state of its mail.
// Times are as they stand on disk.
type Record struct {
	Version         Version
	GardenID        dispatch.GardenID
	Backend         dispatch.Backend
	NativeSessionID string // the backend's own id; a key to look up, never an address
	CWD             string
	Model           string            // empty: not known
	TranscriptPath  string            // empty: not known
	ParentGardenID  dispatch.GardenID // empty: none
	IsEntwurf       bool
	CreatedAt       string
	UpdatedAt       string
}

// Version is the form that a record has on disk.
type Version int

// The versions. V1 is read and never written: attaching to such a record makes it a V2. V3 has no
// parent and no IsEntwurf. Installations of V3 refuse a store with records of any other version,
// and a store that has a V3 therefore gets more of them (docs/contracts/dispatch.md, 3 and 13).
const (
	V1 Version = 1
	V2 Version = 2
	V3 Version = 3
)

// form is a record as it is written, with its members in their order. A V3 has no parent and no
// IsEntwurf, not even null.
type form struct {
	SchemaVersion   Version           `json:"schemaVersion"`
	GardenID        dispatch.GardenID `json:"gardenId"`
	Backend         dispatch.Backend  `json:"backend"`
	NativeSessionID string            `json:"nativeSessionId"`
	CWD             string            `json:"cwd"`
	Model           *string           `json:"model"`
	TranscriptPath  *string           `json:"transcriptPath"`
	ParentGardenID  any               `json:"parentGardenId,omitempty"`
	IsEntwurf       *bool             `json:"isEntwurf,omitempty"`
	CreatedAt       string            `json:"createdAt"`
	RecordUpdatedAt string            `json:"recordUpdatedAt"`
}

var (
	keysV3 = []string{
		"schemaVersion", "gardenId", "backend", "nativeSessionId", "cwd", "model", "transcriptPath",
		"createdAt", "recordUpdatedAt",
	}
	keysV2 = append([]string{"parentGardenId", "isEntwurf"}, keysV3...)
)

// ParseRecord reads a record of any version. It returns an error for input that is not exactly a
// record, and uses nothing of it.
func ParseRecord(b []byte) (Record, error) {
	o, err := document.Parse(b)
	if err != nil {
		return Record{}, err
	}
	r := Record{Version: Version(o.Int("schemaVersion"))}
	if err := o.Err(); err != nil {
		return Record{}, err
	}
	r.readCommon(o)
	switch r.Version {
	case V1:
		r.readV1(o)
	case V2:
		o.Only(keysV2...)
		r.readLater(o)
		r.readParent(o)
	case V3:
		o.Only(keysV3...)
		r.readLater(o)
	default:
		return Record{}, fmt.Errorf("schemaVersion %d: want 1, 2 or 3", r.Version)
	}
	if err := o.Err(); err != nil {
		return Record{}, err
	}
	return r, nil
}

// readCommon reads the members that every version has.
func (r *Record) readCommon(o *document.Object) {
	o.Word("gardenId", &r.GardenID)
	o.Word("backend", &r.Backend)
	r.NativeSessionID = o.Text("nativeSessionId")
	r.CWD = o.Text("cwd")
	r.CreatedAt = o.Text("createdAt")
}

func (r *Record) readLater(o *document.Object) {
	r.Model = o.Nullable("model")
	r.TranscriptPath = o.Nullable("transcriptPath")
	r.UpdatedAt = o.Text("recordUpdatedAt")
}

func (r *Record) readParent(o *document.Object) {
	r.IsEntwurf = o.Flag("isEntwurf")
	if o.Nullable("parentGardenId") != "" {
		o.Word("parentGardenId", &r.ParentGardenID)
	}
}

// readV1 accepts other members, as the first version did. V1 had no pi, and kept the state of the
// mailbox in a member of its own, whose wake mode has to be the backend's.
func (r *Record) readV1(o *document.Object) {
	r.TranscriptPath = o.Text("transcriptPath")
	r.UpdatedAt = o.Text("lastSeen")
	if r.Backend == dispatch.Pi {
		o.Refuse("backend", "version 1 has no pi")
	}
	if !o.Has("delivery") {
		return
	}
	if delivery := o.Object("delivery"); delivery != nil && delivery.Text("wakeMode") != string(r.Backend.Capability()) {
		o.Refuse("delivery", "its wakeMode does not fit the backend")
	}
}

// Marshal returns the record as it stands on disk; a V1 becomes a V2. It returns an error for a
// record that could not be read again.
func (r Record) Marshal() ([]byte, error) {
	b, err := document.Marshal(r.wireForm())
	if err != nil {
		return nil, err
	}
	if _, err := ParseRecord(b); err != nil {
		return nil, fmt.Errorf("record %s: %w", r.GardenID, err)
	}
	return b, nil
}

func (r Record) wireForm() form {
	f := form{
		SchemaVersion: V3, GardenID: r.GardenID, Backend: r.Backend, NativeSessionID: r.NativeSessionID, CWD: r.CWD,
		Model: document.Nullable(r.Model), TranscriptPath: document.Nullable(r.TranscriptPath),
		CreatedAt: r.CreatedAt, RecordUpdatedAt: r.UpdatedAt,
	}
	if r.Version != V3 {
		f.SchemaVersion, f.ParentGardenID, f.IsEntwurf = V2, document.Nullable(string(r.ParentGardenID)), &r.IsEntwurf
	}
	return f
}

// recordSuffix ends the name of every record's file; the garden id is before it.
const recordSuffix = ".meta.json"

// parseNamed reads a record from a file with that name. The body is the authority; a name that
// contradicts it is ErrDrift.
func parseNamed(name string, b []byte) (Record, error) {
	r, err := ParseRecord(b)
	if err != nil {
		return Record{}, err
	}
	if string(r.GardenID) != strings.TrimSuffix(name, recordSuffix) {
		return Record{}, fmt.Errorf("%w: the body says %s", ErrDrift, r.GardenID)
	}
	return r, nil
}

// ErrDrift reports a record whose file is named for another citizen.
var ErrDrift = errors.New("name and body of the record do not agree")
