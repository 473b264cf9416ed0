package session

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/conduct"
	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/intake"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// DefaultKeep is how long an agent's process waits for a decision. After that
// time it is stopped, and the decision resumes its session.
const DefaultKeep = 30 * time.Minute

// Pool keeps the agents that wait for a decision, one for each slot. It is safe
// for concurrent use.
type Pool struct {
	keepFor time.Duration

	mu    sync.Mutex
	waits map[string]*waitingAgent
}

type waitingAgent struct {
	key   string
	call  int
	talk  *talk
	timer *time.Timer
}

// NewPool returns a pool that keeps each agent for the given time; zero means
// DefaultKeep.
func NewPool(keep time.Duration) *Pool {
	keep = cmp.Or(keep, DefaultKeep)
	return &Pool{keepFor: keep, waits: map[string]*waitingAgent{}}
}

// takeTalk removes the conversation that waits in the slot and returns it if it
// belongs to this call and its agent lives. It ends any other conversation.
func (p *Pool) takeTalk(slot, key string, call int) *talk {
	w := p.removeAgent(slot)
	if w == nil {
		return nil
	}
	if w.key != key || w.call != call || !w.talk.Alive() {
		w.talk.endAgent()
		return nil
	}
	w.talk.resumeMessages()
	return w.talk
}

func (p *Pool) keepTalk(slot, key string, call int, t *talk) {
	w := &waitingAgent{key: key, call: call, talk: t}
	w.timer = time.AfterFunc(p.keepFor, func() { p.expireAgent(slot, w) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[slot] = w
}

func (p *Pool) removeAgent(slot string) *waitingAgent {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waits[slot]
	if w != nil {
		w.timer.Stop()
		delete(p.waits, slot)
	}
	return w
}

// expireAgent ends the waiting agent unless it has been taken.
func (p *Pool) expireAgent(slot string, w *waitingAgent) {
	p.mu.Lock()
	mine := p.waits[slot] == w
	if mine {
		delete(p.waits, slot)
	}
	p.mu.Unlock()
	if mine {
		w.talk.endAgent()
	}
}

// releaseSlot ends the agent that waits in the slot.
func (p *Pool) releaseSlot(slot string) {
	if w := p.removeAgent(slot); w != nil {
		w.talk.endAgent()
	}
}

// Stop ends the agents that wait in slots whose names begin with prefix; all for an empty one.
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
		p.releaseSlot(name)
	}
}

// talk is a conversation with an agent, from the start of its process.
type talk struct {
	agent.Session
	release func()
	unlend  func() // gives back what the agent's kit shows; nil: nothing

	text       []byte             // of the current turn
	said       []byte             // the end of it that is not in the log yet
	apart      bool               // a tool was used since the last text
	used       agent.Tokens       // of the current turn
	usedBefore run.Usage          // by the work before this turn
	asks       []agent.Permission // the requests without an answer
	tools      map[string]toolUse // the calls that run now, by their ids
	refused    []refusal          // of tools by a person, of which the agent does not know the reason
	unreached  chan string        // targets of the network that the box has refused the agent
	steering   steering
	overBudget bool // a budget is used up: the turn has been interrupted
	bytes      int64
	dir        string

	resumed    bool
	stderr     conduct.Stderr
	intake     *intake.Intake              // takes the messages of others; nil: none can reach the session
	reportLost func(controlsocket.Message) // reports a message that the intake took in vain
	unregister func()                      // makes the session unknown to others; nil: it is unknown
}

// pauseMessages lets the session take no messages while it waits for a decision,
// because it may never have a turn for them.
func (t *talk) pauseMessages() {
	if t.intake != nil {
		t.intake.Park()
	}
}

func (t *talk) resumeMessages() {
	if t.intake != nil {
		t.intake.Unpark()
	}
}

// holdKit notes how to release the kit of the agent that is started next, and releases the last agent's kit.
func (t *talk) holdKit(unlend func()) {
	if t.unlend != nil {
		t.unlend()
	}
	t.unlend = unlend
}

// endAgent stops the agent and gives the slot back. It reports the messages that
// still wait for a turn as lost.
func (t *talk) endAgent() {
	if t.intake != nil {
		for _, m := range t.intake.Close() {
			t.reportLost(m)
		}
	}
	if t.unregister != nil {
		t.unregister()
	}
	if t.Session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		_ = t.Stop(ctx) // ends the process by force if need be
	}
	t.holdKit(nil)
	t.release()
}
