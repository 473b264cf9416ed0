package activities

import (
	"encoding/json"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// maxCuts is how many texts of one call are kept that was cut off; of more the
// last takes the place of the one before.
const maxCuts = 20

// keepCut keeps the text that came before the call was cut off, which was paid
// for; nil when none came.
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

// attemptError names what an attempt ended in.
func attemptError(c Call, n int) string { return c.Artifact(fmt.Sprintf("attempt-%d.error.json", n)) }

// retried counts the errors that the first attempts at the call ended in.
func retried(dir *rundir.Dir, c Call, attempts int) (list []run.Retry) {
	for n := 1; n <= attempts; n++ {
		var p run.Problem
		if b, _, err := dir.Find(attemptError(c, n)); err == nil && json.Unmarshal(b, &p) == nil {
			list = run.AddRetries(list, []run.Retry{{Code: p.Code, Count: 1}})
		}
	}
	return list
}
