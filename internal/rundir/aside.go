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

// kind says what lines are that the log loses.
type kind string

const (
	foreign    kind = "foreign" // nobody of ours wrote them
	superseded kind = "reset"   // of an old course of the workflow
	late       kind = "late"    // none: it is the entry that is old
)

// Bounds of what is set aside. Of more the log tells, and no more.
const (
	maxAside  = 16 << 20
	maxAsides = 99 // files of one kind
)

// aside is what the log loses, and why.
type aside struct {
	kind  kind
	b     []byte
	from  int  // number of the first event that is replaced; zero: they only followed the last
	short bool // bytes that had been written are gone
	odd   bool // what has the log's name is not a plain file
}

// Aside is what was found to be wrong with the log, and mended.
type Aside struct {
	File string `json:"file,omitempty"` // beside the log: what it lost
	Why  string `json:"why"`
}

func (a aside) why() string {
	var why []string
	if a.odd {
		why = append(why, eventsFile+" was not a plain file")
	}
	if a.short {
		why = append(why, "lines that had been written were gone")
	}
	switch {
	case len(a.b) == 0:
	case a.kind == superseded:
		why = append(why, fmt.Sprintf("another course of the workflow replaces the events from %s on", run.EventID(a.from)))
	case a.from > 0:
		why = append(why, fmt.Sprintf("the lines from %s on were not those that the worker wrote", run.EventID(a.from)))
	default:
		why = append(why, fmt.Sprintf("%d bytes followed that the worker did not write", len(a.b)))
	}
	return strings.Join(why, "; ")
}

// setAside keeps what the log loses in a file of its own, and tells of it; nil
// when nothing is wrong.
func (d *Dir) setAside(j *journal, a aside) (*Aside, error) {
	why := a.why()
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

// moveAside gives what stands in the log's place another name.
func (j *journal) moveAside(k kind) (string, error) {
	name, err := j.freeName(k)
	if err != nil || name == "" {
		return "", errors.Join(err, j.root.RemoveAll(eventsFile))
	}
	return name, j.root.Rename(eventsFile, name)
}

// copyAside writes the bytes, unless the last of their kind are the same: then a
// crash has come between that and the mending of the log.
func (j *journal) copyAside(k kind, b []byte) (string, error) {
	names := asides(j.root.FS(), k)
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

// freeName is the next name for what is set aside; empty when there are enough.
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

// asides are the files of a kind, in the order in which they came.
func asides(dir fs.FS, k kind) []string {
	names, _ := fs.Glob(dir, "events."+string(k)+"-*.ndjson")
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

// Foreign are the files, beside the log, with what others have written into it.
func (d *Dir) Foreign() []string {
	names, _ := filepath.Glob(filepath.Join(d.path, "events."+string(foreign)+"-*.ndjson"))
	return names
}
