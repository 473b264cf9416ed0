// Package supervisor is the small process between us and a program that we run. It ends the program
// together with everything that the program started. Package proc starts it: it is our own
// executable, run again under the name [Name].
//
// The package takes over in its own init, which is unusual and deliberate. First, a main that
// forgot to call a door would run a second copy of itself instead of a supervisor. Second, Go
// initialises packages in the order of their import paths as far as their dependencies allow. This
// package depends on nothing outside the standard library's core, and takes over before Temporal's
// and protobuf's packages are initialised. For a binary of 30 MB that is 2.8 ms after its start,
// and 6 ms at the head of main. (A whole Run of /bin/true takes 4.0 ms, a plain exec 0.6 ms.) Keep
// its imports few for this reason: golang.org/x/sys or os/exec would put it last again.
//
// Only Linux has the means for it (a child subreaper). Elsewhere the package is empty and does
// nothing.
package supervisor

import "fmt"

// Name is argument zero of a supervisor. Its arguments are the grace in milliseconds, the path of the program, and the
// program's own arguments from argument zero on.
const Name = "ratchet-supervisor"

// The descriptors of a supervisor beside the program's own three.
const (
	ControlFD = 3 // read end: the [Order], then nothing; its end means stop
	ReportFD  = 4 // write end: one [Report] when all is over
)

// Report describes the end of a supervised program. It travels twice: as a line on the report
// descriptor, and in short as the supervisor's exit code. The kernel hands the exit code to the
// parent, and no other process can write it. One without the other is no report.
type Report struct {
	Errno   int  // the reason why the program could not be started; zero when it was
	Status  int  // its wait status
	Left    int  // processes that could not be ended, because they belong to another user
	Stopped bool // the supervisor was asked to stop before the program had ended
}

// Unbegun is the exit code of a supervisor that was asked to stop before it received its order. It
// writes no line.
const Unbegun = 64

// The exit codes of a supervisor that writes a line. They differ from the codes that a runtime
// gives a process that crashes, and from the codes that a shell gives a killed process.
const (
	codePassed    = 65 + iota // the program ended by itself, with exit code 0
	codeFailed                // the program ended by itself, in any other way
	codeStopped               // the supervisor was asked to stop
	codeUnstarted             // the program never ran
	codeUnready               // no report could be made
)

// ExitCode returns the exit code of a supervisor that makes this report.
func (r Report) ExitCode() int {
	switch {
	case r.Errno != 0:
		return codeUnstarted
	case r.Stopped:
		return codeStopped
	case r.Status != 0:
		return codeFailed
	}
	return codePassed
}

const reportForm = "errno=%d status=%d left=%d told=%t nonce="

// Line returns the line that a supervisor writes to the report descriptor.
func (r Report) Line(nonce string) string {
	return fmt.Sprintf(reportForm, r.Errno, r.Status, r.Left, r.Stopped) + nonce + "\n"
}

// ReadReport parses text, everything that a supervisor wrote to its report descriptor. The
// supervisor ended with the exit code given. ReadReport accepts only a single line that has the
// nonce and agrees with the code.
func ReadReport(text, nonce string, code int) (Report, error) {
	var r Report
	if _, err := fmt.Sscanf(text, reportForm, &r.Errno, &r.Status, &r.Left, &r.Stopped); err != nil || text != r.Line(nonce) {
		return Report{}, fmt.Errorf("it reported %.120q instead of its line", text)
	}
	if code != r.ExitCode() {
		return Report{}, fmt.Errorf("it ended with exit code %d, but reported %d", code, r.ExitCode())
	}
	return r, nil
}
