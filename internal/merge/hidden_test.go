package merge_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/need"
)

// The user's git does not look at a file, whose change is in the way. What the refusal says to run has it look.
func TestAChangeThatGitDoesNotLookAt(t *testing.T) {
	need.Suite(t, need.CI)
	for name, flags := range map[string][]string{
		"a file that is assumed unchanged": {"--assume-unchanged"},
		"a file that is skipped":           {"--skip-worktree"},
		"a file that is both":              {"--assume-unchanged", "--skip-worktree"},
	} {
		t.Run(name, func(t *testing.T) {
			r, in := newRepo(t)
			r.write("a.txt", "mine\n")
			for _, flag := range flags {
				r.git("update-index", flag, "a.txt")
			}
			before := r.state()
			_, err := r.merge(in)
			if err == nil || !strings.Contains(err.Error(), `"a.txt" is changed`) {
				t.Fatalf("error %v", err)
			}
			if after := r.state(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			commands := strings.Split(err.Error(), "`")
			for i := 3; i < len(commands); i += 2 { // the first in quotes is `git status`
				if out, err := exec.CommandContext(t.Context(), "sh", "-c", commands[i]).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", commands[i], err, out)
				}
			}
			if _, err := r.merge(in); !errors.Is(err, merge.ErrDirty) {
				t.Errorf("error %v", err)
			}
		})
	}
}
