// Package mutants is the control of the tests that say that no parser passes over a part of its input in silence: in
// each mutant a parser drops a part, and the parser's own test has to fail.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/need"
)

func TestEachParserThatDropsAPartIsCaught(t *testing.T) {
	need.Suite(t, need.CI)
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const whole, stream = "TestNothingIsPassedOverInSilence", "TestNoTextOfAStreamIsLost"
	for name, m := range map[string]struct{ file, old, new, in, test string }{
		"answer: the first line of prose":               {"internal/answer/parse.go", "!part[i] && text", "i > 0 && !part[i] && text", "internal/patch", whole},
		"answer: texts of the result block":             {"internal/answer/parse.go", "append(rest, p.unused...)", "rest", "internal/patch", whole},
		"diff: the first line between sections":         {"internal/udiff/parse.go", "if len(bytes.TrimSpace(line)) > 0 {", "if len(bytes.TrimSpace(line)) > 0 && p.next > 0 {", "internal/patch", whole},
		"patch: a line that the diff has no use for":    {"internal/patch/plan.go", "text = append(text, line)", "text = []string{line}", "internal/patch", whole},
		"thoughts: a line behind them":                  {"internal/thinking/thinking.go", "lines[end], from = rest, end", "lines[min(end+1, len(lines)-1)], from = rest, end", "internal/thinking", "TestCut"},
		"verdict: the first reason":                     {"internal/verdict/reason.go", "slices.Clone(reasons[:min", "slices.Clone(reasons[min(1, len(reasons)):min", "internal/verdict", "TestParse"},
		"stream: the text of a long answer":             {"internal/provider/openai/answer.go", "text += content + refusal", "if a.text.Len() < 20 {\n\t\t\ttext += content + refusal\n\t\t}", "internal/provider/openai", stream},
		"stream: all parts of a text but the last":      {"internal/provider/chat/text.go", "*p += Parts(part.Text)", "*p = Parts(part.Text)", "internal/provider/openai", stream},
		"message: the text of all blocks but the first": {"internal/provider/anthropic/answer.go", "text = e.Delta.Text", "if e.Index == 0 {\n\t\t\ttext = e.Delta.Text\n\t\t}", "internal/provider/anthropic", "Test"},
		"response: lines behind it":                     {"internal/provider/command/answer.go", "out = out[:tail+at[0]]", "out = out[:0]", "internal/provider/command", "TestAResponseIsFoundAmongOtherLines"},
		"error body: what the model's server said":      {"internal/failure/http.go", `said.Message + " " + said.Metadata.Raw`, "said.Message", "internal/failure", "TestNothingOfABodyIsLost"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(root, m.file)
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.old); n != 1 {
				t.Fatalf("%s has %q %d times, want once", m.file, m.old, n)
			}
			dir := t.TempDir()
			mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
			replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
			if err != nil {
				t.Fatal(err)
			}
			for path, content := range map[string]string{mutant: strings.Replace(string(source), m.old, m.new, 1), overlay: string(replaced)} {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("go", "test", "-count=1", "-overlay", overlay, "-run", "^"+m.test, "./"+m.in)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: Test") {
				t.Errorf("go test says %v of the mutant, want a failed test:\n%s", err, out)
			}
		})
	}
}
