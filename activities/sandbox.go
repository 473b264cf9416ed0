package activities

import (
	"errors"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// SandboxError is the type of the error of an activity that would have to start a program of a run
// outside of the box although the run or the worker requires it. The activity started nothing.
const SandboxError = run.CodeSandbox

// Sandbox is the worker's side of the sandbox policy. The zero Sandbox refuses every program.
type Sandbox struct {
	// Policy is the policy of the worker; empty means run.SandboxRequired.
	Policy run.Sandbox
	// Box holds the programs. It has passed its test. It is nil if there is none.
	Box *box.Box
	// Missing holds the cause and the remedy if Box is nil although the policy requires it.
	Missing error
}

// NotBoxed is the error of a program that may not start.
type NotBoxed struct{ Reason string }

func (e *NotBoxed) Error() string { return e.Reason }

// errNoBox is the cause of a Sandbox that names none.
var errNoBox = errors.New("it has not been tested")

// Admit returns the box for the programs of a run with the policy. It returns nil, which stands for
// no box, only if run and worker both say off. Otherwise the error of a program that may not start is
// a *NotBoxed.
func (s Sandbox) Admit(want run.Sandbox) (*box.Box, error) {
	switch {
	case want.Off() && s.Policy.Off():
		return nil, nil
	case want.Off():
		return nil, &NotBoxed{"this run was started with --sandbox off, but this worker requires the sandbox: start the worker with `starter up --sandbox off` or `worker -sandbox off`, or start the run again without --sandbox off"}
	case s.Policy.Off():
		return nil, &NotBoxed{"this run requires the sandbox, but this worker was started with --sandbox off: start the worker with --sandbox required"}
	case s.Box != nil:
		return s.Box, nil
	}
	return nil, &NotBoxed{fmt.Sprintf("this run requires the sandbox, but it does not work here: %v", s.missing())}
}

func (s Sandbox) missing() error {
	if s.Missing == nil {
		return errNoBox
	}
	return s.Missing
}
