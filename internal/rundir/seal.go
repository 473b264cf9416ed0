package rundir

import (
	"encoding/json"
	"os"
	"slices"

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

// readSeal reads the seal. A missing or unreadable seal covers nothing.
func readSeal(root *os.Root) (s seal) {
	if b, err := readPlain(root, sealFile); err != nil || json.Unmarshal(b, &s) != nil {
		return seal{}
	}
	return s
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

// writeSeal replaces the seal by one that covers the lines. The execution becomes the
// last if it is new or takes over.
func (j *journal) writeSeal(lines []line, execution string, over bool) error {
	next := seal{Lines: len(lines), Bytes: sizeOf(lines), Chain: chainOf(lines), Executions: slices.Clone(j.seal.Executions)}
	if over {
		next.Executions = slices.DeleteFunc(next.Executions, func(e string) bool { return e == execution })
	}
	if execution != "" && !slices.Contains(next.Executions, execution) {
		next.Executions = append(next.Executions, execution)
		next.Executions = next.Executions[max(0, len(next.Executions)-maxExecutions):]
	}
	if j.seal.Chain == next.Chain && slices.Equal(j.seal.Executions, next.Executions) {
		return nil
	}
	j.seal = next
	return replaceJSON(j.root, sealFile, next)
}
