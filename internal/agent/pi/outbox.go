package pi

import "sync"

// outbox writes lines to pi in order. Queueing a line never waits: a pi that does
// not read must not block the goroutine that reads pi's output.
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
	go o.writeLines()
	return o
}

func (o *outbox) queueLine(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, line)
	o.more.Signal()
}

// closeOutbox drops the lines that are not written. A write in progress must end by
// itself.
func (o *outbox) closeOutbox() {
	o.mu.Lock()
	o.closed = true
	o.more.Signal()
	o.mu.Unlock()
	<-o.done
}

// writeLines ends when the outbox is closed, or when pi no longer reads. Pi's exit
// says why.
func (o *outbox) writeLines() {
	defer close(o.done)
	for {
		line, ok := o.nextLine()
		if !ok || o.write(line) != nil {
			return
		}
	}
}

func (o *outbox) nextLine() ([]byte, bool) {
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
