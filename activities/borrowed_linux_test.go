package activities_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ratchet-dev/ratchet/activities"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// A repository chooses what it borrows, and the box shows it. Each check prints a file that the user has elsewhere.
func TestWhatARepositoryBorrowsInABox(t *testing.T) {
	for _, tc := range []struct {
		name, dir, file string
		shown           bool
	}{
		{"a directory of the user's", "home/.ssh", "id_ed25519", false},
		{"a directory of the user's that is called objects", "home/objects", "id_ed25519", false},
		{"the runs directory", "runs", "key", false},
		{"objects below the runs directory", "runs/objects", "pack/x", false},
		{"the objects of another repository", "other.git/objects", "pack/x", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newFixtureWith(t, "runs", inBox(t))
			dir := filepath.Join(filepath.Dir(s.repo), tc.dir)
			secret := filepath.Join(dir, tc.file)
			check(t, os.MkdirAll(filepath.Dir(secret), 0o700))
			check(t, os.WriteFile(secret, []byte("sesame of kim\n"), 0o600))
			check(t, os.WriteFile(filepath.Join(s.repo, ".git", "objects", "info", "alternates"), []byte(dir+"\n"), 0o600))
			h := s.place()
			must[any](s, s.acts.Prepare, h)
			j, err := do[activities.Judgement](s, s.acts.Check, activities.CheckInput{Header: h, Iteration: 1, Commit: s.base, Timeout: time.Minute,
				Commands: []string{"cat '" + secret + "'; git log -1"}})
			if !tc.shown {
				app, ok := errors.AsType[*temporal.ApplicationError](err)
				if !ok || !app.NonRetryable() || app.Type() != activities.RepositoryError || !strings.Contains(err.Error(), dir) {
					t.Errorf("%v, want a %s that names %s", err, activities.RepositoryError, dir)
				}
				if err == nil {
					t.Errorf("the check printed %s", s.evaluation(j).Checks[0].Head)
				}
				return
			}
			check(t, err)
			if c := s.evaluation(j).Checks[0]; j.Verdict != run.Pass || !strings.Contains(c.Head, "sesame of kim") {
				t.Errorf("%s: %+v", j.Verdict, c)
			}
		})
	}
}
