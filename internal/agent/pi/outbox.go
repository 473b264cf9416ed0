package pi

import "sync"

// outbox writes lines to pi in order. Putting one never waits: whoever reads
// what pi says must not be held up by a pi that does not read.
type outbox struct {
	write func(line []byte) error
	done  chan struct{}

	mu     sync.Mutex
	more   *sync.Cond
	lines  [][]byte
	closed bool
}

func newOutbox(write func([]byte) error) *outbox {
	o := &outbox{write: write, done: make(chan struct{})}
	o.more = sync.NewCond(&o.mu)
	go o.deliver()
	return o
}

func (o *outbox) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, line)
	o.more.Signal()
}

// close drops what has not been written. A write under way must end by itself.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.more.Signal()
	o.mu.Unlock()
	<-o.done
}

// deliver ends with the outbox, or when pi reads no longer: its exit says why.
func (o *outbox) deliver() {
	defer close(o.done)
	for {
		line, ok := o.next()
		if !ok || o.write(line) != nil {
			return
		}
	}
}

func (o *outbox) next() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 && !o.closed {
		o.more.Wait()
	}
	if o.closed {
		return nil, false
	}
	line := o.lines[0]
	o.lines = o.lines[1:]
	return line, true
}
