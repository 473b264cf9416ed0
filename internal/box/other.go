//go:build !linux

package box

import (
	"context"
	"errors"
	"runtime"

	"github.com/ratchet-dev/ratchet/internal/proc"
)

// groups are control groups of Linux.
type groups struct{}

// Open returns an error: bubblewrap needs Linux.
func Open(context.Context, Config) (*Box, error) {
	return nil, &Unavailable{Cause: NoSystem, Err: errors.New("bubblewrap needs Linux, and this is " + runtime.GOOS)}
}

// For returns nil: there is no box.
func (*Box) For(Spec) proc.Box { return nil }
