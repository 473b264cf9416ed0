package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/controlsocket/inlet"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// DefaultKeep is how long an agent's process waits for a decision. After that
// it is stopped; the decision resumes its session.
const DefaultKeep = 30 * time.Minute

// Pool keeps the agents that wait for a decision, one for each slot. It is
// safe for concurrent use.
type Pool struct {
	keepFor time.Duration

	mu    sync.Mutex
	waits map[string]*waiting
}

type waiting struct {
	key   string
	call  int
	talk  *talk
	timer *time.Timer
}

// NewPool makes a pool that keeps an agent for as long as given; zero is
// DefaultKeep.
func NewPool(keep time.Duration) *Pool {
	if keep == 0 {
		keep = DefaultKeep
	}
	return &Pool{keepFor: keep, waits: map[string]*waiting{}}
}

// take returns the conversation that waits in the slot, when it is the call's
// own and its agent lives; any other is ended.
func (p *Pool) take(slot, key string, call int) *talk {
	w := p.remove(slot)
	if w == nil {
		return nil
	}
	if w.key != key || w.call != call || !w.talk.Alive() {
		w.talk.end()
		return nil
	}
	w.talk.unpark()
	return w.talk
}

func (p *Pool) keep(slot, key string, call int, t *talk) {
	w := &waiting{key: key, call: call, talk: t}
	w.timer = time.AfterFunc(p.keepFor, func() { p.drop(slot, w) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[slot] = w
}

func (p *Pool) remove(slot string) *waiting {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waits[slot]
	if w != nil {
		w.timer.Stop()
		delete(p.waits, slot)
	}
	return w
}

// drop ends the agent that waits, unless somebody has taken it.
func (p *Pool) drop(slot string, w *waiting) {
	p.mu.Lock()
	mine := p.waits[slot] == w
	if mine {
		delete(p.waits, slot)
	}
	p.mu.Unlock()
	if mine {
		w.talk.end()
	}
}

// release ends the agent that waits in the slot.
func (p *Pool) release(slot string) {
	if w := p.remove(slot); w != nil {
		w.talk.end()
	}
}

// Stop ends the agents that wait in slots whose names begin so.
func (p *Pool) Stop(prefix string) {
	p.mu.Lock()
	var found []string
	for name := range p.waits {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	p.mu.Unlock()
	for _, name := range found {
		p.release(name)
	}
}

// Close ends all of them.
func (p *Pool) Close() { p.Stop("") }

// talk is a conversation with an agent, from the start of its process on.
type talk struct {
	agent.Session
	release func()

	text   []byte             // of the turn under way
	used   agent.Tokens       // of the turn under way
	before run.Usage          // of the work before this turn
	asks   []agent.Permission // that nobody has answered
	tools  map[string]bool    // that run now
	over   bool               // a budget is used up: the turn has been interrupted
	bytes  int64
	dir    string

	resumed bool
	stderr  stderr
	inlet   *inlet.Inlet                // for others; nil: none can reach it
	lost    func(controlsocket.Message) // tells of a message that the inlet took in vain
	leave   func()                      // makes it unknown to them; nil: it is
}

// park has the session take no messages while it waits for a decision: whether
// it will ever have a turn for them is not known.
func (t *talk) park() {
	if t.inlet != nil {
		t.inlet.Park()
	}
}

func (t *talk) unpark() {
	if t.inlet != nil {
		t.inlet.Unpark()
	}
}

// end stops the agent and gives the slot back. It tells of the messages that
// still wait for a turn.
func (t *talk) end() {
	if t.inlet != nil {
		for _, m := range t.inlet.Close() {
			t.lost(m)
		}
	}
	if t.leave != nil {
		t.leave()
	}
	if t.Session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		_ = t.Stop(ctx) // by force at the latest
	}
	t.release()
}
