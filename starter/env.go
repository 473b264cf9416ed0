package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
)

// The variables of Temporal's standard client configuration that lead to the engine.
// https://docs.temporal.io/references/client-environment-configuration has them all.
const (
	addressVariable       = "TEMPORAL_ADDRESS"
	namespaceVariable     = "TEMPORAL_NAMESPACE"
	authorizationVariable = "TEMPORAL_GRPC_META_AUTHORIZATION"
	configFileVariable    = "TEMPORAL_CONFIG_FILE"
)

// foreignVariable matches the variables that may hold the credentials of another server.
var foreignVariable = regexp.MustCompile(`^TEMPORAL_(API_KEY|PROFILE|CLIENT_AUTHORITY|TLS(_\w+)?|CODEC_\w+|GRPC_META_\w+)$`)

func (c *cli) envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print what Temporal's own tools and clients need to reach the engine",
		Long: `Prints shell commands that set the standard variables of Temporal's clients: the
address of the engine of this runs directory, its namespace, and the header that
opens it. Variables that belong to another server are unset. RATCHET_ENGINE_FILE
has starter and worker ask for the engine's proof in every directory; Temporal's
own tools ask for none.

The header is a key: who has it can start runs and approve. It is valid until
the engine ends; a script begins with this command.`,
		Example: "  eval \"$(starter env)\"\n  temporal workflow list\n  starter env --json | jq -r .TEMPORAL_ADDRESS",
		Args:    exactArgs(0, "no arguments"),
		RunE:    c.handleWith(func(ctx context.Context, _ []string) error { return c.env(ctx) }),
	}
}

func (c *cli) env(ctx context.Context) error {
	door, err := c.knock(ctx, c.runsDir)
	if err != nil {
		return err
	}
	vars := c.clientVariables(door)
	file, err := filepath.Abs(filepath.Join(c.runsDir, engine.FileName))
	if err != nil {
		return err
	}
	vars[temporalclient.EngineVariable] = &file
	if c.json {
		return c.printJSON(vars)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if value := vars[name]; value != nil {
			c.printf("export %s=%s\n", name, shellquote.Join(*value))
		} else {
			c.printf("unset %s\n", name)
		}
	}
	return nil
}

// knock asks the engine of a runs directory for its proof, on behalf of a person: a program of a run gets no key.
func (c *cli) knock(ctx context.Context, runsDir string) (temporalclient.Door, error) {
	if err := c.mayDecide(); err != nil {
		return temporalclient.Door{}, err
	}
	return temporalclient.Knock(ctx, runsDir, 0)
}

// clientVariables returns the variables that lead a standard client to the engine. A nil value
// unsets a variable that belongs to another server.
func (c *cli) clientVariables(door temporalclient.Door) map[string]*string {
	vars := map[string]*string{}
	for _, entry := range c.environ {
		if name, _, _ := strings.Cut(entry, "="); foreignVariable.MatchString(name) {
			vars[name] = nil
		}
	}
	vars[addressVariable] = &door.Engine.Address
	vars[namespaceVariable] = new(client.DefaultNamespace)
	if door.Locked() {
		vars[authorizationVariable] = new(door.Authorization())
	}
	if temporalclient.HasProfile() {
		vars[configFileVariable] = new("/dev/null")
	}
	return vars
}

func (c *cli) uiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ui [RUN]",
		Short: "Print a link that opens the Web UI, at a run's page",
		Long: `Prints a link that opens the Web UI of the engine in a browser. It can be used
once, within ten minutes; the browser that has used it stays in until the engine
ends.`,
		Example: "  starter ui\n  starter ui slug#14",
		Args:    argsBetween(0, 1, "at most one RUN"),
		RunE:    c.handleWith(func(ctx context.Context, args []string) error { return c.ui(ctx, args) }),
	}
}

func (c *cli) ui(ctx context.Context, args []string) error {
	door, err := c.knock(ctx, c.runsDir)
	if err != nil {
		return err
	}
	page, err := c.pathAt(ctx, args, func(id run.ID) string { return runPage("", client.DefaultNamespace, id) })
	if err != nil {
		return err
	}
	return c.printLink("ui", door.Login(page))
}

// loginNote says how to open the Web UI of an engine that is locked.
func (c *cli) loginNote(link string) string {
	return fmt.Sprintf("the Web UI opens by %s (once, within ten minutes; `%s` prints another link)", link, c.hintCommand("ui"))
}
