package page

import "github.com/ratchet-dev/ratchet/internal/agent"

// OfAgents returns the Markdown that the Web UI shows for the agents of a worker.
func OfAgents(list []agent.Manifest) string {
	var m markdown
	m.printf("## Agents of this worker\n\n")
	for _, a := range list {
		if !a.Installed {
			m.printf("- **%s** is not available: %s\n", escapeMarkup(a.Label), escapeMarkup(a.Unavailable))
			continue
		}
		m.printf("- **%s** %s, %s", escapeMarkup(a.Label), escapeMarkup(a.Version), inlineCode(a.Binary))
		if a.StatusReason != "" {
			m.printf(" (%s)", escapeMarkup(a.StatusReason))
		}
		m.printf("\n")
	}
	return m.String()
}
