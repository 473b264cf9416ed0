package delivery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/ratchet-dev/ratchet/internal/display"
)

// maxGist bounds each text that a closed batch keeps.
const maxGist = 120

// KeepClosed returns the list with one more closed batch. It keeps the last ones, the oldest first, and of each its ids
// and the beginning of its words.
func KeepClosed(list []Entry, e Entry) []Entry {
	list = append(list, e)
	list = slices.Delete(list, 0, max(0, len(list)-MaxClosed))
	for i := range list {
		list[i].dropContent()
	}
	return list
}

// dropContent leaves out most of the words of a closed batch, which nothing delivers any more.
func (e *Entry) dropContent() {
	if e.Words != "" {
		return
	}
	e.Words = e.Batch.digest()
	jobs := make([]Job, len(e.Batch.Jobs))
	for i, j := range e.Batch.Jobs {
		jobs[i] = Job{ID: j.ID, State: j.State}
		if i == 0 {
			jobs[i].Summary, jobs[i].Reason = display.Clip(j.Summary, maxGist), display.Clip(j.Reason, maxGist)
		}
	}
	e.Batch.Jobs, e.Batch.ReservedBy = jobs, display.Clip(e.Batch.ReservedBy, maxGist)
}

// SameContent reports whether the entry is of the batch, word by word.
func (e Entry) SameContent(b Batch) bool {
	if e.Words != "" {
		return e.Words == b.digest()
	}
	return e.Batch.Equal(b)
}

// digest returns the digest of the batch's words. Batches that are equal have the same.
func (b Batch) digest() string {
	text, err := json.Marshal(b) //workflowcheck:ignore // structs and strings only
	if err != nil {
		return "" // nothing in a batch fails
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
