package review_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// events is an open stream of changes.
type events struct {
	code  int
	lines *bufio.Scanner
	close func()
}

func (v *visitor) follow(path string) *events {
	v.s.t.Helper()
	ctx, cancel := context.WithCancel(v.s.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.s.server.Place().Address+path, nil)
	if err != nil {
		v.s.t.Fatal(err)
	}
	req.Host = v.host
	req.Header.Set("Cookie", v.cookie)
	resp, err := (&http.Transport{}).RoundTrip(req) // a connection of its own
	if err != nil {
		v.s.t.Fatal(err)
	}
	stop := func() {
		cancel()
		_ = resp.Body.Close()
	}
	v.s.t.Cleanup(stop)
	return &events{resp.StatusCode, bufio.NewScanner(resp.Body), stop}
}

// next waits for the next event but beats.
func (e *events) next() string {
	for e.lines.Scan() {
		if name, ok := strings.CutPrefix(e.lines.Text(), "event: "); ok && name != "beat" {
			return name
		}
	}
	return "the end"
}

// awaitFollower waits until one follower of the run has begun, and fails if there are more.
func (e *engine) awaitFollower(t *testing.T) {
	t.Helper()
	eventually.Holds(t, "the run is followed", func() bool { return e.followed() > 0 })
	if n := e.followed(); n != 1 {
		t.Errorf("%d followers of one run", n)
	}
}

func (e *engine) followed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.followers
}

// A page that was made before the stream began misses nothing, and each change is told to all pages that are open.
func TestAStreamTellsOfChanges(t *testing.T) {
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	streams := []*events{v.follow("/runs/r1/live"), s.enter("jo").follow("/runs/r1/live")}
	for i, stream := range streams {
		if got := stream.next(); got != "changed" || stream.code != http.StatusOK {
			t.Errorf("stream %d begins with %q, %d", i, got, stream.code)
		}
	}
	s.engine.awaitFollower(t) // a real one tells what was before it, too
	for range 3 {
		if err := s.engine.NoteOnce(t.Context(), runID, "", run.Note{Text: "use tabs"}); err != nil {
			t.Fatal(err)
		}
		for i, stream := range streams {
			if got := stream.next(); got != "changed" {
				t.Errorf("stream %d tells %q", i, got)
			}
		}
	}
	all := v.follow("/live")
	all.next()
	all.next() // the list that is read first
	v.post(decidePath, v.yes())
	if got := all.next(); got != "changed" {
		t.Errorf("the queue is told %q", got)
	}
	s.server.Stop()
	if got := all.next(); got != "the end" {
		t.Errorf("a page that has ended tells %q", got)
	}
}

// Streams are bounded: what is over is refused, the others share one follower of the run, the page goes on, and a
// stream that ends makes room.
func TestManyStreams(t *testing.T) {
	const most = 200
	s := atGate(t, review.Config{})
	v := s.enter("kim")
	var open []*events
	for range most {
		stream := v.follow("/runs/r1/live")
		if stream.code != http.StatusOK {
			t.Fatalf("stream %d is answered with %d", len(open), stream.code)
		}
		open = append(open, stream)
	}
	for range 3 {
		if over := v.follow("/runs/r1/live"); over.code != http.StatusTooManyRequests {
			t.Errorf("one more is answered with %d", over.code)
		}
	}
	s.engine.awaitFollower(t)
	if r := v.get("/runs/r1"); r.code != http.StatusOK {
		t.Errorf("the page: %d", r.code)
	}
	open[0].close()
	eventually.Holds(t, "a stream that has ended makes room", func() bool {
		again := v.follow("/runs/r1/live")
		defer again.close()
		return again.code == http.StatusOK
	})
	for _, stream := range open {
		stream.close()
	}
	eventually.Holds(t, "the follower ends with the last stream", func() bool { return s.engine.followed() == 0 })
}
