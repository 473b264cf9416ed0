package main

import (
	"context"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/version"
)

// printVersion prints which program this is, and which engine `starter up` would start.
func (c *cli) printVersion(ctx context.Context) error {
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
	if c.json {
		return c.printJSON(shown)
	}
	c.printf("starter %s\n", shown.Info)
	if err != nil {
		c.printf("engine: none: %s\n", shown.None)
		return nil
	}
	c.printf("engine: %s\n", chosen)
	return nil
}
