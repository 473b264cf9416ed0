package citizen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/citizen/marker"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
)

// Ours is the note about a session of ours that stands beside its record. The other programs ignore the file,
// because it is not named like a record.
type Ours struct {
	dispatch.About
	// Owner is the worker. When it has ended, so has the session.
	Owner marker.Owner
}

// oursSuffix ends the names of the notes.
const oursSuffix = ".ratchet.json"

type oursForm struct {
	SchemaVersion int               `json:"schemaVersion"`
	GardenID      dispatch.GardenID `json:"gardenId"`
	dispatch.About
	OwnerPID      int    `json:"ownerPid"`
	OwnerStartKey string `json:"ownerStartKey"`
}

const oursVersion = 1

func (s *Store) oursPath(id dispatch.GardenID) string {
	return filepath.Join(s.Dir, string(id)+oursSuffix)
}

// FindOurs reads the note about a session of ours; ok is false for a session of others, and for one whose note
// cannot be read.
func (s *Store) FindOurs(id dispatch.GardenID) (o Ours, ok bool) {
	if id.Validate() != nil {
		return Ours{}, false
	}
	b, err := file.Read(s.oursPath(id), file.MaxDocument)
	if err != nil {
		return Ours{}, false
	}
	d, err := document.Parse(b)
	if err != nil {
		return Ours{}, false
	}
	o.About = dispatch.About{
		Agent: d.Text("agent"), Model: d.Optional("model"), Run: d.Optional("run"), Name: d.Optional("runName"),
		Session: d.Optional("session"), Role: d.Optional("role"), Goal: d.Optional("goal"),
	}
	if d.Has("attempt") {
		o.Attempt = d.Int("attempt")
	}
	o.Owner = marker.Owner{PID: d.Int("ownerPid"), StartKey: d.Text("ownerStartKey")}
	named := d.Int("schemaVersion") == oursVersion && d.Text("gardenId") == string(id)
	return o, named && d.Err() == nil && process.Plausible(o.Owner.PID)
}

// IsOurs reports whether a record is of a session of ours. The note alone is no proof: it stays when the process
// that wrote it is killed, and the id may then be another program's.
func (s *Store) IsOurs(r Record) bool {
	o, ok := s.FindOurs(r.GardenID)
	return ok && r.Backend == dispatch.Pi && r.Model == o.Who()
}

// Alive reports whether the session's worker runs.
func (o Ours) Alive() bool { return process.Runs(o.Owner.PID, o.Owner.StartKey) }

// keepOurs writes the note. A second call replaces it.
func (s *Store) keepOurs(id dispatch.GardenID, about dispatch.About) error {
	owner := marker.OwnerOf(os.Getpid())
	b, err := document.Marshal(oursForm{oursVersion, id, about, owner.PID, owner.StartKey})
	if err != nil {
		return err
	}
	return file.Replace(s.oursPath(id), b)
}

func (s *Store) removeOurs(id dispatch.GardenID) error {
	if err := os.Remove(s.oursPath(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeAbandoned removes a session of ours whose worker has ended, unless a worker that runs has registered it again
// since. A record that another program has under the id by now stays. A second call removes nothing.
func (s *Store) removeAbandoned(ctx context.Context, id dispatch.GardenID) (removed bool, err error) {
	unlock, _, err := s.lockAndList(ctx)
	if err != nil {
		return false, fmt.Errorf("remove %s: %w", id, err)
	}
	defer unlock()
	if o, ok := s.FindOurs(id); !ok || o.Alive() {
		return false, nil
	}
	switch r, err := s.Find(id); {
	case errors.Is(err, ErrUnknown):
	case err != nil:
		return false, err
	case s.IsOurs(r):
		if err := os.Remove(s.Path(id)); err != nil {
			return false, err
		}
	}
	return true, errors.Join(s.removeOurs(id), file.SyncDir(s.Dir))
}

// abandonedSessions returns the sessions of ours whose workers have ended.
func (s *Store) abandonedSessions() ([]dispatch.GardenID, error) {
	names, err := file.Names(s.Dir)
	if err != nil {
		return nil, err
	}
	var ids []dispatch.GardenID
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, oursSuffix)
		id, err := dispatch.ParseGardenID(stem)
		if !ok || err != nil {
			continue
		}
		if o, ok := s.FindOurs(id); ok && !o.Alive() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
