package codex

import (
	"context"
	"encoding/json"
)

// userConfig is what the client says of its configuration: the user's, with the settings of the process.
type userConfig struct {
	Servers  map[string]json.RawMessage `json:"mcp_servers"`
	Features struct {
		InstantInterrupt *bool `json:"instant_interrupt"`
	} `json:"features"`
}

// readConfig asks the client for its configuration.
func (w *conn) readConfig(ctx context.Context) (userConfig, error) {
	var read struct {
		Config userConfig `json:"config"`
	}
	// Without a directory, the answer is the user's configuration and not a project's.
	err := w.callServer(ctx, "config/read", object{}, func(result json.RawMessage) error {
		if err := json.Unmarshal(result, &read); err != nil {
			return badRequest("unexpected answer of codex about its configuration, %.80q: %v", result, err)
		}
		return nil
	})
	return read.Config, err
}

// disableServers turns off the MCP servers of the user's own configuration.
// It names each server, because an empty table changes nothing in the client
// (0.169.0). It also turns off apps and plugins, which bring servers along.
// Servers that config names stay.
func (c userConfig) disableServers(config object) {
	servers := config["mcp_servers"].(object)
	for name := range c.Servers {
		if servers[name] == nil {
			servers[name] = object{"enabled": false}
		}
	}
	config["features.apps"], config["features.plugins"] = false, false
}
