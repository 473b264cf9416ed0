package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/activities/report"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runtest"
)

func TestTheDemoNamesItsRepositoryForAShell(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	clitest.Must(t, err)
	var out follow.Outcome
	out.Base, out.Head = "0123456789abcdef", "fedcba9876543210"
	for _, repo := range []string{"demo/bill", "d d/bill", "$(id)/bill", "it's/bill"} {
		d := &demo{repo: filepath.Join(wd, repo)}
		line := d.diffCommand(out)
		words, err := shellquote.Split(line)
		if want := []string{"git", "-C", repo, "diff", "0123456789ab..fedcba987654"}; err != nil || !slices.Equal(words, want) {
			t.Errorf("%s: %q, %v, want %q", line, words, err, want)
		}
	}
}

// A question that the script does not plan ends the demo. Nobody is prompted.
func TestAQuestionEndsTheDemo(t *testing.T) {
	var shown captured.Output
	c := factory.New(console.Console{In: strings.NewReader("an answer\n"), Out: &shown, Err: &shown, Environ: os.Environ(), Now: time.Now}, nil)
	d := &demo{Factory: c, screen: c.ScreenOn(c.Out)}
	f := &follow.Follower{
		Watched: runtest.Play(
			runtest.Is(run.PhaseStarted{Role: run.Planner}), runtest.Is(run.PhaseFailed{Question: &run.Question{Question: "What shall be done?", Reason: "timed out after 3m0s"}}),
			runtest.Is(run.PhaseStarted{}), func(s *run.Snapshot) run.Payload { return s.NewQuestion() },
		),
		ID: "r1", Now: time.Now, Poll: time.Millisecond, Screen: d.screen, Print: func(run.Event) error { return nil },
		Decider: visitor{follow.NewPerson(d.Factory, d.screen, "r1"), d, "bill#1"},
	}
	_, err := f.Follow(t.Context())
	if code := exit.Code(err); code != exit.Failed || shown.String() != "" {
		t.Errorf("exit code %d, shown %q, want %d and no prompt", code, shown.String(), exit.Failed)
	}
	said := exit.Complaint(err)
	for _, want := range []string{"What shall be done?", "timed out after 3m0s", "starter up", "starter watch bill#1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the demo ends with %q, want %q in it", said, want)
		}
	}
}

func TestTheDemoSaysOnceThatItWaitsForACheck(t *testing.T) {
	var shown captured.Output
	c := factory.New(console.Console{Out: &shown, Now: time.Now}, nil)
	d := &demo{Factory: c, screen: c.ScreenOn(c.Out)}
	at := func(since time.Duration) runs.Execution {
		return runs.Execution{Activities: []runs.Activity{{Running: true, Beat: report.Progress{Doing: "check 1 of 1: " + demoCheck}, Since: time.Now().Add(-since)}}}
	}
	for _, look := range []struct {
		since time.Duration
		told  int
	}{{time.Second, 0}, {time.Minute, 1}, {2 * time.Minute, 1}} {
		d.reportSlow(at(look.since))
		if n := strings.Count(shown.String(), "The demo waits"); n != look.told {
			t.Errorf("after a check of %v the demo has said %d times that it waits, want %d", look.since, n, look.told)
		}
	}
}
