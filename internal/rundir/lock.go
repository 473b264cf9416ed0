package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a taken lock is tried again.
const lockPoll = 50 * time.Millisecond

// Lock takes the lock of that name, which the kernel gives back when this
// process dies, and waits for it until ctx ends.
func (d *Dir) Lock(ctx context.Context, name string) (unlock func(), err error) {
	root, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	defer root.Close()
	name = path.Join("locks", strings.ReplaceAll(name, "/", "-"))
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-time.After(lockPoll):
		}
	}
}
