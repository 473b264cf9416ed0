package proc

import "github.com/ratchet-dev/ratchet/internal/proc/process"

// RunVariable is set in the environment of every program that a run starts, to the run's id.
const RunVariable = "RATCHET_RUN_ID"

// Supervised reports whether the process descends from any supervisor. A process that left its
// ancestors, for example by a service manager, does not.
func Supervised(pid int) bool {
	for pid = process.Parent(pid); pid > 0; pid = process.Parent(pid) {
		if isSupervisor(pid) {
			return true
		}
	}
	return false
}
