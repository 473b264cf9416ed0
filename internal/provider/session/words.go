package session

import (
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// taskPrompt returns the whole task as one message: not every agent takes a
// system prompt, and a resumed session may have another role than before.
func taskPrompt(p provider.Prompt) string {
	return strings.TrimRight(p.System, "\n") + "\n\n" + p.User
}

// resumePrompt returns the message after a turn that was cut off. Decided is the
// decision on the permission that the turn waited for; nil if it waited for none.
func resumePrompt(decided *run.Permit) string {
	text := "You were cut off. Nothing is lost: the files are as you left them. Go on where you stopped, and end with the answer that the task asks for."
	switch {
	case decided == nil:
		return text
	case decided.Allow:
		return text + fmt.Sprintf("\n\nThe use of the tool %s that you asked for is allowed: make the same call again.", decided.Tool)
	}
	return text + fmt.Sprintf("\n\nThe use of the tool %s that you asked for is refused, do without it: %s", decided.Tool, decided.Reason)
}

// repairPrompt returns the message after changes that no patch can carry.
func repairPrompt(why string) string {
	return "Your changes cannot be taken as they are. Mend this in the files, and end with the answer that the task asks for.\n\n" + why
}
