package rundir

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// change is what a segment says of one file.
type change struct {
	Path  string `json:"path"`         // in the record, or in notesDir
	At    int    `json:"at,omitempty"` // the bytes continue the file from there on; zero: they are the file
	Bytes []byte `json:"bytes,omitempty"`
	Gone  bool   `json:"gone,omitempty"`
}

// view is the files of a record as the segments say them; nil: the file is gone.
type view map[string][]byte

// grows reports whether the file is only appended to, except by a repair.
func grows(name string) bool { return name == eventsFile || isLog(name) || isCount(name) }

func isLog(name string) bool   { return strings.HasPrefix(name, "logs/") }
func isCount(name string) bool { return strings.HasPrefix(name, locksDir+"/") }

// apply takes over a change. Hosts that have worked on the run at one moment may each have continued a file from the same
// place: no line of a log is lost by that, and the longer list of events counts.
func (v view) apply(c change) {
	if !fs.ValidPath(c.Path) {
		return
	}
	old, at := v[c.Path], min(c.At, len(v[c.Path]))
	next := append(bytes.Clone(old[:at]), c.Bytes...)
	switch {
	case c.Gone:
		v[c.Path] = nil
		return
	case c.At > 0 && bytes.HasPrefix(old, next), isLog(c.Path) && bytes.HasPrefix(old, next):
		return
	case isLog(c.Path) && !bytes.HasPrefix(next, old):
		next = append(bytes.Clone(old), c.Bytes...)
	}
	v[c.Path] = next
	if isArtifact(c.Path) {
		v[path.Join(artifactsDir, digestDir, string(run.DigestOf(next)))] = next
	}
}

// isArtifact reports whether the file has its digest as a second name.
func isArtifact(name string) bool {
	return strings.HasPrefix(name, artifactsDir+"/") && !isDigest(name)
}

func isDigest(name string) bool { return strings.HasPrefix(name, artifactsDir+"/"+digestDir+"/") }

// changesTo returns the changes that lead to the files on a disk.
func (v view) changesTo(disk view) (list []change) {
	for name, b := range disk {
		old, there := v[name]
		switch {
		case isDigest(name), there && old != nil && bytes.Equal(old, b):
		case grows(name) && len(old) > 0 && bytes.HasPrefix(b, old):
			list = append(list, change{Path: name, At: len(old), Bytes: b[len(old):]})
		default:
			list = append(list, change{Path: name, Bytes: append([]byte{}, b...)})
		}
	}
	for name, b := range v {
		if _, there := disk[name]; b != nil && !there && (isCount(name) || strings.HasPrefix(name, notesDir+"/")) {
			list = append(list, change{Path: name, Gone: true})
		}
	}
	return list
}

// wantsOnDisk reports whether the disk has to take the file over: it does not continue what the segments say.
func (v view) wantsOnDisk(name string, disk view) bool {
	have, there := disk[name]
	switch want := v[name]; {
	case want == nil:
		return there
	case !there:
		return true
	case grows(name):
		return !bytes.HasPrefix(have, want)
	case name == sealFile || name == stateFile || name == factsFile: // they belong to the events
		return !bytes.Equal(have, want) && (len(disk[eventsFile]) <= len(v[eventsFile]) || !bytes.HasPrefix(disk[eventsFile], v[eventsFile]))
	default:
		return !bytes.Equal(have, want)
	}
}

// maxSegment bounds the bytes that a segment unfolds to.
const maxSegment = 1 << 30

func encodeSegment(list []change) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		err = json.NewEncoder(zip).Encode(list)
	}
	if err == nil {
		err = zip.Close()
	}
	return b.Bytes(), err
}

func decodeSegment(b []byte) (list []change, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(zip, maxSegment)).Decode(&list)
	}
	if err != nil {
		err = fmt.Errorf("a segment of the record cannot be read: %w", err)
	}
	return list, err
}
