package activities

import (
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// maxCuts bounds the kept texts of one call that was cut off. Of more texts, each
// replaces the last one.
const maxCuts = 20

// keepCut keeps the text that came before the call was cut off, for it was paid. It
// returns nil if there is no text.
func keepCut(dir *rundir.Dir, c Call, text []byte) (*run.Ref, error) {
	if len(text) == 0 {
		return nil, nil
	}
	name := ""
	for n := 1; n <= maxCuts; n++ {
		name = c.Artifact(fmt.Sprintf("cut-%d.raw.txt", n))
		if _, _, err := dir.Find(name); rundir.Lost(err) {
			break
		}
	}
	ref, err := dir.Keep(name, text)
	return &ref, err
}

// cutUsage names the sum of the usage of all attempts at the call that were cut off and can be made again: after a usage
// limit, or by another worker, the same call continues, however often.
func cutUsage(c Call) string { return c.Artifact("cut.usage.json") }

// keepUsage adds to that sum. The caller holds the lock of the call.
func keepUsage(dir *rundir.Dir, c Call, used run.Usage) error {
	if used == (run.Usage{}) {
		return nil
	}
	_, err := keepJSON(dir, cutUsage(c), usageIn(dir, cutUsage(c)).Add(used))
	return err
}

// attemptError names the artifact that holds the error of attempt n.
func attemptError(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.error.json", n)) }

// failedRetries counts, by code, the errors of the first attempts at the call.
func failedRetries(dir *rundir.Dir, c Call, attempts int) (list []run.Retry) {
	for n := 1; n <= attempts; n++ {
		var p run.Problem
		if b, _, err := dir.Find(attemptError(c, n)); err == nil && json.Unmarshal(b, &p) == nil {
			list = run.AddRetries(list, []run.Retry{{Code: p.Code, Count: 1}})
		}
	}
	return list
}
