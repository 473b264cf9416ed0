// Package links makes the links that show a run in a browser.
package links

import (
	"context"
	"fmt"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
)

// Path returns the path of the run that args name, by function of; without one, the path of all runs.
func Path(ctx context.Context, c *factory.Factory, args []string, of func(run.ID) string) (string, error) {
	if len(args) == 0 {
		return "/", nil
	}
	runs, closeClient, err := c.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer closeClient()
	id, err := runs.Find(ctx, args[0])
	if err != nil {
		return "", err
	}
	return of(id), nil
}

// Print prints a link, under the name where the answer is JSON.
func Print(c *factory.Factory, name, link string) error {
	if c.JSON {
		return c.PrintJSON(map[string]string{name: link})
	}
	c.Printf("%s\n", link)
	return nil
}

// WebUI returns the address of the run's page in the Web UI. It is empty unless the engine was
// found by an engine.json.
func WebUI(c *factory.Factory, id run.ID) string {
	target, err := temporalclient.Resolve(temporalclient.Options{RunsDir: c.RunsDir})
	if err != nil || target.Source != temporalclient.EngineFile {
		return ""
	}
	f, err := engine.ReadFile(target.RunsDir)
	if err != nil || f.UI == "" {
		return ""
	}
	return RunPage(f.UI, target.Namespace, id)
}

// PrintRun says where the run can be seen in a browser: on a terminal by the commands that open it, whose links are
// long and open once.
func PrintRun(c *factory.Factory, r runref.Found) {
	page := WebUI(c, r.ID)
	switch {
	case page == "" || c.JSON:
	case c.Screen:
		name := shellquote.Join(r.ShownName())
		c.ScreenOn(c.Out).Note("", fmt.Sprintf("review in a browser: `%s`", c.Hint("page %s", name)))
		c.Printf("\n")
	default:
		c.Printf("Web UI %s\n\n", display.Line(page))
	}
}

func RunPage(ui, namespace string, id run.ID) string {
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", strings.TrimRight(ui, "/"), namespace, id.WorkflowID())
}
