package host

import (
	"runtime/metrics"
	"testing"
)

func TestMemoryIsGivenBackOnceAfterWork(t *testing.T) {
	const mb = 1 << 20
	var m memory
	for i, look := range []struct {
		allocated uint64 // in total, in MB
		due       bool
	}{
		{100, false}, // at work
		{101, true},  // idle
		{102, false}, // there is nothing more to give
		{103, false},
		{110, false}, // some work
		{111, false}, // too little to be worth a collection
		{130, false},
		{134, true}, // as much as idle allows
		{150, false},
		{154, true},
	} {
		if got := m.isDue(look.allocated * mb); got != look.due {
			t.Errorf("look %d, at %d MB: %v", i, look.allocated, got)
		}
	}
}

// kept is written by the test, so that the compiler cannot leave the allocation out.
var kept []byte

func TestIdleProcessHoldsNoGarbage(t *testing.T) {
	const size = 256 << 20
	held := func() uint64 { // what the heap holds of the system's memory
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64() + sample[1].Value.Uint64() + sample[2].Value.Uint64()
	}
	var m memory
	m.freeIfIdle()
	kept = make([]byte, size)
	for i := 0; i < size; i += 4096 {
		kept[i] = 1
	}
	m.freeIfIdle() // at work
	if got := held(); got < size {
		t.Fatalf("%d bytes are held of what is in use", got)
	}
	kept = nil
	m.freeIfIdle()
	if got := held(); got > size/2 {
		t.Errorf("%d bytes are held by an idle process", got)
	}
}
