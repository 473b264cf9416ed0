package nobody

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// RunsWithEngine is [Runs] for a test that starts the embedded engine.
func RunsWithEngine(t *testing.T, lent ...Lent) bool {
	t.Helper()
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return Runs(t, append(lent, Lent{Variable: engine.ProgramVariable, Path: program})...)
}
