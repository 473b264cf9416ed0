package pi

import (
	"bufio"
	"encoding/json"
	"os"
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
// that is named on the path to its last entry. It is empty if there is none, or no
// such file.
func savedModel(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	models, last := map[string]string{}, ""
	for lines := bufio.NewReader(f); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		var e savedEntry
		if json.Unmarshal(line, &e) != nil || e.ID == "" || e.Type == "session" {
			continue
		}
		models[e.ID], last = models[e.Parent], e.ID
		if named := e.namedModel(); named != "" {
			models[e.ID] = named
		}
	}
	return models[last]
}
