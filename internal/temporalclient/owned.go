package temporalclient

import (
	"context"
	"errors"
	"net"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// owned makes connections to the temporal command that serves as the engine. It has no secret to prove
// itself by. The process that holds the address is asked about instead, before each connection and after it:
// while that process lives, no other program has the address.
type owned struct {
	address string
	pid     int
}

func (o owned) dial(ctx context.Context, address string) (net.Conn, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (o owned) check() error { return engine.CheckOwner(o.address, o.pid) }

// knock finds the command at its address.
func (o owned) knock(ctx context.Context) error {
	conn, err := o.dial(ctx, o.address)
	if err != nil {
		return err
	}
	return conn.Close()
}
