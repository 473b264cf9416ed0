package fakemodel

import (
	"encoding/json"
	"strings"
)

// content is the content of a message in all the APIs: a text, or a list of blocks.
type content []block

// block is a block of any of the APIs.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`

	// These fields belong to Anthropic's tool_use and tool_result.
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	err := json.Unmarshal(b, &blocks)
	*c = blocks
	return err
}

func (c content) texts() []string {
	var texts []string
	for _, b := range c {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

func (c content) text() string { return strings.Join(c.texts(), "\n") }

// join adds a part to the system prompt.
func join(system, part string) string {
	if system == "" {
		return part
	}
	return system + "\n" + part
}
