package proc

import "github.com/ratchet-dev/ratchet/internal/citizen/process"

// RunVariable is set in the environment of every program that a run starts, to the run's id.
const RunVariable = "RATCHET_RUN_ID"

// Supervised reports whether the process descends from a supervisor, whoever's. A process that got away from its ancestors,
// as by a service manager, does not.
func Supervised(pid int) bool {
	for pid = process.Parent(pid); pid > 0; pid = process.Parent(pid) {
		if isSupervisor(pid) {
			return true
		}
	}
	return false
}
