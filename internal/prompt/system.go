package prompt

import (
	_ "embed"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// The parts of the system prompts. What an evaluator's prompt shows of a
// decision must not read as one when it is echoed: see package verdict.
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

// system is the system prompt of a role; of the four only. Edits says that it
// changes the files itself.
func system(role run.Role, edits bool) string {
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
