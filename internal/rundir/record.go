package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/failpoint"
	"github.com/ratchet-dev/ratchet/internal/run"
)

const (
	eventsFile = "events.ndjson"
	stateFile  = "state.json"
	factsFile  = "run.json"
)

// Entry is one step of the record: the events since the last entry, the state that
// they lead to, and the standing of the branch.
type Entry struct {
	Events   []run.Event `json:"events,omitempty"`
	State    run.State   `json:"state"`
	Standing Standing    `json:"standing"`
	// Gap permits appending the events although some events before them are lost.
	Gap bool `json:"gap,omitempty"`
	// Before is the chain of the lines before the first event, as the workflow knows
	// it (see run.ExtendChain); empty: the workflow does not know it.
	Before run.Digest `json:"before,omitempty"`
	// Execution names the execution of the workflow that gives the entry.
	Execution string `json:"execution,omitempty"`
	// Over permits replacing later events that the workflow does not know: see Ahead.
	Over bool `json:"over,omitempty"`
}

// First returns the number of the first event; zero if there is none.
func (e Entry) First() int {
	if len(e.Events) == 0 {
		return 0
	}
	return e.Events[0].Seq()
}

// Facts is the content of run.json: the facts that the contract's state has no
// member for.
type Facts struct {
	RunID      run.ID         `json:"runId"`
	Name       run.Name       `json:"name,omitempty"`
	WorkflowID string         `json:"workflowId"`
	Goal       string         `json:"goal"`
	Issue      *run.Issue     `json:"issue,omitempty"`
	Repository run.Repository `json:"repository"`
	Branch     string         `json:"branch"`
	Providers  run.Providers  `json:"providers"`
	Checks     []string       `json:"checks"`
	// CheckNetwork holds the targets that the checks may reach.
	CheckNetwork []string    `json:"checkNetwork,omitempty"`
	Policy       run.Policy  `json:"approvalPolicy"`
	Sandbox      run.Sandbox `json:"sandbox,omitempty"`
	// Session is the standing session whose agent started the run; empty: a person did.
	Session string `json:"session,omitempty"`
	// Origins says who chose what of the run's input.
	Origins map[string]run.Origin `json:"origins,omitempty"`
	// Baseline is what the checks said of the base commit; nil: not known. Only FactsOf sets it.
	Baseline *run.Baseline `json:"baseline,omitempty"`
	Standing
}

// Standing is the part of the facts that changes during a run.
type Standing struct {
	Head    run.Commit `json:"head"`
	Commits int        `json:"commits"`
	Stat    run.Stat   `json:"stat"`
	Usage   run.Usage  `json:"usage"`
	Notes   []run.Note `json:"notes,omitempty"` // in no prompt yet
	// Moved says where the branch stood at the end if something other than the run had moved it.
	Moved string `json:"moved,omitempty"`
	// Network says what the checks of the last evaluation reached, in one line.
	Network string `json:"network,omitempty"`
}

// StandingOf returns the standing of a snapshot's run.
func StandingOf(s *run.Snapshot) Standing {
	return Standing{Head: s.Head, Commits: s.Commits, Stat: s.Stat, Usage: s.Usage, Notes: s.Notes, Moved: s.Moved, Network: s.Network}
}

// FactsOf returns the facts of a snapshot.
func FactsOf(s *run.Snapshot) Facts {
	f := newFacts(s.Input, StandingOf(s))
	f.Baseline = s.Baseline
	return f
}

// Facts reads run.json.
func (d *Dir) Facts() (Facts, error) {
	var f Facts
	b, err := d.readFile(factsFile)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	return f, err
}

func newFacts(in run.Input, now Standing) Facts {
	return Facts{
		RunID: in.RunID, Name: in.Name, WorkflowID: in.RunID.WorkflowID(), Goal: in.Goal, Issue: in.Issue, Repository: in.Repository,
		Branch: in.BranchName(), Providers: in.Providers, Checks: in.Checks, CheckNetwork: in.CheckNetwork, Policy: in.Policy,
		Sandbox: in.Sandbox.WithDefault(), Origins: in.Origins, Session: in.Session, Standing: now,
	}
}

// Recorded is the result of a call of BeginRecord.
type Recorded struct {
	Last  int    // number of the last event on disk
	Aside *Aside // the defect of the log that was fixed; nil: none
}

// BeginRecord makes the log hold the events and replaces the snapshots beside it. If
// Last is lower than the number before the first given event, nothing was written:
// the record lacks the events after Last or cannot vouch for them. The error is an
// *Ahead if the record holds another, later course of the same workflow.
//
// A second call with the same entry changes nothing, and a late call with an older
// entry changes nothing either. It appends to the log and does not rewrite its
// earlier bytes, with two exceptions. It removes a last line that a crash cut. It
// sets aside, in a file of their own, the bytes that others wrote and the lines that
// a new course of the workflow replaces, and logs it. See compareEntry.
//
// It does not wait for the disk. The caller may read and prepare, and calls onDisk before it acts on the entry: the lines
// are on disk before the seal covers them, and both when onDisk returns. No caller learns of an event that a power cut
// takes away, and no sealed line is missing after it. onDisk may be called again, and is never nil. Until it returns the
// record is locked. The snapshots are written while the disk takes the lines. They may reach the disk before the lines,
// because the lines win over them.
func (d *Dir) BeginRecord(e Entry) (out Recorded, onDisk func() error, err error) {
	nothing := func() error { return nil }
	j, err := d.openJournal()
	if err != nil {
		return out, nothing, fmt.Errorf("record: %w", err)
	}
	out, c, err := d.appendEntry(j, e)
	if err != nil || c.behind || c.late {
		j.closeFiles()
		return out, nothing, err
	}
	written, sealed := make(chan struct{}), make(chan error, 1)
	next := j.nextSeal(c.lines[:c.covers], e.Execution, e.Over)
	go func() {
		err := j.syncAndSeal(next, d.seals.last(d.path))
		if err != nil {
			next = seal{} // the state on disk is unknown
		}
		d.seals.keep(d.path, next)
		<-written
		j.closeFiles()
		sealed <- err
	}()
	onDisk = sync.OnceValue(func() error { return <-sealed })
	if e.isCurrent(c.last) {
		err = d.writeCurrent(j, e, c.fresh)
	}
	close(written)
	if err != nil {
		return out, nothing, errors.Join(err, onDisk())
	}
	return out, onDisk, nil
}

// appendEntry brings the log to the entry, if the log can be brought there.
func (d *Dir) appendEntry(j *journal, e Entry) (out Recorded, c comparison, err error) {
	if c, err = j.compareEntry(e); err != nil {
		return out, c, fmt.Errorf("record: %w", err)
	}
	out.Last = c.last
	if c.behind || c.late {
		return out, c, nil
	}
	if out.Aside, err = d.setAside(j, c.aside); err != nil {
		return out, c, fmt.Errorf("record: %w", err)
	}
	if err := j.writeLines(c.lines); err != nil {
		return out, c, fmt.Errorf("record: %w", err)
	}
	return out, c, nil
}

// isCurrent reports whether the entry's state is the state after the last event of the log. Otherwise a later call has
// already written its own.
func (e Entry) isCurrent(last int) bool {
	return e.State.LastEventID != nil && *e.State.LastEventID == run.EventID(last)
}

// writeCurrent writes what follows from the events of the current entry: the questions, the snapshots, and for the
// events that are fresh the lines of the logs.
func (d *Dir) writeCurrent(j *journal, e Entry, fresh []run.Event) error {
	if err := d.keepQuestions(e.Events); err != nil {
		return err
	}
	failpoint.Hit("rundir.before-state")
	if err := j.replaceSnapshots(e.State, e.Standing); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	failpoint.Hit("rundir.after-state")
	return d.logEvents(j, fresh)
}

// replaceSnapshots writes state.json and run.json. The constant part of run.json
// comes from the first event. If the log has lost that event, run.json stays as it is.
func (j *journal) replaceSnapshots(state run.State, now Standing) error {
	var first run.Event
	if err := json.Unmarshal(j.lines[0].b, &first); err != nil {
		return fmt.Errorf("first event: %w", err)
	}
	var err error
	if created, ok := first.Payload.(run.RunCreated); ok {
		err = replaceJSON(j.root, factsFile, newFacts(created.Input, now))
	}
	return errors.Join(err, replaceJSON(j.root, stateFile, state))
}

// replaceJSON replaces the file by v as JSON, unless it holds v. It does not wait for
// the disk: the events win over the file.
func replaceJSON(root *os.Root, name string, v any) error {
	b, err := marshalFile(v)
	if err != nil {
		return err
	}
	if old, err := readPlain(root, name); err == nil && bytes.Equal(old, b) {
		return nil
	}
	return replaceFile(root, name, b)
}

// marshalFile returns v as the files beside the log have it.
func marshalFile(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(b, '\n'), err
}
