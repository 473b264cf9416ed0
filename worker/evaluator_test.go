package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/workflows"
)

// instructions are files that agents take instructions from. Each says its name in words of its own.
var instructions = []string{
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude/rules/all.md", ".claude/skills/one/SKILL.md", ".codex/skills/two/SKILL.md",
	".agents/skills/three/SKILL.md", "sub/AGENTS.md", "sub/CLAUDE.md", "sub/CONTEXT.md",
}

func instructionOf(name string) string { return "heed " + strings.ToUpper(name) }

// readers are calls of each agent that read a file beside instructions.
var readers = map[string]string{
	"claude":   call("Read", map[string]any{"file_path": "sub/x.txt"}),
	"codex":    call("exec_command", map[string]any{"cmd": "cat sub/x.txt"}),
	"opencode": call("read", map[string]any{"filePath": "sub/x.txt"}),
	"pi":       call("read", map[string]any{"path": "sub/x.txt"}),
}

// TestNoCheckoutInstructsARealEvaluator has each agent's own program judge in a repository that instructs agents. The
// goal names a skill of it in the words of Codex. The control is the planner of the same run.
func TestNoCheckoutInstructsARealEvaluator(t *testing.T) {
	need.Suite(t, need.Nightly)
	for _, a := range realAgents {
		t.Run(a.name, func(t *testing.T) {
			s := newAgentFixtureIn(t, a, true)
			for _, name := range append(slices.Clone(instructions), "sub/x.txt") {
				path, text := filepath.Join(s.repo, name), instructionOf(name)+"\n"
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if dir, ok := strings.CutSuffix(name, "/SKILL.md"); ok {
					text = "---\nname: " + filepath.Base(dir) + "\ndescription: " + instructionOf(name) + "\n---\n" + text
				}
				s.put(path, text)
			}
			s.git("-C", s.repo, "add", "--force", ".")
			s.git("-C", s.repo, "commit", "-q", "-m", "instructions")
			s.base = run.Commit(s.git("-C", s.repo, "rev-parse", "HEAD"))

			in := s.input(s.replay(map[string]string{"execute-1": appending("", "x")}))
			in.Providers.Planner, in.Providers.Evaluator = s.spec, s.spec
			in.Timeouts.Provider = 10 * time.Minute
			in.Goal = "Mind $two and $three. " + readers[a.name] + "[[say:DECISION: PASS]]"
			s.spawnGroup()
			s.start(in)
			var res workflows.RunResult
			if err := s.client.GetWorkflow(t.Context(), in.RunID.WorkflowID(), "").Get(t.Context(), &res); err != nil || res.Status != run.Completed {
				t.Fatalf("%+v, %v", res, err)
			}
			planner, evaluator := s.heardOf("You are the planner"), s.heardOf("You are the evaluator")
			t.Logf("the planner has heard %q", planner)
			if len(planner) < 2 || !slices.Contains(planner, "sub/x.txt") {
				t.Error("no file instructs the planner, or it has not read the file beside them")
			}
			if !slices.Equal(evaluator, []string{"sub/x.txt"}) {
				t.Errorf("the evaluator has heard %q", evaluator)
			}
		})
	}
}

// heardOf returns the files whose instruction the model was given in the sessions whose task has these words.
func (s *agentFixture) heardOf(task string) (names []string) {
	for _, name := range append(slices.Clone(instructions), "sub/x.txt") {
		for _, q := range s.model.Requests() {
			if all := q.System + q.Text(); strings.Contains(all, task) && strings.Contains(all, instructionOf(name)) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}
