package demo

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/localhost"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// prepareEngine builds the engine where it is not built yet, which takes minutes. Meanwhile it shows the preview, with
// the progress of the build beneath.
func (d *demo) prepareEngine(ctx context.Context) error {
	screen := d.screen
	if !screen.Live() {
		screen = d.ErrorScreen()
	}
	work := screen.Work(localhost.StartsEngine)
	defer work.Stop()
	var preview sync.WaitGroup
	defer preview.Wait()
	begin := sync.OnceFunc(func() { preview.Go(func() { d.printPreview(ctx) }) })
	o := engine.Options{DB: filepath.Join(d.RunsDir, localhost.Database)}
	localhost.ShowBuild(&o, screen, work)
	progress, live := o.Progress, o.Live
	o.Progress = func(line string) { begin(); progress(line) }
	if live != nil {
		o.Live = func(line string) { begin(); live(line) }
	}
	return d.prepare(ctx, o)
}

// printPreview shows the bug, the tests that fail on it, and the plan of the recorded answers.
func (d *demo) printPreview(ctx context.Context) {
	if d.JSON {
		return
	}
	d.printComment("The engine is built first. Meanwhile, this is the bug, in " + console.NearPath(d.repo) + ":")
	d.printSample("sample/bill/split.go.txt", "// Split ")
	d.printComment("These are its tests, run on your machine:")
	d.screen.Line("")
	result, err := d.testSample(ctx)
	if err != nil {
		return // the run makes the same check, and reports its error
	}
	d.screen.Linef("  %s %s  %s", d.screen.Bad("✗"), demoCheck, cmp.Or(result.Reason, "failed"))
	for _, line := range story.Lines(result.Head, 6) {
		d.screen.Line(d.screen.Dim("    │ " + line))
	}
	d.printComment("And this is the agent's plan for it:")
	d.printSample("sample/answers/plan-1.md", "")
	d.printComment("Next, when the engine is there: its patch, an approval, the tests again, and a fix.")
}

// printSample prints a file of the sample from a text on.
func (d *demo) printSample(name, from string) {
	content, _ := sample.ReadFile(name) // it is in this program
	text := string(content)
	d.screen.Line("")
	for line := range strings.Lines(text[strings.Index(text, from):]) {
		d.screen.Line(strings.TrimRight("    "+strings.ReplaceAll(line, "\t", "    "), " \n"))
	}
}

// testSample runs the check on the sample, without the box.
func (d *demo) testSample(ctx context.Context) (check.Result, error) {
	home, err := os.MkdirTemp("", "ratchet-demo-")
	if err != nil {
		return check.Result{}, err
	}
	defer os.RemoveAll(home)
	report, err := check.Run(ctx, check.Spec{
		Commands: []string{demoCheck}, Dir: d.repo, Home: home, Set: map[string]string{"GOCACHE": d.cache}, Timeout: demoPatience,
	}, nil)
	if err != nil {
		return check.Result{}, err
	}
	return report.Checks[0], nil
}
