package activities

import (
	"context"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// takeTurns takes a lock of the run, under which one attempt at a time does the
// same thing. While another has it, which may be of a process that is stopped,
// the heartbeat says so: "waits: process 4711 holds the answer". What names that
// which it holds.
func takeTurns(ctx context.Context, dir *rundir.Dir, name, what string, show func(Progress)) (*rundir.Lock, error) {
	return dir.Take(ctx, name, func(pid int) {
		who := "another process"
		if pid > 0 {
			who = fmt.Sprintf("process %d", pid)
		}
		show(Progress{Doing: fmt.Sprintf("waits: %s holds %s", who, what)})
	})
}
