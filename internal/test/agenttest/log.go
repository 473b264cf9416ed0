package agenttest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Patience is how long a test waits for an event that must come. An event that takes
// longer counts as missing.
const Patience = 5 * time.Minute

// Log reads the events of a session for one test, and keeps them: a wait that fails
// reports the events so far. It is for one goroutine.
type Log struct {
	t      testing.TB
	s      agent.Session
	events []agent.Event
	closed bool
}

// Watch begins a log, which must be the only reader of the session's events.
func Watch(t testing.TB, s agent.Session) *Log { return &Log{t: t, s: s} }

// Events returns the events read so far.
func (l *Log) Events() []agent.Event { return l.events }

// Until reads up to an event that passes, and returns it.
func (l *Log) Until(what string, passes func(agent.Event) bool) agent.Event {
	l.t.Helper()
	limit := time.After(Patience)
	for {
		e, ok := l.readEvent(what, limit)
		if !ok {
			l.t.Fatalf("the events ended before %s:%s", what, l)
		}
		if passes(e) {
			return e
		}
	}
}

// Next reads up to the next event of a type.
func Next[E agent.Event](l *Log) E {
	l.t.Helper()
	var next E
	l.Until(fmt.Sprintf("a %T", next), func(e agent.Event) (ok bool) {
		next, ok = e.(E)
		return ok
	})
	return next
}

// Poll reads events of any type until done returns true.
func (l *Log) Poll(what string, done func() bool) {
	l.t.Helper()
	limit := time.After(Patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		events := l.s.Events()
		if l.closed {
			events = nil
		}
		select {
		case e, ok := <-events:
			l.keepEvent(e, ok)
		case <-tick.C:
		case <-limit:
			l.t.Fatalf("no %s within %v:%s", what, Patience, l)
		}
	}
}

// Rest reads to the end of the events.
func (l *Log) Rest() {
	l.t.Helper()
	limit := time.After(Patience)
	for {
		if _, ok := l.readEvent("the end of the events", limit); !ok {
			return
		}
	}
}

// Turn sends a message and reads to the end of its turn. It returns the events of
// the turn.
func (l *Log) Turn(text string) (turn agent.Turn, events []agent.Event) {
	l.t.Helper()
	from := len(l.events)
	l.Send(text)
	turn = Next[agent.Turn](l)
	return turn, l.events[from:]
}

// Send begins a turn.
func (l *Log) Send(text string) {
	l.t.Helper()
	if err := l.s.Send(l.t.Context(), text); err != nil {
		l.t.Fatalf("send %.200q: %v%s", text, err, l)
	}
}

func (l *Log) readEvent(what string, limit <-chan time.Time) (agent.Event, bool) {
	l.t.Helper()
	select {
	case e, ok := <-l.s.Events():
		l.keepEvent(e, ok)
		return e, ok
	case <-limit:
		l.t.Fatalf("no %s within %v:%s", what, Patience, l)
		return nil, false
	}
}

func (l *Log) keepEvent(e agent.Event, ok bool) {
	l.t.Helper()
	if l.closed = !ok; ok {
		l.events = append(l.events, e)
	}
	if ok && reflect.TypeOf(e).Kind() == reflect.Pointer {
		l.t.Fatalf("a pointer to an event, which no switch takes for one:%s", l)
	}
}

// String lists the events, a line each.
func (l *Log) String() string {
	var lines strings.Builder
	for _, e := range l.events {
		fmt.Fprintf(&lines, "\n\t%T %.400s", e, describeEvent(e))
	}
	return lines.String()
}

// describeEvent formats an event with its bytes as text.
func describeEvent(e agent.Event) string {
	switch e := e.(type) {
	case agent.Raw:
		return string(e.Frame)
	case agent.Notice:
		return fmt.Sprintf("%s stall=%v %s", e.Name, e.Stall, e.Data)
	case agent.ToolUse:
		return fmt.Sprintf("%s %s %s", e.CallID, e.Tool, e.Input)
	case agent.Permission:
		return fmt.Sprintf("%s %s %s title=%q reason=%q dir=%s paths=%q edit=%v", e.CallID, e.Tool, e.Input, e.Title, e.Reason, e.Dir, e.Paths, e.Edit)
	default:
		return fmt.Sprintf("%+v", e)
	}
}

// All returns the events of one type.
func All[E agent.Event](events []agent.Event) []E {
	var all []E
	for _, e := range events {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// Said returns the text of all Text events.
func Said(events []agent.Event) string {
	var all strings.Builder
	for _, t := range All[agent.Text](events) {
		all.WriteString(t.Text)
	}
	return all.String()
}
