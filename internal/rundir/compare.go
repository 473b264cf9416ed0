package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Ahead is the error of a record that knows more than its workflow: another
// course of the same workflow is on disk, and goes on from where the one that
// writes now turned off. A database that was restored from an older copy leads
// to it. Nothing was written.
type Ahead struct {
	Last   string        `json:"last"`   // id of the last event on disk
	Type   run.EventType `json:"type"`   // of it
	At     time.Time     `json:"at"`     // its time
	Events int           `json:"events"` // that the workflow does not know
}

func (a *Ahead) Error() string {
	return fmt.Sprintf("the record knows %d events that the workflow does not, up to %s", a.Events, a.Last)
}

// comparison is what comes of holding an entry against the log.
type comparison struct {
	lines  []line // that the log is to hold
	covers int    // how many of them the seal is to cover
	fresh  []run.Event
	aside  aside // what the log loses
	behind bool  // the log lacks lines: those up to last are good
	late   bool  // a later entry has been here: nothing is to be done
	last   int
}

// compare holds an entry against the log. The workflow is the truth, and the
// entry is its word:
//
//   - Lines before the entry's first must have the chain that the entry names.
//     Lines that are missing there, or are others, the workflow gives again.
//   - A line with the number of a given event must be that event. Where it is
//     not, the given one and those after it take the place of the rest of the log.
//   - What lies beyond the entry's last event is left where the seal covers it: a
//     later entry has been here. What it does not cover nobody was told of who
//     could rely on it: if it is ours the attempt that wrote it comes again.
//
// Whose a line is that differs decides what is said of it. One that the seal does
// not cover is foreign: nobody of ours wrote it. One that it covers is of another
// course of the workflow:
//
//   - The execution that writes now is not known to the seal: it began by a reset
//     or by a resume, and its course replaces the old one.
//   - It is known, and the given event is later than the line: the execution has
//     forgotten what it wrote, or what its successors wrote, as one does whose
//     database was restored. A person decides: an *Ahead. The entry that says Over
//     carries the decision.
//   - It is known and not the last, and the given event is the earlier one: a late
//     attempt of an execution that a reset or a resume has ended. It changes nothing.
//   - It is the last one, and the given event is not later: one execution does not
//     write a number twice, so the line is forged, or is the same event in the words
//     of another version. The given one replaces it.
func (j *journal) compare(e Entry) (comparison, error) {
	covered := j.seal.covers(j.lines)
	first := e.First()
	at := 0 // of the line that comes after those before the entry
	for at < len(j.lines) && j.lines[at].seq < first {
		at++
	}
	if c, ok := j.before(e, at, covered); !ok {
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
			c.finish(j, len(j.lines), first+len(given)-1, covered, aside{kind: foreign})
			return c, nil
		case !means(j.lines[k], g):
			kind, err := j.whose(k, e.Events[n], e, covered)
			if err != nil || kind == late {
				return comparison{late: true, last: j.lines[len(j.lines)-1].seq}, err
			}
			c.lines, c.fresh = append(c.lines, given[n:]...), e.Events[n:]
			c.finish(j, k, g.seq, covered, aside{kind: kind})
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
	c.finish(j, end, given[len(given)-1].seq, covered, aside{kind: foreign})
	return c, nil
}

// before looks at the lines before the entry. Those that are not what the
// workflow says, or are too few, it is to give again.
func (j *journal) before(e Entry, at, covered int) (comparison, bool) {
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

// finish says what the log loses from line number k on, how far the seal then
// goes, and which event is the last.
func (c *comparison) finish(j *journal, k, given, covered int, lost aside) {
	for c.covers < len(c.lines) && (c.lines[c.covers].seq <= given || c.covers < covered) {
		c.covers++
	}
	c.last = c.lines[len(c.lines)-1].seq
	lost.b = j.b[size(j.lines[:k]):]
	if k == len(j.lines) && c.torn(lost.b, k) {
		lost.b = nil
	}
	if k < len(j.lines) {
		lost.from = j.lines[k].seq
	}
	lost.short = j.seal.Lines > 0 && covered == 0 && len(j.b) < j.seal.Bytes
	lost.odd = j.odd
	c.aside = lost
}

// torn reports whether the bytes after the log's last line are what a crash
// leaves of the next one.
func (c *comparison) torn(b []byte, k int) bool {
	if bytes.IndexByte(b, '\n') >= 0 {
		return false
	}
	return k >= len(c.lines) || bytes.HasPrefix(c.lines[k].b, b)
}

// whose says why line number k is not the given event.
func (j *journal) whose(k int, given run.Event, e Entry, covered int) (kind, error) {
	var there run.Event
	if k >= covered || json.Unmarshal(j.lines[k].b, &there) != nil {
		return foreign, nil
	}
	later := given.TS.After(there.TS)
	n := slices.Index(j.seal.Executions, e.Execution)
	switch {
	case e.Execution == "" && !later && !given.TS.Equal(there.TS):
		return late, nil // of a worker that does not name its execution
	case e.Over, n < 0:
		return superseded, nil
	case later:
		return "", j.ahead(k)
	case n < len(j.seal.Executions)-1:
		return late, nil
	}
	return foreign, nil
}

// ahead is the error of a log whose lines from number k on the workflow does
// not know.
func (j *journal) ahead(k int) error {
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

// means reports whether both lines say the same, be it in the words of two
// versions of this program.
func means(a, b line) bool {
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
