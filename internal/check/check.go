// Package check runs the commands that judge a workspace and says what their results mean. It also finds the commands of a
// repository for whom none were named, and the files that a failing output points at.
package check

import (
	"fmt"
	"slices"
)

// Status is how one command ended.
type Status string

// The statuses. Only pass is good; fail and timeout can be mended in the repository, error cannot.
const (
	Pass    Status = "pass"    // exit code 0
	Fail    Status = "fail"    // any other exit code, or a signal
	Error   Status = "error"   // it cannot run at all, as a program is missing, or its end cannot be learned
	Timeout Status = "timeout" // no end before the deadline
)

var statuses = []Status{Pass, Fail, Error, Timeout}

// UnmarshalText refuses words that are no status.
func (s *Status) UnmarshalText(text []byte) error {
	if !slices.Contains(statuses, Status(text)) {
		return fmt.Errorf("unknown check status %q", text)
	}
	*s = Status(text)
	return nil
}

// Result is one command's outcome, as the evaluation artifact holds it.
type Result struct {
	Command    string `json:"command"`
	Status     Status `json:"status"`
	ExitCode   int    `json:"exitCode"` // 128 + n after signal n, -1 when there is none
	DurationMs int64  `json:"durationMs"`
	// Head and Tail are the beginning and the end of stdout and stderr together, as plain text, filtered; a short output is in
	// Head alone. Bytes is the length of the whole, after the filter.
	Head  string `json:"head"`
	Tail  string `json:"tail"`
	Bytes int64  `json:"bytes"`
	// Reason says in one line why the status is not what the exit code alone would make it.
	Reason string `json:"reason,omitempty"`
}

// Report is the results of all commands, in their order.
type Report struct {
	Checks []Result `json:"checks"`
}

// Outcome is what a whole report means.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"  // every check passed
	Failed  Outcome = "failed"  // some did not, and a change of the repository can help
	Blocked Outcome = "blocked" // those that did not pass cannot run: a person has to help
)

// Verdict is the outcome and the commands that made it.
type Verdict struct {
	Outcome   Outcome
	Failing   []string // failed or ran out of time
	CannotRun []string // could not run
}

// Verdict decides what the report means. A check that failed outweighs one that cannot run: there is work that needs nobody,
// perhaps the very change that broke the other one, and the next evaluation asks if it did not help. A report without a
// check proves nothing and is blocked.
func (r Report) Verdict() Verdict {
	var v Verdict
	for _, c := range r.Checks {
		switch c.Status {
		case Pass:
		case Fail, Timeout:
			v.Failing = append(v.Failing, c.Command)
		default:
			v.CannotRun = append(v.CannotRun, c.Command)
		}
	}
	switch {
	case len(v.Failing) > 0:
		v.Outcome = Failed
	case len(v.CannotRun) > 0, len(r.Checks) == 0:
		v.Outcome = Blocked
	default:
		v.Outcome = Passed
	}
	return v
}
