package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Events returns the events of the log. It leaves out a last line that a crash cut.
// Any other line that is not an event is an error.
func (d *Dir) Events() ([]run.Event, error) {
	b, err := d.readFile(eventsFile)
	if err != nil {
		return nil, err
	}
	return eventsIn(b)
}

func eventsIn(b []byte) (events []run.Event, err error) {
	for line := range bytes.Lines(b) {
		if line[len(line)-1] != '\n' {
			break
		}
		var e run.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", eventsFile, len(events)+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// State returns the last written state. It returns fs.ErrNotExist if there is none.
func (d *Dir) State() (run.State, error) {
	var s run.State
	b, err := d.readFile(stateFile)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// Rebuild folds the log into the run's snapshot. If state.json and the log disagree,
// the log wins. Notes that no prompt carried yet come from run.json.
func (d *Dir) Rebuild() (*run.Snapshot, error) {
	events, err := d.Events()
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(events) == 0 {
		return nil, fmt.Errorf("%s contains no events: it is not the directory of a run", d.path)
	}
	if err != nil {
		return nil, err
	}
	return d.foldEvents(events)
}

func (d *Dir) foldEvents(events []run.Event) (*run.Snapshot, error) {
	s, err := run.Fold(events)
	if err != nil {
		return nil, fmt.Errorf("fold %s: %w", eventsFile, err)
	}
	var facts Facts
	if b, err := d.readFile(factsFile); err == nil && json.Unmarshal(b, &facts) == nil {
		s.RestoreNotes(facts.Notes)
	}
	return s, nil
}

// Repair rebuilds the run's snapshot and adapts the files to it. It removes a last
// line that a crash cut. It sets aside bytes after the sealed lines that do not
// continue the run's events. It makes state.json and run.json match the last event.
// Repair is safe while a worker writes. A second call changes nothing.
func (d *Dir) Repair() (*run.Snapshot, error) {
	if _, err := d.Events(); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s contains no events: it is not the directory of a run", d.path)
	}
	j, err := d.openJournal()
	if err != nil {
		return nil, fmt.Errorf("repair the record: %w", err)
	}
	defer j.closeFiles()
	s, err := d.makeWhole(j)
	if err != nil {
		return nil, err
	}
	if state, err := d.State(); err == nil && reflect.DeepEqual(state, s.State) {
		return s, nil
	}
	if err := j.replaceSnapshots(s.State, StandingOf(s)); err != nil {
		return nil, fmt.Errorf("repair the record: %w", err)
	}
	return s, nil
}

// makeWhole makes the log hold only the lines of the run, and folds it.
func (d *Dir) makeWhole(j *journal) (*run.Snapshot, error) {
	lines := j.lines
	events, err := eventsIn(j.b)
	var s *run.Snapshot
	if err == nil && len(events) > 0 {
		s, err = d.foldEvents(events)
	}
	if covered := j.seal.linesCovered(lines); err != nil && covered > 0 {
		lines = lines[:covered]
		if events, err = eventsIn(j.b[:sizeOf(lines)]); err == nil {
			s, err = d.foldEvents(events)
		}
	}
	if err == nil && s == nil {
		err = fmt.Errorf("%s contains no events: it is not the directory of a run", d.path)
	}
	if err != nil {
		return nil, err
	}
	lost := aside{kind: foreign, b: j.b[sizeOf(lines):]}
	if bytes.IndexByte(lost.b, '\n') < 0 {
		lost.b = nil // a crash cut it
	}
	if _, err := d.setAside(j, lost); err != nil {
		return nil, fmt.Errorf("repair the record: %w", err)
	}
	if err := j.writeLines(lines); err != nil {
		return nil, fmt.Errorf("repair the record: %w", err)
	}
	return s, nil
}
