package session

import (
	"context"
	"errors"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
	"github.com/ratchet-dev/ratchet/internal/controlsocket/inlet"
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

var errOwned = errors.New("the turn belongs to a run: cancel the run to end it")

// open makes the session known. That it could not be is no reason not to work.
func (c *call) open(ctx context.Context) {
	if c.Host == nil || c.talk.leave != nil {
		return
	}
	in := inlet.New(inlet.Options{
		Session: c.talk.Session, Dir: c.talk.dir, Model: c.Choice.Model, End: func(context.Context) error { return errOwned },
	})
	id, leave, err := c.Host.Open(ctx, c.note.Garden, in.Dir, in.Model, in)
	if err != nil {
		c.log("not addressable", map[string]string{"error": err.Error()})
		return
	}
	in.Name(id)
	c.talk.inlet, c.talk.leave = in, leave
	if id != "" && c.note.Garden != id {
		c.note.Garden = id
		c.log("addressable", map[string]string{"gardenId": string(id)})
	}
}

// others gives the turns that other sessions asked for meanwhile. The last
// answer counts.
func (c *call) others(ctx context.Context, a answer) (answer, error) {
	for c.talk.inlet != nil {
		c.talk.inlet.Said(a.Text)
		text, ok := c.talk.inlet.Next()
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
	return a, nil
}
