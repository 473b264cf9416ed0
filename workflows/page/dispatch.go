package page

import (
	"slices"

	"github.com/ratchet-dev/ratchet/internal/dispatch"
)

// OfTarget returns the Markdown that the Web UI shows for a target: its dispatches, the latest first.
func OfTarget(h dispatch.History) string {
	var m markdown
	m.printf("## Messages to %s\n\n", inlineCode(string(h.Target)))
	for _, o := range slices.Backward(h.Open) {
		m.printf("- %s, %s: **in progress**\n", FormatTime(o.Since), string(o.Intent))
	}
	for _, d := range slices.Backward(h.Ended) {
		how := string(d.Result.Receipt.Reason())
		if d.Result.Outcome != nil {
			how = string(d.Result.Outcome.Kind)
		}
		m.printf("- %s, %s: **%s**", FormatTime(d.At), string(d.Intent), escapeMarkup(how))
		if d.Result.Diagnostic != "" {
			m.printf(" (%s)", escapeMarkup(d.Result.Diagnostic))
		}
		if hint := d.Result.Hint(); hint != "" {
			m.printf(", %s", escapeMarkup(hint))
		}
		m.printf("\n")
	}
	return m.String()
}
