package list

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// A bound or a status that the user has given counts for the runs that wait, too.
func TestTheListShowsEachWait(t *testing.T) {
	client := runs.New(clitest.NewCrowd(t), "queue")
	for name, row := range map[string]struct {
		filter  runs.Filter
		bounded bool
		want    string
	}{
		"all":                      {runs.Filter{}, false, "elsewhere mine theirs"},
		"of a repository":          {runs.Filter{Repository: "/shop"}, false, "mine theirs"},
		"of a user":                {runs.Filter{By: "kim"}, false, "elsewhere mine"},
		"of a status":              {runs.Filter{Status: run.Running}, false, ""},
		"as many as the user says": {runs.Filter{Max: 5}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := listRuns(t.Context(), client, row.filter, row.bounded)
			clitest.Must(t, err)
			var waits []string
			for _, l := range found {
				if l.Status.Waiting() {
					waits = append(waits, string(l.ID))
				}
			}
			if slices.Sort(waits); strings.Join(waits, " ") != row.want {
				t.Errorf("%q wait, want %q", waits, row.want)
			}
		})
	}
}
