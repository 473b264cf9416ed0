package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// adriftPatience is the time limit of adrift.
const adriftPatience = 15 * time.Second

// adriftRuns returns the runs without an open workflow whose records in the runs directory say that
// they are not over. A loss of the database causes such runs.
func adriftRuns(ctx context.Context, c *factory.Factory, client *runs.Client) (ids []run.ID, err error) {
	ctx, cancel := context.WithTimeout(ctx, adriftPatience)
	defer cancel()
	entries, err := os.ReadDir(filepath.Join(c.RunsDir, "workflows"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		id := run.ID(entry.Name())
		dir, err := c.OpenRecord(id)
		if err != nil || id.Validate() != nil {
			continue
		}
		if state, err := dir.State(); err == nil && state.Status.Terminal() {
			continue
		}
		e, err := client.Describe(ctx, id)
		if _, gone := errors.AsType[*runs.NotFoundError](err); err != nil && !gone {
			return ids, err
		}
		if err == nil && e.Open {
			continue
		}
		if s, err := dir.Rebuild(); err == nil && !s.State.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// adriftText returns a text that tells how to resume these runs.
func adriftText(c *factory.Factory, ids []run.ID) string {
	const most = 3
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, string(id))
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s not over and without a workflow: %s; bring each back with `%s`",
		display.Count(len(ids), "run is", "runs are"), text, c.Hint("resume RUN"))
}

func findAdrift(ctx context.Context, c *factory.Factory, client *runs.Client) finding {
	f := finding{Name: "records"}
	ids, err := adriftRuns(ctx, c, client)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case len(ids) > 0:
		f.Detail = adriftText(c, ids)
	default:
		f.OK, f.Detail = true, "every run that is not over has its workflow"
	}
	return f
}

// recordNote holds the faults of a record that `status` shows.
type recordNote struct {
	// Foreign lists the files with text that others wrote into the record and that the
	// worker set aside.
	Foreign []string `json:"foreign,omitempty"`
	// Ahead is the number of events that the record knows and the workflow does not.
	Ahead int `json:"ahead,omitempty"`

	next string // what follows from Ahead
}

// recordedEnd returns the snapshot of the record of a run that is over; nil if there is none, or the record has not ended.
func recordedEnd(c *factory.Factory, id run.ID) *run.Snapshot {
	if s := recordedSnapshot(c, id); s != nil && s.State.Status.Terminal() {
		return s
	}
	return nil
}

// recordedSnapshot returns the snapshot of a run's record, or nil.
func recordedSnapshot(c *factory.Factory, id run.ID) *run.Snapshot {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return nil
	}
	s, err := dir.Rebuild()
	if err != nil {
		return nil
	}
	return s
}

// takeRecorded takes from the record what the workflow has forgotten: branch, commits and usage, and how the run ended if
// both are over.
func takeRecorded(c *factory.Factory, st *standingOf) {
	s := recordedSnapshot(c, st.RunID)
	if s == nil {
		return
	}
	facts := rundir.FactsOf(s)
	st.Facts.Branch, st.Facts.Standing = facts.Branch, facts.Standing
	switch {
	case !st.Status.Terminal():
		st.Record.next = "branch and commits are the record's; the run asks before it continues"
	case s.State.Status.Terminal():
		st.State = s.State
		st.Record.next = "branch, commits and end are the record's"
	default:
		st.Record.next = "continue from it with `" + c.Hint("resume %s", st.RunID) + "`"
	}
}

// seqOn returns the number of the last event of a run's record on this host. It returns zero
// when there is none.
func seqOn(c *factory.Factory, id run.ID) int {
	dir, err := c.OpenRecord(id)
	if err != nil {
		return 0
	}
	state, err := dir.State()
	if err != nil || state.LastEventID == nil {
		return 0
	}
	return run.Event{ID: *state.LastEventID}.Seq()
}

// noteOn returns the faults of the record, or nil when it has none. The caller read recorded,
// the number of the record's last event, before it asked for the workflow's state. A record is
// written after its workflow.
func noteOn(c *factory.Factory, id run.ID, recorded int, state run.State) *recordNote {
	var n recordNote
	if dir, err := c.OpenRecord(id); err == nil {
		n.Foreign = foreignIn(dir)
	}
	if state.LastEventID != nil {
		n.Ahead = max(0, recorded-run.Event{ID: *state.LastEventID}.Seq())
	}
	if len(n.Foreign) == 0 && n.Ahead == 0 {
		return nil
	}
	return &n
}

func foreignIn(dir *rundir.Dir) (names []string) {
	for _, path := range dir.Foreign() {
		names = append(names, console.NearPath(path))
	}
	return names
}

// lines returns the note in words for a person.
func (n *recordNote) lines() (list []string) {
	if n == nil {
		return nil
	}
	if len(n.Foreign) > 0 {
		list = append(list, "others wrote into events.ndjson; what the worker set aside is in "+strings.Join(n.Foreign, ", "))
	}
	if n.Ahead > 0 {
		list = append(list, fmt.Sprintf("it knows %s that the workflow does not, as after a database was put back: %s", display.Count(n.Ahead, "event", "events"), n.next))
	}
	return list
}
