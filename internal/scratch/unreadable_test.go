package scratch_test

import (
	"testing"

	"github.com/ratchet-dev/ratchet/internal/patch"
	"github.com/ratchet-dev/ratchet/internal/scratch"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

// What the superuser can read all the same is tried by somebody else.
func TestUnreadable(t *testing.T) {
	if !nobody.Runs(t) {
		return
	}
	for _, tt := range []struct {
		name, script string
		want         []scratch.Unfit
	}{
		{"a directory of the commit", "chmod 0 lib", []scratch.Unfit{{"lib", "the directory cannot be read"}}},
		{"a directory whose names can be read", "chmod 400 lib/a", []scratch.Unfit{{"lib/a", "the directory cannot be read"}}},
		{"a new directory", "mkdir -p new/dir; touch new/dir/f; chmod 0 new/dir", []scratch.Unfit{{"new/dir", "the directory cannot be read"}}},
		{"a file of the commit", "chmod 0 main.go", []scratch.Unfit{{"main.go", "the file cannot be read"}}},
		{"a new file", "touch new; chmod 0 new", []scratch.Unfit{{"new", "the file cannot be read"}}},
		{"a .gitignore", "chmod 0 .gitignore", []scratch.Unfit{{".gitignore", "the file cannot be read"}}},
		{"an ignored directory", "mkdir -p cache/x; chmod 0 cache/x cache", nil},
		{"the top", "chmod 0 .", []scratch.Unfit{{".", "the directory cannot be read"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, s := made(t)
			agent(t, s, tt.script)
			if tt.want != nil {
				wantUnfit(t, s, patch.Limits{}, tt.want...)
			} else if diff := changes(t, s); diff != "" {
				t.Errorf("changes:\n%s", diff)
			}
			must(t, s.Make(t.Context(), head(t, r)))
			gittest.WantTree(t, s.WorkDir(), sample)
			agent(t, s, tt.script)
			must(t, s.Remove(t.Context()))
		})
	}
}
