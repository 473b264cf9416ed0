package pi

import (
	"bufio"
	"encoding/json"
	"os"
)

// entry is a line of a saved session: a node of a tree, whose last one is
// where the session goes on.
type entry struct {
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

// model is the one that the entry names.
func (e entry) model() string {
	switch {
	case e.Type == "model_change":
		return e.Provider + "/" + e.Model
	case e.Type == "message" && e.Message.Role == "assistant":
		return e.Message.Provider + "/" + e.Message.Model
	}
	return ""
}

// modelOf is the model that a saved session goes on with: the one named last on
// the way to its last entry. It is empty where there is none, or no such file.
func modelOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	models, last := map[string]string{}, ""
	for lines := bufio.NewReader(f); err == nil; {
		var line []byte
		line, err = lines.ReadBytes('\n')
		var e entry
		if json.Unmarshal(line, &e) != nil || e.ID == "" || e.Type == "session" {
			continue
		}
		models[e.ID], last = models[e.Parent], e.ID
		if named := e.model(); named != "" {
			models[e.ID] = named
		}
	}
	return models[last]
}
