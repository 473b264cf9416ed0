package openclaw

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

const (
	// ours marks the keys of sessions that we began. We go on with no other: it
	// is somebody's chat.
	ours = "ratchet-"

	// callTimeout bounds requests that nobody gives a limit of their own.
	callTimeout = 10 * time.Second
)

type session struct {
	conn  *conn
	terms terms
	queue *agent.Queue
	asks  asks
	work  sync.WaitGroup // begun by events only
	done  chan struct{}  // closed when all of it is over

	mu       sync.Mutex
	key      string
	system   string // not told yet
	turn     *turn
	farewell string // what the gateway said of its end
	stopped  bool
}

func newSession(c *conn, t terms) *session {
	return &session{conn: c, terms: t, system: t.system, queue: agent.NewQueue(), done: make(chan struct{})}
}

// open makes the session, or finds it and makes it ours again.
func (s *session) open(ctx context.Context, resume string) error {
	key := resume
	if resume == "" {
		key = fmt.Sprintf("agent:%s:%s%s", s.conn.hello.agent(), ours, uuid.NewString())
	} else if err := s.find(ctx, resume); err != nil {
		return err
	}
	var made struct {
		Key string `json:"key"`
	}
	// On a session that exists it sets the directory.
	err := s.conn.call(ctx, "sessions.create", object{"key": key, "cwd": s.terms.dir}, &made)
	if r, ok := errors.AsType[*refusal](err); ok && r.Details.Missing == "operator.admin" {
		return refuse("the gateway lets no session work in %s: make it, or a directory above it, the workspace of one of its agents", s.terms.dir)
	}
	if err != nil {
		return err
	}
	settings := object{"key": made.Key, "permissionMode": orNull(s.terms.mode), "model": orNull(s.terms.model)}
	if err := s.conn.call(ctx, "sessions.patch", settings, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = made.Key
	if resume != "" {
		s.system = ""
	}
	s.queue.Put(agent.Started{SessionID: made.Key, Resumed: resume != ""})
	return nil
}

// find looks for a session of ours, and ends what still runs in it: a run
// outlives the connection that began it, and nobody would read it.
func (s *session) find(ctx context.Context, key string) error {
	parts := strings.SplitN(key, ":", 3)
	if len(parts) != 3 || !strings.HasPrefix(parts[2], ours) {
		return fmt.Errorf("%w: %q is none of Ratchet's", agent.ErrNoSession, key)
	}
	var found struct {
		Session *struct{} `json:"session"`
	}
	if err := s.conn.call(ctx, "sessions.describe", object{"key": key}, &found); err != nil {
		return err
	}
	if found.Session == nil {
		return agent.ErrNoSession
	}
	return s.conn.call(ctx, "chat.abort", object{"sessionKey": key}, nil)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// abandon ends a session that did not begin.
func (s *session) abandon() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.conn.close(ctx)
	<-s.done
	s.queue.Drop()
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// PID is zero: the gateway is none of ours.
func (*session) PID() int { return 0 }

func (s *session) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive()
}

func (s *session) alive() bool {
	select {
	case <-s.conn.done:
		return false
	default:
		return !s.stopped
	}
}

func (s *session) Events() <-chan agent.Event { return s.queue.C() }
