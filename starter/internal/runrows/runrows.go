// Package runrows makes the rows of lists of runs, and asks the runs what they wait for.
package runrows

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
)

// mostWorking bounds the runs at work that are asked what they do.
const mostWorking = 40

// Describe fills in what the waiting rows wait for, what the first working rows do, and what both have used.
func Describe(ctx context.Context, client *runs.Client, rows []inbox.Item) []inbox.Item {
	var working atomic.Int64
	return inbox.New(client).Describe(ctx, rows, func(ctx context.Context, r *inbox.Item) {
		if board.GroupOf(r.Listed) == board.Working && working.Add(1) <= mostWorking {
			describeWork(ctx, client, r)
		}
	})
}

// describeWork fills in what a run at work does and has used, the calls in progress included.
func describeWork(ctx context.Context, client *runs.Client, r *inbox.Item) {
	facts, err := client.Facts(ctx, r.ID)
	if err != nil {
		return
	}
	r.Used = facts.Usage
	e, err := client.Describe(ctx, r.ID)
	if err != nil {
		return
	}
	doing := ""
	for _, a := range e.Activities {
		r.Used = r.Used.Add(a.Beat.Used)
		doing = cmp.Or(a.Beat.Doing, doing)
	}
	if doing != "" {
		r.About = terminal.Clip(r.Goal, 40) + " · " + doing
	}
}

// Title returns the line above a wait.
func Title(s terminal.Style, r inbox.Item) string {
	what := ""
	if r.Kind != inbox.Run {
		what = s.Dim("  " + string(r.Kind))
	}
	return s.Accent("▸ ") + s.Bold(story.OneLine(r.Shown(), 80)) + what + s.Dim("  "+story.OneLine(r.Goal, 120))
}

// Print prints the rows as a list.
func Print(ctx context.Context, c *factory.Factory, client *runs.Client, rows []inbox.Item) {
	if len(rows) == 0 {
		c.Printf("No runs. `%s` starts one.\n", c.Hint("run --help"))
		return
	}
	rows = Describe(ctx, client, rows)
	inbox.Sort(rows)
	c.Printf("%s\n", strings.Join(board.Lines(c.Style(), rows, c.Now(), c.Columns()), "\n"))
}

// StatusText returns a status in its colour.
func StatusText(s terminal.Style, status run.Status, outcome string) string {
	text := string(status)
	if outcome != "" {
		text += " (" + outcome + ")"
	}
	switch {
	case status == run.Completed:
		return s.Good(text)
	case status == run.Failed:
		return s.Bad(text)
	case status.Waiting():
		return s.Wait(text)
	}
	return text
}
