package forge

import (
	"strings"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The text of a run stands between two comments, which Markdown does not show.
func begin(id run.ID) string { return "<!-- ratchet:" + string(id) + " -->" }
func end(id run.ID) string   { return "<!-- /ratchet:" + string(id) + " -->" }

func section(id run.ID, text string) string {
	return begin(id) + "\n" + strings.TrimSpace(text) + "\n" + end(id)
}

// replaceSection returns body with the text of the run in its place, at the end where it has none.
func replaceSection(body string, id run.ID, text string) string {
	before, rest, ok := strings.Cut(body, begin(id))
	_, after, closed := strings.Cut(rest, end(id))
	if !ok || !closed {
		return strings.TrimRight(body, "\n") + "\n\n" + section(id, text)
	}
	return before + section(id, text) + after
}
