package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// temporal is a client that can be closed.
type temporal struct {
	client.Client
	closed bool
}

func (c *temporal) Close() { c.closed = true }

func TestWhoWaitsForTheEngineSharesOneSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		searches, end := 0, make(chan error)
		r := newRemote(nil, func(context.Context) (client.Client, error) { searches++; return &temporal{}, <-end })
		asked, left := make(chan error, 3), make(chan error, 1)
		for range cap(asked) {
			go func() { _, err := r.reachEngine(t.Context()); asked <- err }()
		}
		hasty, leave := context.WithCancel(t.Context())
		go func() { _, err := r.reachEngine(hasty); left <- err }()
		synctest.Wait() // all wait
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who leaves gets %v", err)
		}
		mute := errors.New("mute")
		end <- mute
		for range cap(asked) {
			if err := <-asked; !errors.Is(err, mute) {
				t.Errorf("who waits gets %v", err)
			}
		}
		if searches != 1 {
			t.Errorf("%d searches", searches)
		}
		close(end) // every later one finds something
		first, err := r.reachEngine(t.Context())
		clitest.Must(t, err)
		if same, err := r.reachEngine(t.Context()); same != first || err != nil || searches != 2 {
			t.Errorf("%v, %v after %d searches", same, err, searches)
		}
		r.forgetClient(first)
		second, err := r.reachEngine(t.Context())
		clitest.Must(t, err)
		if r.close(); second == first || !first.(*temporal).closed || !second.(*temporal).closed {
			t.Errorf("%v, %v", first, second)
		}
	})
}

func TestTheEndCutsASearchOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRemote(nil, func(ctx context.Context) (client.Client, error) { <-ctx.Done(); return nil, ctx.Err() })
		asked := make(chan error, 1)
		go func() { _, err := r.reachEngine(t.Context()); asked <- err }()
		synctest.Wait()
		r.close()
		if err := <-asked; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
