package agenttest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// Patience is how long a test waits for what must happen. Whatever takes longer
// never comes.
const Patience = time.Minute

// Log reads the events of a session for one test, and keeps them: a wait that
// fails shows what there was. It is for one goroutine.
type Log struct {
	t      testing.TB
	s      agent.Session
	events []agent.Event
	closed bool
}

// Watch begins a log. Nobody else may read the session's events.
func Watch(t testing.TB, s agent.Session) *Log { return &Log{t: t, s: s} }

// Events are those read so far.
func (l *Log) Events() []agent.Event { return l.events }

// Until reads up to an event that passes, and returns it.
func (l *Log) Until(what string, passes func(agent.Event) bool) agent.Event {
	l.t.Helper()
	limit := time.After(Patience)
	for {
		e, ok := l.read(what, limit)
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

// Poll reads until done says yes, whatever comes.
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
			l.keep(e, ok)
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
		if _, ok := l.read("the end of the events", limit); !ok {
			return
		}
	}
}

// Turn sends a message and reads to the end of its turn. Events are those of
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

func (l *Log) read(what string, limit <-chan time.Time) (agent.Event, bool) {
	l.t.Helper()
	select {
	case e, ok := <-l.s.Events():
		l.keep(e, ok)
		return e, ok
	case <-limit:
		l.t.Fatalf("no %s within %v:%s", what, Patience, l)
		return nil, false
	}
}

func (l *Log) keep(e agent.Event, ok bool) {
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
		fmt.Fprintf(&lines, "\n\t%T %.400s", e, describe(e))
	}
	return lines.String()
}

// describe writes out what would else be numbers of bytes.
func describe(e agent.Event) string {
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

// All are the events of a type.
func All[E agent.Event](events []agent.Event) []E {
	var all []E
	for _, e := range events {
		if e, ok := e.(E); ok {
			all = append(all, e)
		}
	}
	return all
}

// Said is the text that events add up to.
func Said(events []agent.Event) string {
	var all strings.Builder
	for _, t := range All[agent.Text](events) {
		all.WriteString(t.Text)
	}
	return all.String()
}
