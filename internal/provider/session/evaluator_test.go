package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/run"
)

// judgment is a request of the evaluator.
func (b *bench) judgment(iteration, call int, script string) provider.Request {
	req := b.request(script)
	req.Role, req.Phase, req.Iteration, req.Call = run.Evaluator, run.Evaluate, iteration, call
	return req
}

// TestNoNameInTheCheckoutInstructsTheEvaluator has a checkout whose files agents would follow. The control is a planner.
func TestNoNameInTheCheckoutInstructsTheEvaluator(t *testing.T) {
	files := map[string]string{ // by their names for the evaluator
		"AGENTS.md": "data-AGENTS.md", "deep/agents.MD": "deep/data-agents.MD", "CLAUDE.md": "data-CLAUDE.md", "deep/er/GEMINI.md": "deep/er/data-GEMINI.md",
		"deep/CONTEXT.md": "deep/data-CONTEXT.md", ".claude/settings.json": "data-.claude/settings.json", "opencode.json": "data-opencode.json",
		".agents/skills/s/SKILL.md": "data-.agents/skills/s/data-SKILL.md", "data-CLAUDE.local.md": "data-CLAUDE.local.md", "CLAUDE.local.md": "data-data-CLAUDE.local.md",
		".aider.conf.yml": "data-.aider.conf.yml", "main.go": "main.go", "docs/agents.go": "docs/agents.go", ".git/AGENTS.md": ".git/AGENTS.md",
	}
	for _, judges := range []bool{true, false} {
		b := newBench(t)
		b.site.make = func(dir string) error {
			for name := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
					return err
				}
			}
			return os.Symlink("AGENTS.md", filepath.Join(dir, "deep", "CLAUDE.md"))
		}
		req := b.judgment(1, 1, "[[say:DECISION: PASS]]")
		if !judges {
			req.Role, req.Phase = run.Planner, run.Plan
		}
		if _, err := b.call(req); err != nil {
			t.Fatal(err)
		}
		for was, name := range files {
			if !judges {
				name = was
			}
			if text, err := os.ReadFile(filepath.Join(b.site.dir, name)); string(text) != was {
				t.Errorf("judges: %t: %s is %q, %v", judges, name, text, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(b.site.dir, "deep", "CLAUDE.md")); (err != nil) != judges {
			t.Errorf("judges: %t: the link: %v", judges, err)
		}
		if told := strings.Contains(lastRequest(b).Text(), "begin with `data-`"); told != judges {
			t.Errorf("judges: %t: told of the names: %t", judges, told)
		}
	}
}

// TestACheckoutThatIsKeptInstructsNoEvaluator has a worker that died before it had renamed all files.
func TestACheckoutThatIsKeptInstructsNoEvaluator(t *testing.T) {
	b := newBench(t)
	if _, err := b.call(b.judgment(1, 1, "[[say:DECISION: PASS]]")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.site.dir, "AGENTS.md"), []byte("pass"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.site.edit(t, func(note map[string]any) { note["open"], note["answer"] = true, nil })
	if _, err := b.call(b.judgment(1, 1, "[[say:DECISION: PASS]]")); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.site.dir, "*")); !slices.Equal(left, []string{filepath.Join(b.site.dir, "data-AGENTS.md")}) {
		t.Errorf("the checkout has %q", left)
	}
}

// TestNoEvaluationGoesOnWithAnother has an evaluator whose slot holds the session of an earlier call. The control is the
// call that a crash cut off.
func TestNoEvaluationGoesOnWithAnother(t *testing.T) {
	for name, tt := range map[string]struct {
		key    string // of the last work of the session
		call   int    // of that work
		resume bool
	}{
		"the call itself after a crash": {"evaluate-2-0", 3, true},
		"an earlier question about it":  {"evaluate-2-0", 2, false},
		"another evaluation":            {"evaluate-1-0", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, open := range []bool{true, false} {
				b := newBench(t)
				if _, err := b.call(b.judgment(1, 1, "[[say:DECISION: FIX]]")); err != nil {
					t.Fatal(err)
				}
				b.site.edit(t, func(note map[string]any) {
					note["key"], note["call"], note["open"], note["heard"] = tt.key, tt.call, open, true
				})
				if tt.resume {
					b.site.edit(t, func(note map[string]any) { delete(note, "answer") })
				}
				if _, err := b.call(b.judgment(2, 3, "[[say:DECISION: PASS]]")); err != nil {
					t.Fatal(err)
				}
				if starts := b.fake.Starts(); len(starts) != 2 || (starts[1].Resume != "") != tt.resume || !starts[1].NoMemory {
					t.Errorf("open: %t: starts %+v", open, starts)
				}
			}
		})
	}
}
