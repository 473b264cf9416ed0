package engine

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

const lockPoll = 50 * time.Millisecond

// lockFile opens a file, makes it when it is missing, and waits for its lock until ctx ends. It calls waiting before
// each further try. The lock holds until the returned file is closed here and in every process that inherited it.
// The error is the cause of the context's end when that was first.
func lockFile(ctx context.Context, path string, waiting func()) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		waiting()
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-tick.C:
		}
	}
}
