package setup_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestOptionsThatAnAgentCannotTakeAreRefused(t *testing.T) {
	warm, hot, boiling := 0.5, 1.5, 2.5
	for _, tt := range []struct {
		name  string
		kind  setup.Kind
		setup setup.Options
		say   string // of the error; empty: none
	}{
		{"nothing chosen", setup.OpenClaw, setup.Options{}, ""},
		{"everything that Claude Code takes", setup.Claude, setup.Options{
			Mode: "plan", System: "Be brief.", Dirs: []string{"/d"}, Tools: []string{"Read"}, NoTools: []string{"Bash"},
			Servers: map[string]setup.Server{"s": {Command: "serve"}}, MaxOutputTokens: 100, Env: []string{"A", "B=1"},
		}, ""},
		{"an option that one kind lacks", setup.Codex, setup.Options{Tools: []string{"shell"}}, "or use claude, acp or pi"},
		{"an option that no agent has", setup.Claude, setup.Options{Temperature: &warm}, "claude does not support a temperature: leave it out"},
		{"servers that pi has no place for", setup.Pi, setup.Options{Servers: map[string]setup.Server{"s": {Command: "c"}}}, "or use claude, codex or acp"},
		{"a tool that an ACP agent may not use", setup.ACP, setup.Options{NoTools: []string{"x"}}, "or use claude or pi"},
		{"a temperature for a model", setup.OpenAI, setup.Options{Temperature: &hot}, ""},
		{"a temperature that is too high for a model", setup.Anthropic, setup.Options{Temperature: &hot}, "0 to 1"},
		{"a temperature that none takes", setup.OpenAI, setup.Options{Temperature: &boiling}, "0 to 2"},
		{"a mode of two words", setup.Claude, setup.Options{Mode: "plan now"}, "one word"},
		{"a mode that is a flag", setup.Claude, setup.Options{Mode: "--yolo"}, "one word"},
		{"two tools in one", setup.Claude, setup.Options{Tools: []string{"a,b"}}, "repeat the option"},
		{"a directory with dots", setup.Claude, setup.Options{ReadDirs: []string{"/d/../etc"}}, "write it as /etc"},
		{"an option of a provider that takes none", "replay", setup.Options{Mode: "plan"}, "replay does not support"},
		{"a relative directory", setup.Claude, setup.Options{Dirs: []string{"d"}}, "not absolute"},
		{"a variable without a name", setup.Claude, setup.Options{Env: []string{"=x"}}, "want NAME"},
		{"a tool on two lines", setup.Claude, setup.Options{Tools: []string{"a\nb"}}, "one line"},
		{"an empty tool", setup.Claude, setup.Options{NoTools: []string{""}}, "one line"},
		{"a server with a dot in its name", setup.Codex, setup.Options{Servers: map[string]setup.Server{"a.b": {Command: "c"}}}, "want a name"},
		{"a server without a program", setup.Codex, setup.Options{Servers: map[string]setup.Server{"a": {}}}, "no program given"},
		{"a prompt without a bound", setup.Claude, setup.Options{System: strings.Repeat("x", 20_000)}, "at most"},
		{"a negative bound", setup.Claude, setup.Options{MaxOutputTokens: -1}, "positive"},
		{"too many directories", setup.Claude, setup.Options{Dirs: slices.Repeat([]string{"/d"}, 65)}, "at most"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.setup.Validate(tt.kind)
			if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
				t.Errorf("error %v; want one with %q", err, tt.say)
			}
		})
	}
}
