package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Ahead is the error for a record that holds events which its workflow does not
// know. Another course of the same workflow is on disk and continues past the
// point where the course that writes now branched off. A database restored from an
// older copy leads to this error. Nothing was written.
type Ahead struct {
	Last   string        `json:"last"`   // id of the last event on disk
	Type   run.EventType `json:"type"`   // type of the last event
	At     time.Time     `json:"at"`     // time of the last event
	Events int           `json:"events"` // number of events that the workflow does not know
}

func (a *Ahead) Error() string {
	return fmt.Sprintf("the record has %d events that the workflow lacks, up to %s", a.Events, a.Last)
}

// comparison is the result of comparing an entry with the log.
type comparison struct {
	lines  []line // the lines that the log must hold
	covers int    // number of those lines that the seal must cover
	fresh  []run.Event
	aside  aside // the bytes that the log loses
	behind bool  // the log lacks lines: the lines up to last are good
	late   bool  // a later entry was recorded already: nothing remains to do
	last   int
}

// compareEntry compares an entry with the log. The workflow is the truth, and the entry
// speaks for the workflow:
//
//   - The lines before the entry's first event must have the chain that the entry
//     names. If lines are missing there or differ, the workflow gives them again.
//   - A line with the number of a given event must be that event. If it is not, the
//     given event and the events after it replace the rest of the log.
//   - Lines beyond the entry's last event stay if the seal covers them: a later entry
//     wrote them. Lines that the seal does not cover are set aside, because no caller
//     knows of them and none can rely on them. If a recorder of this program wrote
//     them, its attempt is made again. If the seal covers no line at all, they stay.
//
// The origin of a differing line decides its treatment. A line that the seal does not
// cover is foreign: no recorder of this program wrote it. A line that the seal covers
// belongs to another course of the workflow:
//
//   - The seal does not know the writing execution. The execution began by a reset or
//     by a resume, and its course replaces the old course.
//   - The seal knows the execution, and the given event is later than the line. The
//     execution has forgotten its own lines or the lines of its successors, as happens
//     after its database was restored. A person decides: the error is an *Ahead. An
//     entry with Over carries the decision.
//   - The seal knows the execution, the execution is not the last, and the given event
//     is not later. The entry is a late attempt of an execution that a reset or a resume
//     has ended. It changes nothing.
//   - The execution is the last, and the given event is not later. One execution does
//     not write a number twice: the line is forged, or is the same event in the form of
//     another version. The given event replaces it.
func (j *journal) compareEntry(e Entry) (comparison, error) {
	covered := j.seal.linesCovered(j.lines)
	first := e.First()
	at := 0 // index of the first line that is not before the entry
	for at < len(j.lines) && j.lines[at].seq < first {
		at++
	}
	if c, ok := j.compareBefore(e, at, covered); !ok {
		return c, nil
	}
	given, err := linesFrom(e.Events)
	if err != nil {
		return comparison{}, err
	}
	c := comparison{lines: slices.Clone(j.lines[:at])}
	for n, g := range given {
		switch k := at + n; {
		case k >= len(j.lines):
			c.lines, c.fresh = append(c.lines, given[n:]...), e.Events[n:]
			c.finishAt(j, len(j.lines), first+len(given)-1, covered, aside{kind: foreign})
			return c, nil
		case !meansSame(j.lines[k], g):
			kind, err := j.kindOfDifference(k, e.Events[n], e, covered)
			if err != nil || kind == late {
				return comparison{late: true, last: j.lines[len(j.lines)-1].seq}, err
			}
			c.lines, c.fresh = append(c.lines, given[n:]...), e.Events[n:]
			c.finishAt(j, k, g.seq, covered, aside{kind: kind})
			return c, nil
		default:
			c.lines = append(c.lines, g)
		}
	}
	end := len(j.lines)
	if covered > 0 {
		end = max(covered, len(c.lines))
	}
	c.lines = append(c.lines, j.lines[len(c.lines):end]...)
	c.finishAt(j, end, given[len(given)-1].seq, covered, aside{kind: foreign})
	return c, nil
}

// compareBefore checks the lines before the entry. It returns false if they contradict the
// workflow or are too few. The workflow must then give them again.
func (j *journal) compareBefore(e Entry, at, covered int) (comparison, bool) {
	last := 0
	if at > 0 {
		last = j.lines[at-1].seq
	}
	switch {
	case e.Gap:
		return comparison{}, true
	case last < e.First()-1:
		return comparison{behind: true, last: last}, false
	case e.Before != "" && chainOf(j.lines[:at]) != e.Before,
		e.Before == "" && at > 0 && j.seal.Lines > 0 && j.seal.Lines <= len(j.lines) && covered == 0:
		return comparison{behind: true}, false
	}
	return comparison{}, true
}

// finishAt sets the bytes that the log loses from line number k on, the number of
// lines that the seal then covers, and the number of the last event.
func (c *comparison) finishAt(j *journal, k, given, covered int, lost aside) {
	for c.covers < len(c.lines) && (c.lines[c.covers].seq <= given || c.covers < covered) {
		c.covers++
	}
	c.last = c.lines[len(c.lines)-1].seq
	lost.b = j.b[sizeOf(j.lines[:k]):]
	if k == len(j.lines) && c.isTorn(lost.b, k) {
		lost.b = nil
	}
	if k < len(j.lines) {
		lost.from = j.lines[k].seq
	}
	lost.short = j.seal.Lines > 0 && covered == 0 && len(j.b) < j.seal.Bytes
	lost.odd = j.odd
	c.aside = lost
}

// isTorn reports whether the bytes after the log's last line are the part of the next
// line that a crash left.
func (c *comparison) isTorn(b []byte, k int) bool {
	if bytes.IndexByte(b, '\n') >= 0 {
		return false
	}
	return k >= len(c.lines) || bytes.HasPrefix(c.lines[k].b, b)
}

// kindOfDifference returns the kind of difference between line number k and the given event.
func (j *journal) kindOfDifference(k int, given run.Event, e Entry, covered int) (kind, error) {
	var there run.Event
	if k >= covered || json.Unmarshal(j.lines[k].b, &there) != nil {
		return foreign, nil
	}
	later := given.TS.After(there.TS)
	n := slices.Index(j.seal.Executions, e.Execution)
	switch {
	case e.Execution == "" && !later && !given.TS.Equal(there.TS):
		return late, nil // from a worker that does not name its execution
	case e.Over, n < 0:
		return superseded, nil
	case later:
		return "", j.aheadError(k)
	case n < len(j.seal.Executions)-1:
		return late, nil
	}
	return foreign, nil
}

// aheadError returns the error for a log whose lines from number k on are unknown to the
// workflow.
func (j *journal) aheadError(k int) error {
	var last run.Event
	end := j.lines[len(j.lines)-1]
	if err := json.Unmarshal(end.b, &last); err != nil {
		return err
	}
	return &Ahead{Last: last.ID, Type: last.Type, At: last.TS, Events: len(j.lines) - k}
}

func linesFrom(events []run.Event) (list []line, err error) {
	for _, e := range events {
		b, err := e.Line()
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", e.ID, err)
		}
		list = append(list, line{b, e.Seq()})
	}
	return list, nil
}

// meansSame reports whether both lines hold the same event, possibly in the forms of
// two versions of this program.
func meansSame(a, b line) bool {
	if bytes.Equal(a.b, b.b) {
		return true
	}
	var e run.Event
	if json.Unmarshal(a.b, &e) != nil {
		return false
	}
	text, err := e.Line()
	return err == nil && bytes.Equal(text, b.b)
}
