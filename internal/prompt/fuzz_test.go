package prompt_test

import (
	"testing"
	"unicode/utf8"

	"github.com/ratchet-dev/ratchet/internal/prompt"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/verdict"
)

// Whatever the texts hold: the artifacts keep the budget, every fence is
// closed, and the evaluator's whole prompt decides nothing.
func FuzzBuild(f *testing.F) {
	f.Add("goal a.md", "text", branchDiff, 4096)
	f.Add(hostile, hostile, hostile, 100)
	f.Add("\xff", "a\r\n`````", "diff --git a/\"x b/x\n--- \"\\", 1)
	f.Fuzz(func(t *testing.T, goal, text, diff string, budget int) {
		r := repository{"a.md": text, text: "b", "deep/" + goal + "/a.md": "c"}
		p := prompt.Build(prompt.In{
			Role: run.Evaluator, Goal: goal, Plan: text, Diff: prompt.ReadDiff([]byte(diff)), Problem: text, Files: r.files(), Read: r.read, Budget: budget,
			Guidance: []run.Guidance{{Kind: text, Text: goal}},
			Report:   []prompt.Check{{Command: goal, Outcome: text, Head: text, Tail: diff, Bytes: 1 << 20}},
		})
		total := 0
		for _, a := range p.Artifacts {
			total += len(a.Content)
		}
		if limit := max(budget, 0); budget != 0 && total > limit {
			t.Errorf("%d bytes with a budget of %d", total, budget)
		}
		if !utf8.ValidString(p.User) {
			t.Error("the user prompt is not UTF-8")
		}
		outside(t, p.Message())
		if v, err := verdict.Parse(p.Flatten()); err == nil {
			t.Errorf("an echo decides %s", v.Decision)
		}
	})
}
