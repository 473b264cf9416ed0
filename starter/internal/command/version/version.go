// Package version is `starter --version`.
package version

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/version"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Print prints which program this is, and which engine `starter up` would start.
func Print(ctx context.Context, c *factory.Factory) error {
	shown := struct {
		version.Info
		Engine *engine.Choice `json:"engine,omitempty"`
		None   string         `json:"noEngine,omitempty"` // why there is no engine
	}{Info: version.Read()}
	chosen, err := engine.Choose(ctx)
	if err != nil {
		shown.None = err.Error()
	} else {
		shown.Engine = &chosen
	}
	if c.JSON {
		return c.PrintJSON(shown)
	}
	c.Printf("starter %s\n", shown.Info)
	if err != nil {
		c.Printf("engine: none: %s\n", shown.None)
		return nil
	}
	c.Printf("engine: %s\n", chosen)
	return nil
}
