package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// kind is the kind of the lines that the log loses.
type kind string

const (
	foreign    kind = "foreign" // no recorder of this program wrote them
	superseded kind = "reset"   // they belong to an old course of the workflow
	late       kind = "late"    // no lines are lost: the entry is old
)

// The bounds of the bytes that are set aside. Beyond them the loss is only logged.
const (
	maxAside  = 16 << 20
	maxAsides = 99 // files of one kind
)

// aside holds the bytes that the log loses, and the reason.
type aside struct {
	kind  kind
	b     []byte
	from  int  // number of the first replaced event; zero: the bytes only followed the last event
	short bool // bytes that had been written are gone
	odd   bool // the object with the log's name is not a plain file
}

// Aside describes a defect of the log that was found and fixed.
type Aside struct {
	File string `json:"file,omitempty"` // file beside the log with the bytes that it lost
	Why  string `json:"why"`
}

func (a aside) reasonText() string {
	var why []string
	if a.odd {
		why = append(why, eventsFile+" was not a plain file")
	}
	if a.short {
		why = append(why, "written lines were missing")
	}
	switch {
	case len(a.b) == 0:
	case a.kind == superseded:
		why = append(why, fmt.Sprintf("the workflow has other events from %s on", run.EventID(a.from)))
	case a.from > 0:
		why = append(why, fmt.Sprintf("the lines from %s on were changed after the worker wrote them", run.EventID(a.from)))
	default:
		why = append(why, fmt.Sprintf("another program appended %d bytes", len(a.b)))
	}
	return strings.Join(why, "; ")
}

// setAside keeps the bytes that the log loses in a file of their own, and logs it.
// It returns nil if the log has no defect.
func (d *Dir) setAside(j *journal, a aside) (*Aside, error) {
	why := a.reasonText()
	if why == "" {
		return nil, nil
	}
	out := &Aside{Why: why}
	var err error
	if a.odd {
		out.File, err = j.moveAside(a.kind)
	} else if len(a.b) > 0 {
		out.File, err = j.copyAside(a.kind, a.b[:min(len(a.b), maxAside)])
	}
	if err != nil {
		return nil, fmt.Errorf("set aside: %w", err)
	}
	level := Error
	if a.kind == superseded {
		level = Info
	}
	return out, d.Log("record", level, "mended", out)
}

// moveAside renames the object in the log's place. It removes the object if no name
// is free.
func (j *journal) moveAside(k kind) (string, error) {
	name, err := j.freeName(k)
	if err != nil || name == "" {
		return "", errors.Join(err, j.root.RemoveAll(eventsFile))
	}
	return name, j.root.Rename(eventsFile, name)
}

// copyAside writes the bytes to a file. It writes nothing if the last file of the
// kind holds the same bytes: then a crash came between that write and the mending of
// the log.
func (j *journal) copyAside(k kind, b []byte) (string, error) {
	names := listAsides(j.root.FS(), k)
	if len(names) > 0 {
		last := names[len(names)-1]
		if old, err := readPlain(j.root, last); err == nil && bytes.Equal(old, b) {
			return last, nil
		}
	}
	name, err := j.freeName(k)
	if err != nil || name == "" {
		return "", err
	}
	return name, replaceSynced(j.root, name, b)
}

// freeName returns the next name for a file of the kind; empty if maxAsides exist.
func (j *journal) freeName(k kind) (string, error) {
	for n := 1; n <= maxAsides; n++ {
		name := fmt.Sprintf("events.%s-%d.ndjson", k, n)
		if _, err := j.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}

// listAsides returns the files of a kind in the order of their creation.
func listAsides(dir fs.FS, k kind) []string {
	names, _ := fs.Glob(dir, "events."+string(k)+"-*.ndjson")
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

// Foreign returns the paths of the files beside the log that hold the bytes which
// others wrote into it.
func (d *Dir) Foreign() []string {
	names, _ := filepath.Glob(filepath.Join(d.path, "events."+string(foreign)+"-*.ndjson"))
	return names
}
