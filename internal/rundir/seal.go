package rundir

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// sealFile records the lines that the recorders of this program have written. It
// distinguishes their lines from foreign ones. The workflow's word wins over both.
// The workflow is asked for no line that the seal covers.
const sealFile = "events.seal"

// seal covers the first lines of a log.
type seal struct {
	Lines int        `json:"lines"`
	Bytes int        `json:"bytes"`
	Chain run.Digest `json:"chain"`
	// Executions holds the executions of the workflow that have written, in the
	// order of their first entry or takeover. The last one is the current execution.
	Executions []string `json:"executions,omitempty"`
}

// maxExecutions is the largest number of executions that a seal remembers.
const maxExecutions = 64

// maxSeal bounds the bytes of a seal.
const maxSeal = 64 << 10

// readSeal reads the seal. A missing or unreadable seal covers nothing. It keeps the file open to be written over, if
// the file has a single name.
func (j *journal) readSeal() {
	f, single, err := j.openPlain(sealFile)
	if err != nil {
		return
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSeal+1))
	if err != nil || len(b) > maxSeal || json.Unmarshal(b, &j.seal) != nil {
		j.seal, single = seal{}, false
	}
	if !single {
		f.Close()
		return
	}
	j.sealFile, j.sealSize = f, len(b)
}

// linesCovered returns the number of lines that the seal covers: all of its own, or none
// if they differ from the sealed lines.
func (s seal) linesCovered(lines []line) int {
	if s.Lines < 1 || s.Lines > len(lines) || chainOf(lines[:s.Lines]) != s.Chain {
		return 0
	}
	return s.Lines
}

func chainOf(lines []line) (chain run.Digest) {
	for _, l := range lines {
		chain = run.ExtendChain(chain, l.b)
	}
	return chain
}

// nextSeal returns the seal that covers the lines. The execution becomes the last if it is new or takes over.
func (j *journal) nextSeal(lines []line, execution string, over bool) seal {
	next := seal{Lines: len(lines), Bytes: sizeOf(lines), Chain: chainOf(lines), Executions: slices.Clone(j.seal.Executions)}
	if over {
		next.Executions = slices.DeleteFunc(next.Executions, func(e string) bool { return e == execution })
	}
	if execution != "" && !slices.Contains(next.Executions, execution) {
		next.Executions = append(next.Executions, execution)
		next.Executions = next.Executions[max(0, len(next.Executions)-maxExecutions):]
	}
	return next
}

// isSame reports whether both seals cover the same lines for the same executions.
func (s seal) isSame(other seal) bool {
	return s.Chain == other.Chain && slices.Equal(s.Executions, other.Executions)
}

// writeSeal replaces the seal and syncs it to disk: without it, new lines at the end of the log would count as foreign.
// The seal is read only under the record's lock, so it can be overwritten in place. That saves the journal commit of the
// file system that a new file would cost. A shorter seal is padded with line feeds, so that a single write replaces all
// bytes of the old one, even if this process is killed. If a power cut leaves the seal unreadable, it covers nothing.
func (j *journal) writeSeal(next seal) error {
	b, err := marshalFile(next)
	if err != nil {
		return err
	}
	if j.sealFile == nil {
		if err := replaceSynced(j.root, sealFile, b); err != nil {
			return err
		}
		return j.syncNames()
	}
	if short := j.sealSize - len(b); short > 0 {
		b = append(b, bytes.Repeat([]byte{'\n'}, short)...)
	}
	if _, err := j.sealFile.WriteAt(b, 0); err != nil {
		return err
	}
	return syncBytes(j.sealFile)
}

// syncedSeals holds the seals that this process has put on disk, the last of each record.
type syncedSeals struct {
	mu   sync.Mutex
	seal map[string]seal // by the path of the record
}

// maxSynced bounds the seals that are held. One that is forgotten is synced once more.
const maxSynced = 1000

func newSyncedSeals() *syncedSeals { return &syncedSeals{seal: map[string]seal{}} }

// last returns the seal of the record at the path; the zero seal: this process has put none on disk, or has failed to.
func (s *syncedSeals) last(path string) seal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seal[path]
}

func (s *syncedSeals) keep(path string, synced seal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seal[path]; !known && len(s.seal) >= maxSynced {
		clear(s.seal)
	}
	s.seal[path] = synced
}
