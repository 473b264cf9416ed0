package codex

import (
	"context"
	"encoding/json"
)

// disableUserServers turns off the MCP servers of the user's own configuration.
// It names each server, because an empty table changes nothing in the client
// (0.169.0). It also turns off apps and plugins, which bring servers along.
// Servers that config names stay.
func (w *conn) disableUserServers(ctx context.Context, config object) error {
	var read struct {
		Config struct {
			Servers map[string]json.RawMessage `json:"mcp_servers"`
		} `json:"config"`
	}
	// Without a directory, the answer is the user's configuration and not a project's.
	err := w.callServer(ctx, "config/read", object{}, func(result json.RawMessage) error {
		if err := json.Unmarshal(result, &read); err != nil {
			return badRequest("codex said %.80q of its configuration: %v", result, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	servers := config["mcp_servers"].(object)
	for name := range read.Config.Servers {
		if servers[name] == nil {
			servers[name] = object{"enabled": false}
		}
	}
	config["features.apps"], config["features.plugins"] = false, false
	return nil
}
