// Package supervisor is the small process that stands between us and a program we run, so that the program and all that it
// started end together. Package proc starts it: it is our own executable, run again under the name [Name].
//
// It takes over in its own init, which is unusual and deliberate. First, a main that forgot to call a door would not run a
// supervisor but a second copy of itself. Second, Go initialises packages in the order of their import paths as far as their
// dependencies allow, and this package depends on nothing outside the standard library's core: it takes over before
// Temporal's and protobuf's packages are initialised. For a binary of 30 MB that is 2.8 ms after its start, and 6 ms at the
// head of main. (A whole Run of /bin/true takes 4.0 ms, a plain exec 0.6 ms.) So keep its imports few: golang.org/x/sys or
// os/exec would put it last again.
//
// Only Linux has what it needs (a child subreaper); elsewhere the package is empty and does nothing.
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

// Report is how it ended. It travels twice: as a line on the report descriptor, and in short as the supervisor's exit code,
// which the kernel hands to its parent and nobody else can write. One without the other is no report.
type Report struct {
	Errno  int  // why the program could not be started; zero when it was
	Status int  // its wait status
	Left   int  // processes that could not be ended, for they belong to somebody else
	Told   bool // the supervisor was told to stop before the program had ended
}

// Unbegun is the exit code of a supervisor that was told to stop before it had its order. It writes no line.
const Unbegun = 64

// The exit codes beside a line. They are none that a runtime gives a process that crashes, or a shell one that is killed.
const (
	codePassed    = 65 + iota // the program ended by itself, with exit code 0
	codeFailed                // by itself, and otherwise
	codeStopped               // the supervisor was told to stop
	codeUnstarted             // the program never ran
	codeUnready               // no report could be made
)

// ExitCode is that of the supervisor that makes this report.
func (r Report) ExitCode() int {
	switch {
	case r.Errno != 0:
		return codeUnstarted
	case r.Told:
		return codeStopped
	case r.Status != 0:
		return codeFailed
	}
	return codePassed
}

const reportForm = "errno=%d status=%d left=%d told=%t nonce="

// Line is what crosses the report descriptor.
func (r Report) Line(nonce string) string {
	return fmt.Sprintf(reportForm, r.Errno, r.Status, r.Left, r.Told) + nonce + "\n"
}

// ReadReport reads all that came over the report descriptor of a supervisor that ended with that exit code. It refuses
// everything but one line, of that nonce, that the code agrees with.
func ReadReport(text, nonce string, code int) (Report, error) {
	var r Report
	if _, err := fmt.Sscanf(text, reportForm, &r.Errno, &r.Status, &r.Left, &r.Told); err != nil || text != r.Line(nonce) {
		return Report{}, fmt.Errorf("it reported %.120q, not one line of its own", text)
	}
	if code != r.ExitCode() {
		return Report{}, fmt.Errorf("it ended with exit code %d, not with that of its report, %d", code, r.ExitCode())
	}
	return r, nil
}
