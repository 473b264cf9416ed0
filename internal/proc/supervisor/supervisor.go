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
	ControlFD = 3 // read end: the program's environment, then nothing; its end means stop
	ReportFD  = 4 // write end: one Report when all is over
)

// Report is how it ended.
type Report struct {
	Errno  int  // why the program could not be started; zero when it was
	Status int  // its wait status
	Left   int  // processes that could not be ended, for they belong to somebody else
	Told   bool // the supervisor was told to stop before the program had ended
}

const reportForm = "errno=%d status=%d left=%d told=%t\n"

// String is the one line that crosses the report descriptor.
func (r Report) String() string {
	return fmt.Sprintf(reportForm, r.Errno, r.Status, r.Left, r.Told)
}

// ParseReport reads the line that [Report.String] wrote.
func ParseReport(line string) (Report, error) {
	var r Report
	if _, err := fmt.Sscanf(line, reportForm, &r.Errno, &r.Status, &r.Left, &r.Told); err != nil {
		return Report{}, fmt.Errorf("report %q: %w", line, err)
	}
	return r, nil
}
