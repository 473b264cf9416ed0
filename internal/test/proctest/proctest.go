// Package proctest has processes for tests.
package proctest

import (
	"os/exec"
	"testing"
)

// Ended returns the id of a process that has ended and was waited for.
func Ended(t testing.TB) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}
