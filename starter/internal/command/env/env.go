// Package env has the commands `starter env` and `starter ui`.
package env

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/links"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// The variables of Temporal's standard client configuration that lead to the engine.
// https://docs.temporal.io/references/client-environment-configuration has them all.
const (
	addressVariable    = "TEMPORAL_ADDRESS"
	namespaceVariable  = "TEMPORAL_NAMESPACE"
	tlsVariable        = "TEMPORAL_TLS"
	certVariable       = "TEMPORAL_TLS_CLIENT_CERT_PATH"
	keyVariable        = "TEMPORAL_TLS_CLIENT_KEY_PATH"
	authorityVariable  = "TEMPORAL_TLS_SERVER_CA_CERT_PATH"
	configFileVariable = "TEMPORAL_CONFIG_FILE"
)

// foreignVariable matches the variables that may hold the credentials of another server.
var foreignVariable = regexp.MustCompile(`^TEMPORAL_(API_KEY|PROFILE|CLIENT_AUTHORITY|TLS(_\w+)?|CODEC_\w+|GRPC_META_\w+)$`)

func New(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print what Temporal's own tools and clients need to reach the engine",
		Long: `Prints shell commands that set the standard variables of Temporal's clients: the
address of the engine of this runs directory, its namespace, and the path of
engine.pem, by which engine and client know each other. Variables that belong to
another server are unset.

engine.pem is a key: who can read it can start runs and approve. It is kept over
restarts of the engine.`,
		Example: "  eval \"$(starter env)\"\n  temporal workflow list\n  starter env --json | jq -r .TEMPORAL_ADDRESS",
		Args:    usage.Args(0, "no arguments"),
		RunE:    c.Handle(func(ctx context.Context, _ []string) error { return env(ctx, c) }),
	}
}

func env(ctx context.Context, c *factory.Factory) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	f, err := temporalclient.Knock(ctx, c.RunsDir)
	if err != nil {
		return err
	}
	key, err := engine.ReadKey(c.RunsDir)
	if err != nil {
		return err
	}
	vars := clientVariables(c, f, key)
	if c.JSON {
		return c.PrintJSON(vars)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if value := vars[name]; value != nil {
			c.Printf("export %s=%s\n", name, shellquote.Join(*value))
		} else {
			c.Printf("unset %s\n", name)
		}
	}
	return nil
}

// clientVariables returns the variables that lead a standard client to the engine. A nil value
// unsets a variable that belongs to another server.
func clientVariables(c *factory.Factory, f engine.File, key engine.Key) map[string]*string {
	vars := map[string]*string{}
	for _, entry := range c.Environ {
		if name, _, _ := strings.Cut(entry, "="); foreignVariable.MatchString(name) {
			vars[name] = nil
		}
	}
	vars[addressVariable] = &f.Address
	vars[namespaceVariable] = new(client.DefaultNamespace)
	if !f.Open {
		vars[tlsVariable], vars[certVariable], vars[keyVariable], vars[authorityVariable] = new("true"), &key.Path, &key.Path, &key.Path
	}
	if temporalclient.HasProfile() {
		vars[configFileVariable] = new("/dev/null")
	}
	return vars
}

func NewUI(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "ui [RUN]",
		Short: "Print a link that opens the Web UI, at a run's page",
		Long: `Prints a link that opens Temporal's Web UI of the engine in a browser. The review
page serves it, with one login for both. The link can be used once, within ten
minutes; the browser that has used it stays in for 14 days, or until the page's
server ends.`,
		Example: "  starter ui\n  starter ui slug#14",
		Args:    usage.ArgsBetween(0, 1, "at most one RUN"),
		RunE:    c.Handle(func(ctx context.Context, args []string) error { return ui(ctx, c, args) }),
	}
}

func ui(ctx context.Context, c *factory.Factory, args []string) error {
	if err := c.MayDecide(); err != nil {
		return err
	}
	place, err := review.ReadPlace(ctx, c.RunsDir)
	if err != nil {
		return err
	}
	if !place.WebUI {
		return errors.New("the review page serves no Web UI: its worker is connected to a server of its own")
	}
	page, err := links.Path(ctx, c, args, func(id run.ID) string { return links.RunPage("", client.DefaultNamespace, id) })
	if err != nil {
		return err
	}
	return links.Print(c, "ui", place.Short(ctx, place.LoginOwner(c.UserName(), review.UIPath+page, time.Now())))
}
