package up

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// waitsEvery is the time between two looks at what waits.
const waitsEvery = 2 * time.Second

// printWaits prints a line when a run, a session or a ticket begins to wait for a person, until ctx ends. An engine that
// does not answer is asked again.
func printWaits(ctx context.Context, c *factory.Factory, t client.Client) {
	box, told := inbox.New(c.ClientOf(t)), map[string]string{}
	tick := time.NewTicker(waitsEvery)
	defer tick.Stop()
	for {
		if items, err := box.Gather(ctx); err == nil && ctx.Err() == nil {
			told = printNewWaits(c, items, told)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// printNewWaits prints the waits that were not printed yet, and returns those that are now.
func printNewWaits(c *factory.Factory, items []inbox.Item, told map[string]string) map[string]string {
	still := map[string]string{}
	for _, i := range items {
		still[i.Key()] = told[i.Key()]
		if i.Wait == "" || told[i.Key()] == i.Wait {
			continue
		}
		still[i.Key()] = i.Wait
		c.Printf("%s %s\n", c.Now().Local().Format("15:04"), waitLine(c, i))
	}
	return still
}

// waitLine says in one line what an item waits for, and the command that leads there.
func waitLine(c *factory.Factory, i inbox.Item) string {
	s := c.Style()
	since := ""
	if age := c.Now().Sub(i.Since); !i.Since.IsZero() && age >= time.Minute { // it waited before this process began
		since = " for " + display.Age(age)
	}
	return s.Bold(story.OneLine(i.Shown(), 80)) + " " + s.Wait("waits"+since+": "+i.Wants()) + " " + story.OneLine(i.About, 120) + "  " + s.Dim(c.Hint("%s", i.Command()))
}
