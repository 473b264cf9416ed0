package merge

import (
	"cmp"
	"path"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// makers says who approved and who wrote each commit, as far as it is known.
type makers struct {
	approved map[run.Commit]string
	wrote    map[run.Commit]string
}

// makersOf reads them from the events of a run.
func makersOf(events []run.Event) makers {
	m := makers{map[run.Commit]string{}, map[run.Commit]string{}}
	approver, provider := "", ""
	var choices []run.Choice
	for _, e := range events {
		switch p := e.Payload.(type) {
		case run.PhaseStarted:
			if e.Phase == run.Execute || e.Phase == run.Fix {
				provider = p.Provider
			}
		case run.PatchProduced:
			approver = ""
		case run.ApprovalRequested:
			approver, choices = "", p.Choices
		case run.ApprovalGranted:
			approver = p.By
			for _, c := range choices {
				if c.ApprovalID == p.ApprovalID {
					provider = c.Provider
				}
			}
		case run.PatchApplied:
			if approver != "" {
				m.approved[p.Commit] = approver
			}
			if name := writerOf(provider); name != "" {
				m.wrote[p.Commit] = name
			}
			approver = ""
		}
	}
	return m
}

// writerOf names for people who answers as a provider; empty: nobody does.
func writerOf(provider string) string {
	spec, err := catalog.Parse(provider)
	if err != nil {
		return ""
	}
	name := spec.Kind.Traits().Label
	switch {
	case spec.Kind == setup.Replay, spec.Kind == setup.None:
		return ""
	case len(spec.Argv) > 0:
		name = path.Base(spec.Argv[0])
	case !spec.Agent():
		name = cmp.Or(spec.Model, name)
	}
	return display.OneLine(name, 60)
}
