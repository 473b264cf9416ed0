package agent

import "sync"

// mostUnread bounds the events that wait in a queue, in bytes. One event more than that may come.
const mostUnread = 64 << 20

// Queue is the event stream of a session. Put never blocks, so that an agent
// keeps working while its events are not read yet. The caller of Put must call AwaitRoom
// before it reads more of the agent's output, which could fill the memory of the worker.
// NewQueue makes one.
type Queue struct {
	out chan Event

	mu     sync.Mutex
	ready  *sync.Cond
	events []Event
	size   int           // bytes of events, about
	room   chan struct{} // closed when there is room again; nil: no sender waits for it
	closed bool          // no more events
	gone   chan struct{} // closed by Drop
}

// NewQueue starts a queue. Close or Drop ends it.
func NewQueue() *Queue {
	q := &Queue{out: make(chan Event), gone: make(chan struct{})}
	q.ready = sync.NewCond(&q.mu)
	go q.deliverEvents()
	return q
}

// C returns the channel of the events. It is closed after the last event.
func (q *Queue) C() <-chan Event { return q.out }

// Put adds an event. After Close or Drop it does nothing.
func (q *Queue) Put(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.events = append(q.events, e)
	q.size += sizeOf(e)
	q.ready.Signal()
}

// AwaitRoom returns when the queue has room, takes no more events, or stop is closed.
func (q *Queue) AwaitRoom(stop <-chan struct{}) {
	q.mu.Lock()
	if q.closed || q.size <= mostUnread {
		q.mu.Unlock()
		return
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	room := q.room
	q.mu.Unlock()
	select {
	case <-room:
	case <-stop:
	}
}

// signalRoom is called with the lock held.
func (q *Queue) signalRoom() {
	if q.room != nil && (q.closed || q.size <= mostUnread) {
		close(q.room)
		q.room = nil
	}
}

// sizeOf returns about how many bytes an event takes.
func sizeOf(e Event) int {
	const least = 128
	switch e := e.(type) {
	case Text:
		return least + len(e.Text)
	case ToolUse:
		return least + len(e.Input)
	case ToolResult:
		return least + len(e.Output)
	case Permission:
		return least + len(e.Input) + len(e.Title) + len(e.Reason)
	case Turn:
		return least + len(e.Text)
	case Notice:
		return least + len(e.Data)
	case Raw:
		return least + len(e.Frame)
	}
	return least
}

// Close closes C after the waiting events have been read. Unless e is nil, it is
// added as the last event.
func (q *Queue) Close(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if e != nil {
		q.events = append(q.events, e)
	}
	q.closed = true
	q.signalRoom()
	q.ready.Signal()
}

// Drop closes C without waiting for a reader. The waiting events are lost.
func (q *Queue) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.gone:
	default:
		close(q.gone)
	}
	q.closed, q.events = true, nil
	q.signalRoom()
	q.ready.Signal()
}

// deliverEvents passes the events on to C, until the queue ends.
func (q *Queue) deliverEvents() {
	defer close(q.out)
	for {
		e, ok := q.nextEvent()
		if !ok {
			return
		}
		select {
		case q.out <- e:
		case <-q.gone:
			return
		}
	}
}

// nextEvent waits for an event and removes it. It returns false after the last.
func (q *Queue) nextEvent() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.events) == 0 && !q.closed {
		q.ready.Wait()
	}
	if len(q.events) == 0 {
		return nil, false
	}
	e := q.events[0]
	q.events[0] = nil
	q.events = q.events[1:]
	q.size -= sizeOf(e)
	q.signalRoom()
	return e, true
}
