package pi

import (
	"bufio"
	"context"
	"encoding/json"

	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// savedEntry is a line of a saved session: a node of a tree. The session continues
// at the last one.
type savedEntry struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Parent   string `json:"parentId"`
	Provider string `json:"provider"`
	Model    string `json:"modelId"`
	Message  struct {
		Role     string `json:"role"`
		Provider string `json:"provider"`
		Model    string `json:"model"`
	} `json:"message"`
}

// namedModel returns the model that the entry names.
func (e savedEntry) namedModel() string {
	switch {
	case e.Type == "model_change":
		return e.Provider + "/" + e.Model
	case e.Type == "message" && e.Message.Role == "assistant":
		return e.Message.Provider + "/" + e.Message.Model
	}
	return ""
}

// savedModel returns the model with which a saved session continues: the last one
// that is named on the path to its last entry. It is empty if there is none, no
// such file, or one that is too large. The agent can write the file.
func savedModel(ctx context.Context, path string) string {
	f, err := file.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, child.MaxLine)
	models, last, kept := map[string]string{}, "", 0
	for lines.Scan() && ctx.Err() == nil {
		var e savedEntry
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.ID == "" || e.Type == "session" {
			continue
		}
		models[e.ID], last = models[e.Parent], e.ID
		named := e.namedModel()
		if named != "" {
			models[e.ID] = named
		}
		if kept += entrySize + len(e.ID) + len(named); kept > maxKept {
			return ""
		}
	}
	if lines.Err() != nil || ctx.Err() != nil {
		return ""
	}
	return models[last]
}

// What savedModel keeps of a session is bounded, in bytes.
const (
	maxKept   = 64 << 20
	entrySize = 64 // of an entry, besides its id and its model
)
