package box

import (
	"os"
	"testing"
)

// A group that cannot be made is removed, and nobody has it to close it again.
func TestAGroupThatFailsIsGone(t *testing.T) {
	for name, at := range map[string]groups{
		"version 1": {memory: t.TempDir(), pids: t.TempDir()},
		"version 2": {unified: t.TempDir()},
	} {
		made, err := at.make(standardLimits) // these directories are no control groups
		if err == nil || made != nil {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
		for _, dir := range []string{at.memory, at.pids, at.unified} {
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s: left %v", name, left)
			}
		}
	}
}
