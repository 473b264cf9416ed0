package review

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// live tells open pages that what they show has changed. It looks at the record on this disk, which a worker writes
// before each step and before each wait: one look at a file, and no question to the engine.
type live struct {
	record Record
	free   chan struct{} // a place for each stream that may be open
}

const (
	// maxStreams bounds the open streams of all browsers.
	maxStreams = 200
	// lookEvery is the pace of the looks of an open page.
	lookEvery = 25 * time.Millisecond
	// beatEvery is the pace of lines that keep proxies from closing a stream. What a run does at the moment, such as the
	// tool that its agent uses, changes without an event: pages look for it at this pace.
	beatEvery = 5 * time.Second
)

func newLive(record Record) *live { return &live{record, make(chan struct{}, maxStreams)} }

// streamRun tells the changes of one run.
func (l *live) streamRun(w http.ResponseWriter, r *http.Request, id run.ID) {
	l.streamEvents(w, r, func() string { return l.record.Mark(id) })
}

// streamAll tells the changes of all runs.
func (l *live) streamAll(w http.ResponseWriter, r *http.Request) {
	l.streamEvents(w, r, l.record.MarkAll)
}

// streamEvents sends an event each time that mark changes, until the browser leaves. Its first event names the mark,
// so that a page that was made before it does not miss a change.
func (l *live) streamEvents(w http.ResponseWriter, r *http.Request, mark func() string) {
	select {
	case l.free <- struct{}{}:
		defer func() { <-l.free }()
	default:
		http.Error(w, "too many pages are open", http.StatusTooManyRequests)
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // the stream ends with the browser
	_ = control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	s := stream{w: w, control: control}
	for s.waitForChange(r.Context(), mark) {
	}
}

// stream is one open stream.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    string
	began   bool
	beat    time.Time
}

// waitForChange looks once and waits. It reports false when the browser has left.
func (s *stream) waitForChange(ctx context.Context, mark func() string) bool {
	now := mark()
	switch {
	case !s.began || now != s.sent:
		s.began, s.sent, s.beat = true, now, time.Now()
		if !s.write("event: changed\ndata: " + now + "\n\n") {
			return false
		}
	case time.Since(s.beat) > beatEvery:
		s.beat = time.Now()
		if !s.write("event: beat\ndata:\n\n") {
			return false
		}
	}
	wait := time.NewTimer(lookEvery)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

func (s *stream) write(text string) bool {
	if _, err := fmt.Fprint(s.w, text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
