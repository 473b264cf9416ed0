package review

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

// live lets open pages load their content again. The pages of one run share one follower of its history, which the
// engine wakes. The pages of a session share one follower that polls its state, and the pages of all runs share one that
// polls the list of open runs, because the engine offers nothing to wait for.
type live struct {
	runs     Runs
	sessions Sessions      // nil: none are followed
	free     chan struct{} // a place for each stream that may be open
	patience time.Duration // with a browser that reads nothing

	mu     sync.Mutex
	topics map[run.ID]*topic // by the run, or sessionTopic and the session; the empty id is all of both
}

// topic is what open streams wait for. It ends with the last of them.
type topic struct {
	streams map[chan struct{}]struct{}
	stop    context.CancelFunc
}

const (
	// maxStreams bounds the open streams of all browsers.
	maxStreams = 200
	// listEvery is the pace at which the list of runs is asked for while a page of it is open. The engine answers ten
	// lists in a second, and holds back what comes faster.
	listEvery = 500 * time.Millisecond
	// beatEvery is the pace of lines that keep proxies from closing a stream. What a run does at the moment, such as the
	// tool that its agent uses, changes without an event: pages look for it at this pace.
	beatEvery = 5 * time.Second
	// writePatience bounds the wait for a browser that does not read.
	writePatience = 10 * time.Second
)

func newLive(engine Runs, s Sessions) *live {
	return &live{runs: engine, sessions: s, free: make(chan struct{}, maxStreams), patience: writePatience, topics: map[run.ID]*topic{}}
}

// watch returns a channel that holds a value when the topic has changed since the last one was taken. stop ends it.
func (l *live) watch(id run.ID) (changed <-chan struct{}, stop func()) {
	stream := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	if t == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t = &topic{streams: map[chan struct{}]struct{}{}, stop: cancel}
		l.topics[id] = t
		go l.follow(ctx, id, t)
	}
	t.streams[stream] = struct{}{}
	return stream, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(t.streams, stream)
		if len(t.streams) == 0 {
			t.stop()
			delete(l.topics, id)
		}
	}
}

// follow reports each change to the streams of a topic until ctx ends.
func (l *live) follow(ctx context.Context, id run.ID, t *topic) {
	changes := l.listChanges
	if name, ok := strings.CutPrefix(string(id), sessionTopic); ok {
		changes = func(ctx context.Context) <-chan struct{} { return l.sessionChanges(ctx, session.ID(name)) }
	} else if id != "" {
		changes = func(ctx context.Context) <-chan struct{} { return l.runs.Changes(ctx, id) }
	}
	for changed := changes(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			l.tell(t)
		}
	}
}

// wake reports a change that the engine does not know to the streams of a run.
func (l *live) wake(id run.ID) {
	l.mu.Lock()
	t := l.topics[id]
	l.mu.Unlock()
	if t != nil {
		l.tell(t)
	}
}

func (l *live) tell(t *topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stream := range t.streams {
		select {
		case stream <- struct{}{}:
		default: // one is waiting to be taken
		}
	}
}

// sessionTopic begins the topic of a session. No id of a run has a colon.
const sessionTopic = "session:"

// sessionChanges returns a channel that holds a value when the state of a session has changed. It ends with ctx.
func (l *live) sessionChanges(ctx context.Context, id session.ID) <-chan struct{} {
	return pollChanges(ctx, func() (string, error) {
		s, err := l.sessions.State(ctx, id)
		if err != nil {
			return "", err
		}
		b, err := json.Marshal([]any{s.State, s.Since, s.Asks, s.Question, s.Past})
		return string(b), err
	})
}

// listChanges returns a channel that holds a value when the list of the open runs, or of the sessions that ask, has
// changed. It ends with ctx.
func (l *live) listChanges(ctx context.Context) <-chan struct{} {
	return pollChanges(ctx, func() (string, error) {
		open, err := l.runs.List(ctx, runs.Filter{Open: true, Max: maxListed})
		if err != nil || l.sessions == nil {
			return fmt.Sprint(open), err
		}
		asking, err := l.sessions.Asking(ctx)
		return fmt.Sprint(open, asking), err
	})
}

// pollChanges looks at intervals, and reports a change.
func pollChanges(ctx context.Context, look func() (string, error)) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for last := ""; ctx.Err() == nil; {
			if now, err := look(); err == nil && now != last {
				last = now
				select {
				case changed <- struct{}{}:
				default:
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(listEvery):
			}
		}
	}()
	return changed
}

// stream sends an event at once, so that a page that was made before it misses no change, and with each change of the
// run, until the browser leaves. The empty id is all runs.
func (l *live) stream(w http.ResponseWriter, r *http.Request, id run.ID) {
	select {
	case l.free <- struct{}{}:
		defer func() { <-l.free }()
	default:
		http.Error(w, "too many pages are open", http.StatusTooManyRequests)
		return
	}
	changed, stop := l.watch(id)
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	control := http.NewResponseController(w)
	for event := "changed"; l.writeEvent(w, control, event); {
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			event = "changed"
		case <-beat.C:
			event = "beat"
		}
	}
}

// writeEvent sends an event without content. It reports false when the browser has left or does not read.
func (l *live) writeEvent(w io.Writer, control *http.ResponseController, event string) bool {
	if control.SetWriteDeadline(time.Now().Add(l.patience)) != nil {
		return false
	}
	_, err := fmt.Fprintf(w, "event: %s\ndata:\n\n", event)
	return err == nil && control.Flush() == nil
}
