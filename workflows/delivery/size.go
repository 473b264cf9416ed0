package delivery

import (
	"encoding/json"
	"fmt"

	activities "github.com/ratchet-dev/ratchet/activities/delivery"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// The bounds of the state as JSON, in which an escape takes six bytes for one byte of text. An input of 2 MiB, which
// includes the session's own half, ends the workflow.
const (
	maxParcelBytes  = 8 * delivery.MaxBatchBytes
	maxOpenBytes    = 2 * maxParcelBytes // of open batches, and of what the ledger lacks
	maxClosingBytes = 2 * maxNote        // of the words of a closing
)

// checkSize refuses a batch for which the state has no room. An open batch is in it twice: in the queue, and in the entry
// that the ledger lacks.
func (d *Deliveries) checkSize(p activities.EnqueueInput) error {
	size := sizeOf(p)
	if size > maxParcelBytes {
		return refuseUpdate(InvalidError, fmt.Errorf("batch_invalid: batch %s has %d bytes as JSON, at most %d fit", p.ID, size, maxParcelBytes))
	}
	open := 2*size + sizeOf(d.state.Unrecorded) + 2*sizeOf(d.state.Early)
	for _, e := range d.fold.Queue {
		open += sizeOf(e.Batch)
	}
	if open > maxOpenBytes {
		return refuseUpdate(StateError, fmt.Errorf("queue_full: %w", delivery.ErrFull))
	}
	return nil
}

// sizeOf returns the length of the value as JSON.
func sizeOf(v any) int {
	text, err := json.Marshal(v) //workflowcheck:ignore // structs, strings and times only
	if err != nil {
		return maxOpenBytes + 1 // nothing in a batch fails
	}
	return len(text)
}
