package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/worker"
)

const (
	// agentMemory is more than an agent holds, in bytes: 150 to 400 MB of each kind were measured.
	agentMemory = 512 << 20
	// leastSlots are given out whatever memory is free: what a person has decided has to be done.
	leastSlots = 4
	// freeEvery is the time between two looks for free memory.
	freeEvery = 500 * time.Millisecond
)

// boundSlots has a worker take activities only while memory is free for another agent, so that other hosts take them, or
// they wait in the server. Workers with the same options share their slots.
func boundSlots(o *worker.Options, free func() uint64) error {
	fixed, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{
		NumWorkflowSlots: o.MaxConcurrentWorkflowTaskExecutionSize, NumActivitySlots: o.MaxConcurrentActivityExecutionSize,
		NumLocalActivitySlots: o.MaxConcurrentLocalActivityExecutionSize,
	})
	if err != nil {
		return fmt.Errorf("slots of the worker: %w", err)
	}
	o.MaxConcurrentWorkflowTaskExecutionSize, o.MaxConcurrentActivityExecutionSize, o.MaxConcurrentLocalActivityExecutionSize = 0, 0, 0
	o.Tuner = tuner{fixed, &memorySlots{SlotSupplier: fixed.GetActivityTaskSlotSupplier(), free: free}}
	return nil
}

type tuner struct {
	worker.WorkerTuner
	activities *memorySlots
}

func (t tuner) GetActivityTaskSlotSupplier() worker.SlotSupplier { return t.activities }

// memorySlots are slots that are given out while memory is free.
type memorySlots struct {
	worker.SlotSupplier
	free  func() uint64 // bytes
	inUse atomic.Int64
}

func (s *memorySlots) hasRoom() bool { return s.inUse.Load() < leastSlots || s.free() >= agentMemory }

func (s *memorySlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for !s.hasRoom() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(freeEvery):
		}
	}
	return s.SlotSupplier.ReserveSlot(ctx, info)
}

func (s *memorySlots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	if !s.hasRoom() {
		return nil
	}
	return s.SlotSupplier.TryReserveSlot(info)
}

func (s *memorySlots) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	s.inUse.Add(1)
	info.Permit().UserData = s // the reason of a release is not exported
	s.SlotSupplier.MarkSlotUsed(info)
}

func (s *memorySlots) ReleaseSlot(info worker.SlotReleaseInfo) {
	if info.Permit().UserData == s {
		s.inUse.Add(-1)
	}
	s.SlotSupplier.ReleaseSlot(info)
}
