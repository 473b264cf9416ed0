package standing

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// RecordNote holds the faults of a record that `status` shows.
type RecordNote struct {
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
func takeRecorded(c *factory.Factory, st *Standing) {
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
func noteOn(c *factory.Factory, id run.ID, recorded int, state run.State) *RecordNote {
	var n RecordNote
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

// Lines returns the note in words for a person.
func (n *RecordNote) Lines() (list []string) {
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
