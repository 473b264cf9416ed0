package host

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// slot is what the SDK says of a slot when it is used and released.
type slot struct {
	worker.SlotMarkUsedInfo
	permit *worker.SlotPermit
}

func (s slot) Permit() *worker.SlotPermit { return s.permit }

type release struct {
	worker.SlotReleaseInfo
	slot
}

func (r release) Permit() *worker.SlotPermit { return r.permit }

// Without free memory a worker gives out the least slots, and more as soon as an activity ends or memory is free.
func TestSlotsFollowTheMemory(t *testing.T) {
	var memory atomic.Uint64
	o := worker.Options{MaxConcurrentActivityExecutionSize: 2 * leastSlots}
	if err := boundSlots(&o, memory.Load); err != nil {
		t.Fatal(err)
	}
	slots := o.Tuner.GetActivityTaskSlotSupplier()
	used := slot{}
	take := func(ctx context.Context) error {
		permit, err := slots.ReserveSlot(ctx, nil)
		if err == nil {
			slots.MarkSlotUsed(slot{permit: permit})
		}
		return err
	}
	for range leastSlots {
		permit, err := slots.ReserveSlot(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		used.permit = permit
		slots.MarkSlotUsed(used)
	}
	if slots.TryReserveSlot(nil) != nil {
		t.Errorf("without memory a worker gives out more than %d slots", leastSlots)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := take(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was canceled: got %v", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- take(t.Context()) }()
	slots.ReleaseSlot(release{slot: used})
	if err := <-waiting; err != nil {
		t.Errorf("an activity has ended: got %v", err)
	}
	memory.Store(agentMemory)
	eventually.Holds(t, "memory is free", func() bool { return slots.TryReserveSlot(nil) != nil })
	if got := slots.MaxSlots(); got != 2*leastSlots {
		t.Errorf("got %d slots at most, want %d", got, 2*leastSlots)
	}
}

func TestFreeMemoryIsKnown(t *testing.T) {
	if got := freeMemory(); runtime.GOOS == "linux" && (got == 0 || got == math.MaxUint64) {
		t.Errorf("got %d bytes, want those of this machine", got)
	}
}
