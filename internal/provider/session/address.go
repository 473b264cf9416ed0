package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// Host lets other sessions of this host reach one of ours while its agent
// lives.
type Host interface {
	// Open makes the session known by a garden id: by the one given, or by a new
	// one where it is empty. Close makes it unknown again. A host that has nobody
	// to tell returns an empty id, and close does nothing.
	Open(ctx context.Context, id dispatch.GardenID, dir, model string, s controlsocket.Session) (known dispatch.GardenID, close func(), err error)
}

// maxPosted bounds the messages that wait for their turn.
const maxPosted = 32

var (
	errFull  = errors.New("too many messages wait for their turn already")
	errOwned = errors.New("the turn belongs to a run: cancel the run to end it")
)

// address is where others reach the session of a talk. What they send has a
// turn of its own, after the one under way and before the work is taken.
type address struct {
	mu     sync.Mutex
	id     dispatch.GardenID
	dir    string
	model  string
	closed bool
	posted []string
	last   *controlsocket.LastMessage
}

// Info implements controlsocket.Session. A session at work is never idle.
func (a *address) Info(context.Context) (controlsocket.Info, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	info := controlsocket.Info{SessionID: string(a.id), CWD: a.dir, Idle: false}
	if a.model != "" {
		info.Model = &controlsocket.Model{ID: a.model}
	}
	return info, nil
}

// Send implements controlsocket.Session.
func (a *address) Send(_ context.Context, m controlsocket.Message) (dispatch.Delivery, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return "", controlsocket.ErrNotReady
	case len(a.posted) == maxPosted:
		return "", errFull
	}
	a.posted = append(a.posted, m.Prompt())
	return dispatch.Followed, nil
}

// LastMessage implements controlsocket.Session.
func (a *address) LastMessage(context.Context) (*controlsocket.LastMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last, nil
}

// Abort implements controlsocket.Session.
func (*address) Abort(context.Context) error { return errOwned }

// next takes the message whose turn it is; without one nobody can post any
// more.
func (a *address) next() (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.posted) == 0 {
		a.closed = true
		return "", false
	}
	text := a.posted[0]
	a.posted = a.posted[1:]
	return text, true
}

func (a *address) said(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = &controlsocket.LastMessage{Role: "assistant", Content: text, Timestamp: time.Now().UnixMilli()}
}

// open makes the session known. That it could not be is no reason not to work.
func (c *call) open(ctx context.Context) {
	if c.Host == nil || c.talk.leave != nil {
		return
	}
	a := &c.talk.address
	a.dir, a.model = c.talk.dir, c.Choice.Model
	id, leave, err := c.Host.Open(ctx, c.note.Garden, a.dir, a.model, a)
	if err != nil {
		c.log("not addressable", map[string]string{"error": err.Error()})
		return
	}
	a.mu.Lock()
	a.id = id
	a.mu.Unlock()
	c.talk.leave = leave
	if id != "" && c.note.Garden != id {
		c.note.Garden = id
		c.log("addressable", map[string]string{"gardenId": string(id)})
	}
}

// others gives the turns that other sessions asked for meanwhile. The last
// answer counts.
func (c *call) others(ctx context.Context, a answer) (answer, error) {
	for {
		c.talk.address.said(a.Text)
		text, ok := c.talk.address.next()
		if !ok {
			return a, nil
		}
		c.log("message from another session", map[string]string{"input": text})
		if err := c.send(ctx, text); err != nil {
			return a, err
		}
		var err error
		if a, err = c.listen(ctx); err != nil {
			return a, err
		}
	}
}
