package setup

import (
	"cmp"
	"fmt"
	"strings"
)

// Choice holds the settings that can be chosen for a session and overridden for
// one start of it. The agent chooses for a member that is empty.
type Choice struct {
	Model string `json:"model,omitempty"`
	Mode  string `json:"mode,omitempty"` // an id of the agent's manifest
}

// Over returns c with its empty members taken from below.
func (c Choice) Over(below Choice) Choice {
	return Choice{Model: cmp.Or(c.Model, below.Model), Mode: cmp.Or(c.Mode, below.Mode)}
}

// maxModel bounds the name of a model in bytes.
const maxModel = 128

// Validate returns an error if no agent of that kind can be started with the choice, because a value is malformed or
// because the agent takes no such choice.
func (c Choice) Validate(kind Kind) error {
	if c.Model != "" && (len(c.Model) > maxModel || !IsModelName(c.Model) || checkPrintable(c.Model) != nil) {
		return fmt.Errorf("the model %.40q: want one word of at most %d bytes", c.Model, maxModel)
	}
	return Options{Mode: c.Mode}.Validate(kind)
}

// IsModelName reports whether the text is the name of a model: one word that is no flag.
func IsModelName(text string) bool {
	return text != "" && !strings.HasPrefix(text, "-") && !strings.ContainsAny(text, " \t\r\n\x00")
}

// Change changes a Choice. A nil member stays; an empty one leaves the choice to the agent.
type Change struct {
	Model *string `json:"model,omitempty"`
	Mode  *string `json:"mode,omitempty"`
}

// IsZero reports whether nothing is to change.
func (c Change) IsZero() bool { return c.Model == nil && c.Mode == nil }

// Apply returns the changed choice.
func (c Change) Apply(to Choice) Choice {
	if c.Model != nil {
		to.Model = *c.Model
	}
	if c.Mode != nil {
		to.Mode = *c.Mode
	}
	return to
}

// NarrowModes are modes in which no agent does more than in its default. The mode plan is none: with one
// agent a model decides about commands in it.
var NarrowModes = []string{"default", "read-only"}
