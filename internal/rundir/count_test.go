package rundir_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/rundir"
)

func TestACountOutlivesItsProcess(t *testing.T) {
	store, err := rundir.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want <= 3; want++ {
		if n, err := store.Run("r1").Count("execute/iter-0001.begun"); err != nil || n != want {
			t.Errorf("count %d, %v, want %d", n, err, want)
		}
	}
	d := store.Run("r1")
	if n, err := d.Count("execute/iter-0002.begun"); err != nil || n != 1 {
		t.Errorf("another count %d, %v", n, err)
	}
	for range 2 {
		if err := d.Forget("execute/iter-0001.begun"); err != nil {
			t.Error(err)
		}
	}
	if n, err := d.Count("execute/iter-0001.begun"); err != nil || n != 1 {
		t.Errorf("after it was forgotten: %d, %v", n, err)
	}
}

// Finding B12.
func TestWhoWaitsForALockIsToldWhoHasIt(t *testing.T) {
	d := newDir(t)
	if _, err := d.Take(t.Context(), "a lock", func(pid int) { t.Errorf("a free lock is held by %d", pid) }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder := 0
	_, err := d.Take(ctx, "a lock", func(pid int) {
		holder = pid
		cancel()
	})
	if !errors.Is(err, context.Canceled) || holder != os.Getpid() {
		t.Errorf("held by %d, %v", holder, err)
	}
}
