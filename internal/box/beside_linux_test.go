package box_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// bombs are scripts that take memory and processes until they are stopped.
func bombs(t testing.TB) []string {
	return []string{"while :; do '" + self(t) + "' play-memory; done", "exec '" + self(t) + "' play-storm"}
}

// besideBombs calls do while the bombs run, each in a box of its own.
func besideBombs(t testing.TB, b *box.Box, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, script := range bombs(t) {
		spec := box.Spec{Tree: t.TempDir(), Read: []string{self(t)}}
		running.Go(func() {
			r, err := proc.Run(ctx, shell(b, spec, script, io.Discard))
			if err != nil || r.Cause == "" { // a shell that cannot fork ends by itself
				t.Errorf("a bomb: %+v, %v", r, err)
			}
		})
	}
	do()
}

// run20 runs twenty short programs in boxes with the limits of the bombs.
func run20(t testing.TB, b *box.Box) {
	t.Helper()
	tree := t.TempDir()
	for range 20 {
		r, err := proc.Run(t.Context(), shell(b, box.Spec{Tree: tree}, "sleep 0.01 & sleep 0.01 & wait; dd if=/dev/zero of=/dev/null bs=8M count=1 2>/dev/null", io.Discard))
		if want := (proc.Result{End: proc.Exited}); err != nil || r != want {
			t.Errorf("got %+v, %v", r, err)
		}
	}
}

// The limits of a program count for it alone.
func TestProgramBesideBombsReachesNoLimit(t *testing.T) {
	b := openSmallBox(t)
	needGroups(t, b)
	besideBombs(t, b, func() { run20(t, b) })
	wantNoGroups(t)
}
