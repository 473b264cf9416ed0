package prompt

import (
	_ "embed"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The parts of the system prompts. The form of a decision in an evaluator's prompt
// must not be read as a decision when a model echoes it: see package verdict.
var (
	//go:embed text/planner.md
	planner string
	//go:embed text/developer.md
	developer string
	//go:embed text/fixer.md
	fixer string
	//go:embed text/evaluator.md
	evaluator string
	//go:embed text/answer.md
	answerForm string
	//go:embed text/works.md
	works string
	//go:embed text/data.md
	data string
)

// systemPrompt returns the system prompt of a role, which is one of the four. edits says that the provider
// changes the files itself.
func systemPrompt(role run.Role, edits bool) string {
	form := answerForm
	if edits {
		form = works
	}
	switch role {
	case run.Planner:
		return planner + "\n" + data
	case run.Developer:
		return developer + "\n" + form + "\n" + data
	case run.Fixer:
		return fixer + "\n" + form + "\n" + data
	case run.Evaluator:
		return evaluator + "\n" + data
	}
	return ""
}
