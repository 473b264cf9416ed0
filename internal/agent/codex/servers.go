package codex

import (
	"context"
	"encoding/json"
	"os"
	"strings"
)

// readServers reads a file of MCP servers: a JSON object whose member mcpServers
// holds the client's mcp_servers tables.
func readServers(path string) (object, error) {
	if path == "" {
		return object{}, nil
	}
	var file struct {
		Servers object `json:"mcpServers"`
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return nil, badRequest("MCP servers of %s: %v", path, err)
	}
	for name := range file.Servers {
		if strings.Contains(name, ".") {
			return nil, badRequest("MCP servers of %s: a dot in the name %q", path, name)
		}
	}
	return file.Servers, nil
}

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
