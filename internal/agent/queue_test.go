package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

func text(i int) agent.Event { return agent.Text{Text: fmt.Sprint(i)} }

func read(q *agent.Queue) []agent.Event {
	var all []agent.Event
	for e := range q.C() {
		all = append(all, e)
	}
	return all
}

func TestQueueKeepsTheOrderWithoutAReader(t *testing.T) {
	q := agent.NewQueue()
	var want []agent.Event
	for i := range 1000 {
		q.Put(text(i))
		want = append(want, text(i))
	}
	exit := agent.Exit{Code: 1}
	q.Close(exit)
	if got := read(q); !slices.Equal(got, append(want, exit)) {
		t.Errorf("%d events came out", len(got))
	}
}

func TestQueueTakesNothingAfterItsEnd(t *testing.T) {
	for name, end := range map[string]func(*agent.Queue){
		"closed":                   func(q *agent.Queue) { q.Close(nil) },
		"closed twice":             func(q *agent.Queue) { q.Close(nil); q.Close(agent.Exit{}) },
		"dropped":                  func(q *agent.Queue) { q.Drop() },
		"dropped twice":            func(q *agent.Queue) { q.Drop(); q.Drop() },
		"dropped, and then closed": func(q *agent.Queue) { q.Drop(); q.Close(agent.Exit{}) },
	} {
		q := agent.NewQueue()
		end(q)
		q.Put(text(1))
		if got := read(q); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A queue that is dropped may have an event on its way out, or several waiting.
func TestADroppedQueueNeedsNoReader(t *testing.T) {
	for _, closed := range []bool{false, true} {
		q := agent.NewQueue()
		for i := range 10 {
			q.Put(text(i))
		}
		if closed {
			q.Close(agent.Exit{})
		}
		q.Drop()
		if got := read(q); len(got) > 1 {
			t.Errorf("closed before: %v; %d events came out", closed, len(got))
		}
	}
}

func TestAQueueIsForManyWriters(t *testing.T) {
	q := agent.NewQueue()
	const writers, each = 8, 200
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				q.Put(agent.Text{Text: fmt.Sprintf("%d %03d", w, i)})
			}
		})
	}
	go func() {
		all.Wait()
		q.Close(nil)
	}()
	last := map[string]string{}
	events := read(q)
	for _, e := range events {
		said := e.(agent.Text).Text
		if writer := said[:1]; said <= last[writer] {
			t.Fatalf("%q after %q", said, last[writer])
		}
		last[said[:1]] = said
	}
	if len(events) != writers*each {
		t.Errorf("%d events came out", len(events))
	}
}

// The queue holds more than it has room for until somebody reads, or nobody will read any more.
func TestAFullQueueHasNoRoom(t *testing.T) {
	big := agent.Text{Text: strings.Repeat("x", 65<<20)}
	stop := make(chan struct{})
	close(stop)
	for name, end := range map[string]func(*agent.Queue) <-chan struct{}{
		"it is read":        func(q *agent.Queue) <-chan struct{} { <-q.C(); <-q.C(); return nil },
		"it is closed":      func(q *agent.Queue) <-chan struct{} { q.Close(nil); return nil },
		"it is dropped":     func(q *agent.Queue) <-chan struct{} { q.Drop(); return nil },
		"the wait is ended": func(*agent.Queue) <-chan struct{} { return stop },
	} {
		t.Run(name, func(t *testing.T) {
			q := agent.NewQueue()
			defer q.Drop()
			q.AwaitRoom(nil) // an empty one has room
			for range 2 {    // one is on its way out
				q.Put(big)
			}
			waits := make(chan struct{})
			go func() {
				q.AwaitRoom(nil)
				close(waits)
			}()
			select {
			case <-waits:
				t.Fatal("there is room")
			case <-time.After(20 * time.Millisecond): // if it is too short, the test proves less
			}
			if stop := end(q); stop != nil {
				q.AwaitRoom(stop)
				q.Drop()
			}
			<-waits
		})
	}
}
