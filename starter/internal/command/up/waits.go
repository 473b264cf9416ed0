package up

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/starter/internal/asking"
	"github.com/ratchet-dev/ratchet/starter/internal/board"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runrows"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// waitsEvery is the time between two looks at the runs that wait.
const waitsEvery = 2 * time.Second

// maxWaits bounds the runs that are looked at each time: each takes three queries.
const maxWaits = 100

// printWaits prints a line when a run or a session begins to wait for a person, until ctx ends. An engine that does not
// answer is asked again.
func printWaits(ctx context.Context, c *factory.Factory, t client.Client) {
	runs := c.ClientOf(t)
	told, asked := map[run.ID]time.Time{}, map[session.ID]string{}
	tick := time.NewTicker(waitsEvery)
	defer tick.Stop()
	for {
		printNewWaits(ctx, c, runs, told)
		printNewAsks(ctx, c, t, asked)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// printNewWaits prints the waits that are not told yet. A run that works again, and waits again later, is
// told again.
func printNewWaits(ctx context.Context, c *factory.Factory, client *runs.Client, told map[run.ID]time.Time) {
	waiting, err := client.Waiting(ctx)
	if err != nil {
		return
	}
	still := map[run.ID]bool{}
	for _, row := range runrows.Of(waiting[:min(len(waiting), maxWaits)]) {
		still[row.ID] = true
		runrows.DescribeWait(ctx, client, &row)
		if ctx.Err() != nil || row.Title == "" || told[row.ID].Equal(row.Since) && !row.Since.IsZero() {
			continue
		}
		told[row.ID] = row.Since
		c.Printf("%s %s\n", c.Now().Local().Format("15:04"), waitLine(c, row))
	}
	for id := range told {
		if !still[id] {
			delete(told, id)
		}
	}
}

// printNewAsks prints what sessions wait for and was not told yet: once for each question.
func printNewAsks(ctx context.Context, c *factory.Factory, t client.Client, asked map[session.ID]string) {
	list, err := asking.Find(ctx, c, t)
	if err != nil {
		return
	}
	for _, s := range list {
		if asked[s.ID] != s.Wait {
			asked[s.ID] = s.Wait
			c.Printf("%s %s\n", c.Now().Local().Format("15:04"), s.Line(c, c.Style()))
		}
	}
}

// waitLine says in one line what a run waits for, and the command that leads there.
func waitLine(c *factory.Factory, r board.Row) string {
	s := c.Style()
	since := ""
	if age := c.Now().Sub(r.Since); !r.Since.IsZero() && age >= time.Minute { // it waited before this process began
		since = " for " + display.Age(age)
	}
	return s.Bold(r.Name.Shown(r.ID)) + " " + s.Wait("waits"+since+": "+r.Wants()) + " " + story.OneLine(r.Title, 120) + "  " + s.Dim(c.Hint("review %s", r.Name.Shown(r.ID)))
}
