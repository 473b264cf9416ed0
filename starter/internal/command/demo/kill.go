package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/git"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/runlogs"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
)

// killing is the part of the demo that kills its engine and its worker while the tests of the first
// patch run.
type killing struct {
	off   bool // --no-kill
	armed bool // the next check that is at work is cut off

	produced run.Event   // PATCH_PRODUCED of the patch that was applied last
	report   *killReport // nil: nothing has been killed
	counted  bool        // the report says what the record holds
}

// killReport names the killed processes, and counts what branch and record hold afterwards.
type killReport struct {
	Killed     processes  `json:"killed"`
	Restarted  processes  `json:"restarted"`
	Patch      run.Digest `json:"patch"`       // that was on the branch before
	Commits    int        `json:"commits"`     // of that patch on the branch
	Answers    int        `json:"answers"`     // that were paid for the step that made it
	CheckTries int        `json:"checkStarts"` // of the check that was cut off: its highest attempt that was seen
}

// processes are the numbers of those that serve a run.
type processes struct {
	Engine int `json:"engine"`
	Worker int `json:"worker"`
}

func (p processes) String() string {
	return fmt.Sprintf("engine in process %d, worker in process %d", p.Engine, p.Worker)
}

// costNothing reports whether nothing was made or paid twice.
func (r killReport) costNothing() bool { return r.Commits == 1 && r.Answers == 1 }

// String says it in words, whatever the numbers are.
func (r killReport) String() string {
	return fmt.Sprintf("%s, %s", inWords(r.Commits, "commit", "commits"), inWords(r.Answers, "answer paid", "answers paid"))
}

// inWords returns a number and its noun. Small numbers are words.
func inWords(n int, one, more string) string {
	digits, noun, _ := strings.Cut(display.Count(n, one, more), " ")
	if words := []string{"no", "one", "two", "three"}; n >= 0 && n < len(words) {
		return words[n] + " " + noun
	}
	return digits + " " + noun
}

// err returns an error if the kill has cost something.
func (k killing) err() error {
	if k.report == nil || k.report.costNothing() {
		return nil
	}
	return fmt.Errorf("the kill has cost something: %s for the patch that was applied before it", *k.report)
}

// offerKill asks once, after the first approval, whether the demo may kill its engine and its worker.
// A demo that asks no one, because it approves by itself, says that it will.
func (d *demo) offerKill(ctx context.Context, p *dialog.Person) error {
	if d.kill.off || d.waits != 1 {
		return nil
	}
	if d.approveFor != "" {
		d.kill.armed = true
		d.screen.Note("  ", "While the tests run the demo kills its engine and its worker by kill -9, and starts them again (not with --no-kill).")
		return nil
	}
	d.printComment("Now the worst: kill -9 for the engine and the worker, in the middle of the tests.",
		"Then the same command starts them again.")
	line, err := p.Lines.Ask(ctx, "  "+d.screen.Wait("Kill them? ")+d.screen.Dim("[k]ill -9, Enter continues without: "))
	if errors.Is(err, follow.ErrUnanswered) {
		return nil
	}
	d.kill.armed = line == "y" || line == "k" || strings.HasPrefix(line, "kill")
	return err
}

// killAtWork kills engine and worker at the first look that sees the tests of the applied patch at work,
// and starts them again. The follower then asks the new engine.
func (d *demo) killAtWork(ctx context.Context, f *follow.Follower, e runs.Execution) error {
	checking, ok := checkAtWork(f.Last, e)
	switch {
	case !ok:
		return nil
	case d.kill.report != nil && !d.kill.counted:
		d.kill.report.CheckTries = max(d.kill.report.CheckTries, checking.Attempt)
		return nil
	case !d.kill.armed:
		return nil
	}
	d.kill.armed, f.Poll = false, 0
	report := killReport{Killed: d.up.processes(), CheckTries: checking.Attempt}
	if produced, ok := d.kill.produced.Payload.(run.PatchProduced); ok {
		report.Patch = produced.Patch.Digest
	}
	f.Screen.Clear()
	s := d.screen
	s.Linef("  %s kill -9 %-8d%s", s.Bad("✗"), report.Killed.Engine, s.Dim("engine"))
	s.Linef("  %s kill -9 %-8d%s", s.Bad("✗"), report.Killed.Worker, s.Dim("worker"))
	if err := d.up.kill(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.printComment("Both are dead; `" + demoCheck + "` was running. Now `starter up` again, on the same directory:")
	s.Line("")
	if err := d.pauseReading(ctx); err != nil {
		return err
	}
	if err := d.startUp(ctx); err != nil {
		return err
	}
	f.Watched = runref.Found{Client: d.up.Client, ID: f.ID, Name: d.name}
	report.Restarted = d.up.processes()
	d.kill.report = &report
	s.Linef("  %s %s", s.Good("✓"), report.Restarted)
	return nil
}

// checkAtWork returns the activity that runs the demo's check at this moment.
func checkAtWork(last run.Event, e runs.Execution) (runs.Activity, bool) {
	if last.Type != run.PhaseStartedEvent || last.Phase != run.Evaluate {
		return runs.Activity{}, false
	}
	for _, a := range e.Activities {
		if runsCheck(a) {
			return a, true
		}
	}
	return runs.Activity{}, false
}

// runsCheck reports whether an activity runs the demo's check.
func runsCheck(a runs.Activity) bool { return a.Running && strings.HasSuffix(a.Beat.Doing, demoCheck) }

// reportKill counts, once the run has gone on after the kill, what branch and record hold of the patch that
// was applied before it.
func (d *demo) reportKill(ctx context.Context, f *follow.Follower, e run.Event) error {
	if e.Type == run.PatchProducedEvent {
		d.kill.produced = e
	}
	if d.kill.armed && e.Type == run.PhaseStartedEvent {
		f.Poll = follow.PollFrame // the tests take two seconds
	}
	verdict := e.Type == run.EvaluationPassedEvent || e.Type == run.EvaluationFailedFixableEvent
	if !verdict || d.kill.report == nil || d.kill.counted {
		return nil
	}
	d.kill.counted = true
	r := d.kill.report
	var err error
	if r.Commits, err = countCommits(ctx, d.repo, d.branch, r.Patch); err != nil {
		return err
	}
	if r.Answers, err = d.countAnswers(d.kill.produced); err != nil {
		return err
	}
	s := d.screen
	mark := s.Good("✓ ")
	if !r.costNothing() {
		mark = s.Bad("✗ ")
	}
	s.Line("")
	s.Line("  " + mark + s.Bold(r.String()))
	s.Note("    ", fmt.Sprintf("for patch %.12s, counted on the branch and in the record.", r.Patch))
	if r.CheckTries > 1 {
		s.Note("    ", fmt.Sprintf("Its tests had no verdict yet: they ran again, in attempt %d.", r.CheckTries))
	}
	return nil
}

// countCommits returns the number of commits of a branch that carry the patch.
func countCommits(ctx context.Context, repo, branch string, patch run.Digest) (n int, err error) {
	log, err := git.Repo{Dir: repo}.Run(ctx, "log", "--format=%(trailers:key=Ratchet-Patch,valueonly)", "refs/heads/"+branch)
	if err != nil {
		return 0, fmt.Errorf("count the commits of patch %.12s: %w", patch, err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.TrimSpace(line) == string(patch) {
			n++
		}
	}
	return n, nil
}

// countAnswers returns how many answers the record says were paid for the step that made a patch. The
// worker logs each answer that it has bought and kept; one that it finds on disk it does not.
func (d *demo) countAnswers(produced run.Event) (n int, err error) {
	dir, err := d.OpenRecord(produced.RunID)
	if err != nil {
		return 0, err
	}
	logs, err := runlogs.Read(dir.Path(), []string{"provider-" + string(produced.Phase)})
	if err != nil {
		return 0, fmt.Errorf("count the answers of %s %d: %w", produced.Phase, produced.Iteration, err)
	}
	for line := range strings.Lines(logs[0].Text) {
		_, fields, answered := strings.Cut(line, "] answered ")
		var call struct {
			Iteration int `json:"iteration"`
		}
		if answered && json.Unmarshal([]byte(fields), &call) == nil && call.Iteration == produced.Iteration {
			n++
		}
	}
	return n, nil
}
