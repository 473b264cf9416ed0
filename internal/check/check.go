// Package check runs the commands that judge a workspace and decides the meaning of their results. It also
// finds the commands of a repository for runs that name none, and the files that a failing output points
// at.
package check

import "github.com/ratchet-dev/ratchet/internal/exact"

// Status is the result of one command.
type Status string

// The statuses. Only pass is good. A change of the repository can repair fail, and a timeout that is not
// silent (see Result.Silent), but not error.
const (
	Pass    Status = "pass"    // exit code 0
	Fail    Status = "fail"    // any other exit code, or a signal
	Error   Status = "error"   // it cannot run at all, because a program is missing, or its end is unknown
	Timeout Status = "timeout" // no end before the deadline
)

// UnmarshalText refuses words that are no status.
func (s *Status) UnmarshalText(text []byte) error {
	return exact.Word(s, text, "check status", Pass, Fail, Error, Timeout)
}

// Result is one command's outcome, as the evaluation artifact holds it.
type Result struct {
	Command    string `json:"command"`
	Status     Status `json:"status"`
	ExitCode   int    `json:"exitCode"` // 128 + n after signal n, -1 when there is none
	DurationMs int64  `json:"durationMs"`
	// Head and Tail are the beginning and the end of stdout and stderr together, as plain text, filtered. A short
	// output is in Head alone. Bytes is the length of the whole output, after the filter.
	Head  string `json:"head"`
	Tail  string `json:"tail"`
	Bytes int64  `json:"bytes"`
	// Reason explains in one line a status that does not follow from the exit code alone.
	Reason string `json:"reason,omitempty"`
	// Sandbox names the box that the command ran in, such as "bwrap 0.8.0". It is empty without a box.
	Sandbox string `json:"sandbox,omitempty"`
	// Limit names the limit of the box that the command ran into, such as "memory limit 2 GiB". The
	// command may have passed all the same.
	Limit string `json:"limit,omitempty"`
}

// Silent reports whether the command ran out of time without a byte of output. A slow or endless test mostly
// says something before; a silent command mostly fills a cold cache, waits for a network that the box
// refuses, or waits for input.
func (r Result) Silent() bool { return r.Status == Timeout && r.Bytes == 0 }

// FailedAs reports whether the command failed in the same way as in the earlier result: with the same exit
// code, and with as many failed cases where the output reports them.
func (r Result) FailedAs(earlier Result) bool {
	now, _ := r.Cases()
	then, _ := earlier.Cases()
	return r.Status != Pass && r.Command == earlier.Command && r.Status == earlier.Status &&
		r.ExitCode == earlier.ExitCode && now.Failed == then.Failed
}

// Report is the results of all commands, in their order.
type Report struct {
	Checks []Result `json:"checks"`
}

// Outcome is the meaning of a whole report.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"  // every check passed
	Failed  Outcome = "failed"  // some did not, and a change of the repository can help
	Blocked Outcome = "blocked" // the checks that did not pass cannot run: a person has to help
)

// Verdict holds the outcome and the commands that caused it.
type Verdict struct {
	Outcome   Outcome
	Failing   []string // failed or ran out of time
	CannotRun []string // could not run
	Silent    []string // ran out of time without a byte of output; members of CannotRun too
}

// Verdict decides the meaning of the report. A failed check outweighs a check that cannot run: the run has work that
// needs no person, perhaps on the very change that broke the other check, and the next evaluation asks a person if
// it did not help. A silent command is one that cannot run. A report without a check proves nothing and is
// blocked.
func (r Report) Verdict() Verdict {
	var v Verdict
	for _, c := range r.Checks {
		switch {
		case c.Status == Pass:
		case c.Silent():
			v.Silent = append(v.Silent, c.Command)
			v.CannotRun = append(v.CannotRun, c.Command)
		case c.Status == Fail, c.Status == Timeout:
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
