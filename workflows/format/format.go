// Package format keeps workflows from builds that cannot replay their histories.
package format

import (
	"encoding/json"
	"fmt"
)

// Number is the format of the histories of this build's workflows. It grows with a change that breaks their replay; from
// the first release on such a change goes behind workflow.GetVersion instead.
const Number = 3

// Stamp is a member of a workflow's input. Whatever starts a workflow writes Number into it. One that another build wrote
// holds another number, or none.
type Stamp struct{ number int }

// MarshalJSON writes the number of this build.
func (Stamp) MarshalJSON() ([]byte, error) { return json.Marshal(Number) }

// UnmarshalJSON reads the number of the build that started the workflow.
func (s *Stamp) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.number) }

// Err returns an error unless this build writes histories of the same format.
func (s Stamp) Err() error {
	if s.number == Number {
		return nil
	}
	return fmt.Errorf("another build of Ratchet started this workflow: its history has format %d, but this build reads format %d. "+
		"Finish it with a worker of that build, or terminate it (`starter resume` then brings a run back)", s.number, Number)
}

// Check panics with the error. The workflow task then fails with the reason, which the Web UI and every query show. The
// workflow does not change, and a worker of the right build can continue it.
func (s Stamp) Check() {
	if err := s.Err(); err != nil {
		panic(err.Error())
	}
}
