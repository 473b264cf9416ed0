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
	// keyPrefix marks the keys of sessions that we began. We resume no other
	// session, because it is the chat of a person.
	keyPrefix = "ratchet-"

	// callTimeout bounds requests without a limit of their own.
	callTimeout = 10 * time.Second
)

type session struct {
	conn      *conn
	terms     sessionTerms
	queue     *agent.Queue
	approvals approvalList
	work      sync.WaitGroup // begun by events only
	done      chan struct{}  // closed when the connection and all work have ended

	mu       sync.Mutex
	key      string
	system   string // not sent yet
	turn     *turn
	farewell string // the gateway's reason for its end
	stopped  bool
}

// openSession makes the session, or finds it and makes it ours again.
func (s *session) openSession(ctx context.Context, resume string) error {
	key := resume
	if resume == "" {
		key = fmt.Sprintf("agent:%s:%s%s", s.conn.hello.defaultAgent(), keyPrefix, uuid.NewString())
	} else if err := s.findSession(ctx, resume); err != nil {
		return err
	}
	var made struct {
		Key string `json:"key"`
	}
	// For an existing session, this sets the directory.
	err := s.conn.callGateway(ctx, "sessions.create", object{"key": key, "cwd": s.terms.dir}, &made)
	if r, ok := errors.AsType[*refusal](err); ok && r.Details.Missing == "operator.admin" {
		return badRequest("the gateway allows no session in %s: make it, or a directory above it, the workspace of one of its agents", s.terms.dir)
	}
	if err != nil {
		return err
	}
	settings := object{"key": made.Key, "permissionMode": orNull(s.terms.mode), "model": orNull(s.terms.model)}
	if err := s.conn.callGateway(ctx, "sessions.patch", settings, nil); err != nil {
		return err
	}
	begun := resume != "" && s.hasMessages(ctx, made.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = made.Key
	if begun {
		s.system = ""
	}
	s.queue.Put(agent.Started{SessionID: made.Key, Resumed: resume != ""})
	return nil
}

// hasMessages reports whether the session has had its first message, with which the system prompt goes: a process may have
// ended before it. A history that cannot be read counts as one with a message.
func (s *session) hasMessages(ctx context.Context, key string) bool {
	if s.terms.system == "" {
		return true
	}
	var h history
	err := s.conn.callGateway(ctx, "chat.history", object{"sessionKey": key, "limit": 1, "maxChars": 1}, &h)
	return err != nil || len(h.Messages) > 0
}

// findSession searches for a session of ours, and ends a run in it: a run outlives
// the connection that began it, and its events would not be read.
func (s *session) findSession(ctx context.Context, key string) error {
	parts := strings.SplitN(key, ":", 3)
	if len(parts) != 3 || !strings.HasPrefix(parts[2], keyPrefix) {
		return fmt.Errorf("%w: %q is not a session of Ratchet", agent.ErrNoSession, key)
	}
	var found struct {
		Session *struct{} `json:"session"`
	}
	if err := s.conn.callGateway(ctx, "sessions.describe", object{"key": key}, &found); err != nil {
		return err
	}
	if found.Session == nil {
		return agent.ErrNoSession
	}
	return s.conn.callGateway(ctx, "chat.abort", object{"sessionKey": key}, nil)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// abandonStart ends a session whose start failed.
func (s *session) abandonStart() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.conn.closeConn(ctx)
	<-s.done
	s.queue.Drop()
}

func (s *session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// PID returns zero: the gateway is no process of ours.
func (*session) PID() int { return 0 }

func (s *session) Alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isAlive()
}

func (s *session) isAlive() bool {
	select {
	case <-s.conn.done:
		return false
	default:
		return !s.stopped
	}
}

func (s *session) Events() <-chan agent.Event { return s.queue.C() }
