package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const (
	eventsFile = "events.ndjson"
	stateFile  = "state.json"
	factsFile  = "run.json"
)

// Entry is one step of the record: the events since the last one, the state
// that they lead to, and how the branch stands.
type Entry struct {
	Events   []run.Event `json:"events,omitempty"`
	State    run.State   `json:"state"`
	Standing Standing    `json:"standing"`
	// Gap lets the events be appended although some before them are lost.
	Gap bool `json:"gap,omitempty"`
}

// First is the number of the first event; zero when there is none.
func (e Entry) First() int {
	if len(e.Events) == 0 {
		return 0
	}
	return e.Events[0].Seq()
}

// Facts is run.json: what the contract's state has no room for.
type Facts struct {
	RunID      run.ID         `json:"runId"`
	WorkflowID string         `json:"workflowId"`
	Goal       string         `json:"goal"`
	Repository run.Repository `json:"repository"`
	Branch     string         `json:"branch"`
	Providers  run.Providers  `json:"providers"`
	Checks     []string       `json:"checks"`
	Policy     run.Policy     `json:"approvalPolicy"`
	Standing
}

// Standing is the part of the facts that changes as a run goes on.
type Standing struct {
	Head    run.Commit `json:"head"`
	Commits int        `json:"commits"`
	Stat    run.Stat   `json:"stat"`
	Usage   run.Usage  `json:"usage"`
	Notes   []run.Note `json:"notes,omitempty"` // in no prompt yet
}

// StandingOf is how the run of a snapshot stands.
func StandingOf(s *run.Snapshot) Standing {
	return Standing{Head: s.Head, Commits: s.Commits, Stat: s.Stat, Usage: s.Usage, Notes: s.Notes}
}

// FactsOf are the facts of a snapshot.
func FactsOf(s *run.Snapshot) Facts { return facts(s.Input, StandingOf(s)) }

func facts(in run.Input, now Standing) Facts {
	return Facts{
		RunID: in.RunID, WorkflowID: in.RunID.WorkflowID(), Goal: in.Goal, Repository: in.Repository,
		Branch: in.RunID.Branch(), Providers: in.Providers, Checks: in.Checks, Policy: in.Policy, Standing: now,
	}
}

// Record appends the events that are not on disk yet and replaces the
// snapshots beside them. It returns the number of the last event on disk; one
// that is lower than the number before the first event given means that the
// record lacks events, and nothing was written.
//
// A second call with the same entry changes nothing, and so does a late call
// with an older one. Earlier bytes of the log are never written again, but for
// two cases: a last line that a crash cut is taken away, and after a reset of
// the workflow the events of its new course replace those of the old one.
func (d *Dir) Record(e Entry) (last int, err error) {
	root, err := d.open()
	if err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	defer root.Close()
	log, err := root.OpenFile(eventsFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	defer log.Close() // and with it the lock
	if err := unix.Flock(int(log.Fd()), unix.LOCK_EX); err != nil {
		return 0, fmt.Errorf("lock %s: %w", log.Name(), err)
	}
	have, end, err := tail(log)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", log.Name(), err)
	}
	fresh := e.Events
	if len(fresh) > 0 && fresh[0].Seq() <= have {
		switch have, end, fresh, err = reconcile(log, have, end, fresh); {
		case errors.Is(err, errLate):
			return have, nil
		case err != nil:
			return 0, fmt.Errorf("read %s: %w", log.Name(), err)
		}
	}
	if len(fresh) > 0 && fresh[0].Seq() > have+1 && !e.Gap {
		return have, nil
	}
	if err := appendEvents(log, end, fresh); err != nil {
		return 0, fmt.Errorf("append to %s: %w", log.Name(), err)
	}
	if len(fresh) > 0 {
		have = fresh[len(fresh)-1].Seq()
	}
	if e.State.LastEventID == nil || *e.State.LastEventID != run.EventID(have) {
		return have, nil // a later call has been here
	}
	if err := d.keepQuestions(e.Events); err != nil {
		return 0, err
	}
	failpoint.Hit("rundir.before-state")
	if err := errors.Join(replaceFacts(root, log, e.Standing), replaceJSON(root, stateFile, e.State)); err != nil {
		return 0, fmt.Errorf("record: %w", err)
	}
	failpoint.Hit("rundir.after-state")
	return have, d.logEvents(root, fresh)
}

// errLate is a call with an entry that a later one has overtaken.
var errLate = errors.New("a later call has been here")

// reconcile holds the events given against those on disk with the same
// numbers, and returns where the log ends for them and which are to be
// appended. An event's time is that of the workflow task that made it: one that
// is later than the one on disk takes its place, and the place of all after
// it; one that is earlier makes the call an errLate.
func reconcile(log *os.File, have int, end int64, given []run.Event) (int, int64, []run.Event, error) {
	lines := bufio.NewReader(io.NewSectionReader(log, 0, end))
	for at := int64(0); at < end && len(given) > 0; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0, 0, nil, err
		}
		var e run.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, 0, nil, err
		}
		if e.Seq() == given[0].Seq() {
			switch given[0].TS.Compare(e.TS) {
			case -1:
				return have, end, nil, errLate
			case 1:
				return e.Seq() - 1, at, given, nil
			}
			given = given[1:]
		}
		at += int64(len(line))
	}
	return have, end, given, nil
}

func appendEvents(log *os.File, end int64, events []run.Event) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := log.Truncate(end); err != nil || buf.Len() == 0 {
		return err
	}
	failpoint.Hit("rundir.before-append")
	half := buf.Len() / 2
	if _, err := log.WriteAt(buf.Bytes()[:half], end); err != nil {
		return err
	}
	failpoint.Hit("rundir.half-append")
	if _, err := log.WriteAt(buf.Bytes()[half:], end+int64(half)); err != nil {
		return err
	}
	failpoint.Hit("rundir.after-append")
	return log.Sync()
}

// replaceFacts writes run.json; the first event holds what never changes. A log
// that lost it leaves run.json as it is.
func replaceFacts(root *os.Root, log *os.File, now Standing) error {
	line, err := bufio.NewReader(io.NewSectionReader(log, 0, MaxArtifact)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("first event: %w", err)
	}
	var first run.Event
	if err := json.Unmarshal(line, &first); err != nil {
		return fmt.Errorf("first event: %w", err)
	}
	created, ok := first.Payload.(run.RunCreated)
	if !ok {
		return nil
	}
	return replaceJSON(root, factsFile, facts(created.Input, now))
}

// replaceJSON does not wait for the disk: the events have, and they win.
func replaceJSON(root *os.Root, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replace(root, name, append(b, '\n'), func(*os.File) error { return nil })
}

// tail returns the number of the last whole event of the log and where its
// line ends. What follows is a line that a crash cut.
func tail(log *os.File) (seq int, end int64, err error) {
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, 0, err
	}
	for window := int64(64 << 10); ; window *= 4 {
		from := max(0, size-window)
		b := make([]byte, size-from)
		if _, err := log.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		stop := bytes.LastIndexByte(b, '\n')
		start := bytes.LastIndexByte(b[:max(stop, 0)], '\n')
		if (stop < 0 || start < 0) && from > 0 {
			continue // the line is longer than the window
		}
		if stop < 0 {
			return 0, 0, nil
		}
		var last run.Event
		if err := json.Unmarshal(b[start+1:stop], &last); err != nil {
			return 0, 0, fmt.Errorf("last line: %w", err)
		}
		return last.Seq(), from + int64(stop) + 1, nil
	}
}

// Events reads the log. A last line that a crash cut is left out; any other
// line that is not an event is an error.
func (d *Dir) Events() ([]run.Event, error) {
	f, err := os.Open(filepath.Join(d.path, eventsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxArtifact+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxArtifact {
		return nil, fmt.Errorf("%s is larger than %d bytes", eventsFile, MaxArtifact)
	}
	var events []run.Event
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

// State reads the last state written; fs.ErrNotExist when there is none.
func (d *Dir) State() (run.State, error) {
	var s run.State
	b, err := d.read(stateFile)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// Rebuild folds the log into the run's snapshot. Where state.json and the log
// disagree the log wins. Notes that no prompt carried yet come from run.json.
func (d *Dir) Rebuild() (*run.Snapshot, error) {
	events, err := d.Events()
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(events) == 0 {
		return nil, fmt.Errorf("%s holds no events: it is not the directory of a run", d.path)
	}
	if err != nil {
		return nil, err
	}
	s, err := run.Fold(events)
	if err != nil {
		return nil, fmt.Errorf("fold %s: %w", eventsFile, err)
	}
	var facts Facts
	if b, err := d.read(factsFile); err == nil && json.Unmarshal(b, &facts) == nil {
		s.Restore(facts.Notes)
	}
	return s, nil
}
