package session

import (
	"strings"

	"github.com/ratchet-dev/ratchet/internal/provider"
)

// taskPrompt returns the whole task as one message: not every agent takes a
// system prompt, and a resumed session may have another role than before.
func taskPrompt(p provider.Prompt) string {
	return strings.TrimRight(p.System, "\n") + "\n\n" + p.User
}

// repairPrompt returns the message after changes that no patch can carry.
func repairPrompt(why string) string {
	return "Your changes cannot be taken as they are. Mend this in the files, and end with the answer that the task asks for.\n\n" + why
}
