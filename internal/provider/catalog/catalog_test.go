package catalog_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func TestParse(t *testing.T) {
	command := func(argv ...string) catalog.Spec { return catalog.Spec{Kind: setup.Command, Argv: argv} }
	replay := func(dir string) catalog.Spec { return catalog.Spec{Kind: setup.Replay, Dir: dir} }
	tests := map[string]struct {
		text string
		want catalog.Spec
	}{
		"a program":                          {"command:agent", command("agent")},
		"a program with arguments":           {"command: ./agent.py  --model m:1", command("./agent.py", "--model", "m:1")},
		"quoted arguments":                   {`command:sh -c 'echo "a b"' x\ y ""`, command("sh", "-c", `echo "a b"`, "x y", "")},
		"nothing is expanded":                {`command:agent $HOME *.go a|b`, command("agent", "$HOME", "*.go", "a|b")},
		"recorded answers":                   {"replay:testdata/answers", replay("testdata/answers")},
		"a directory with a colon":           {"replay:/a:b c", replay("/a:b c")},
		"white space around":                 {"  replay:answers \n", replay("answers")},
		"a program with a space in its name": {`command:"/opt/my agent/run"`, command("/opt/my agent/run")},
		"a model API":                        {"anthropic:claude-sonnet-4-5", catalog.Spec{Kind: setup.Anthropic, Model: "claude-sonnet-4-5"}},
		"a model with colons and slashes":    {"openai:org/qwen3:8b", catalog.Spec{Kind: setup.OpenAI, Model: "org/qwen3:8b"}},
		"an agent":                           {"claude", catalog.Spec{Kind: setup.Claude}},
		"an agent with its model":            {"codex:gpt-5", catalog.Spec{Kind: setup.Codex, Model: "gpt-5"}},
		"an ACP agent":                       {"acp:opencode acp", catalog.Spec{Kind: setup.ACP, Argv: []string{"opencode", "acp"}}},
		"a gateway":                          {"openclaw", catalog.Spec{Kind: setup.OpenClaw}},
		"pi with a provider's model":         {"pi:openai/gpt-5", catalog.Spec{Kind: setup.Pi, Model: "openai/gpt-5"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.Parse(tt.text)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Fatalf("got %+v, %v, want %+v", got, err, tt.want)
			}
			if back, err := catalog.Parse(got.String()); err != nil || !reflect.DeepEqual(back, got) {
				t.Errorf("%s reads back as %+v, %v", got, back, err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ text, says string }{
		"nothing":                    {"", "unknown kind"},
		"a bare program":             {"./agent.py", "use one of command:<program and arguments>, replay:<directory>"},
		"an unknown kind":            {"comand:agent", "use one of command:"},
		"a kind in other letters":    {"Command:agent", "unknown kind"},
		"a command without program":  {"command:", "no program given"},
		"a command of blanks":        {"command:  ", "no program given"},
		"a program without a name":   {"command:'' x", "no program given"},
		"an open quote":              {"command:agent 'x", "unterminated single-quoted string"},
		"a replay without directory": {"replay:", "no directory given"},
		"a model API without model":  {"anthropic", "no model given: use anthropic:<model>"},
		"an empty model of an API":   {"openai:", "no model given: use openai:<model>"},
		"an empty model of an agent": {"claude:", "no model given: use claude:<model>, or only claude"},
		"a flag for a model":         {"codex:--yolo", "no model given"},
		"an ACP agent without argv":  {"acp:", "no program given: use acp:<program and arguments>"},
		"a gateway with a model":     {"openclaw:x", "use only openclaw"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := catalog.Parse(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %+v, %v, want one line with %q", spec, err, tt.says)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "answers"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := proctest.WriteProgram(filepath.Join(dir, "agent"), "#!/bin/sh\n"); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ text, says string }{
		"a program beside":                {"command:./agent --fast", ""},
		"a program on PATH":               {"command:sh -c true", ""},
		"a missing program":               {"command:./gone", "provider command:./gone: no program at"},
		"a program not on PATH":           {"command:agent-of-nobody", "on PATH"},
		"a directory beside":              {"replay:answers", ""},
		"an absolute directory":           {"replay:" + dir, ""},
		"a missing directory":             {"replay:gone", "no directory of recorded answers"},
		"a file where a directory is due": {"replay:agent", "no directory of recorded answers"},
		"an agent named by its variable":  {"claude", ""},
		"an agent that is not there":      {"codex", "provider codex: no program at /gone/codex"},
		"an ACP agent beside":             {"acp:./agent --acp", ""},
		"an ACP agent that is not there":  {"acp:agent-of-nobody", "on PATH"},
		"an agent by its command line":    {"pi", ""},
		"a model API":                     {"anthropic:claude-sonnet-4-5", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := catalog.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			err = spec.Validate(dir, append(os.Environ(), "CLAUDE_BIN=./agent", "CODEX_BIN=/gone/codex", "RATCHET_PI=./agent pi.js"))
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	for _, spec := range []catalog.Spec{{}, {Kind: setup.Command}, {Kind: setup.ACP}} {
		if err := spec.Validate(dir, os.Environ()); err == nil {
			t.Errorf("%+v is valid", spec)
		}
	}
}

func TestAMissingAgentNamesItsVariable(t *testing.T) {
	for text, variable := range map[string]string{"claude": "CLAUDE_BIN", "codex": "CODEX_BIN", "pi": "RATCHET_PI"} {
		spec, err := catalog.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = spec.Validate(t.TempDir(), []string{variable + "=agent-of-nobody"})
		if err == nil || !strings.HasSuffix(err.Error(), "name its path in "+variable+", in the worker's environment") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "execute-1.md"), []byte("the answer"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := catalog.Env{Dir: dir, Environ: os.Environ()}
	for _, text := range []string{"replay:.", "replay:" + dir, "command:cat execute-1.md"} {
		spec, err := catalog.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := spec.Open(env)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := p.Generate(t.Context(), providertest.Request(), nil); err != nil || resp.RawText != "the answer" {
			t.Errorf("%s: got %q, %v", text, resp.RawText, err)
		}
	}
	for _, spec := range []catalog.Spec{{}, {Kind: setup.Command}, {Kind: setup.ACP}} {
		if _, err := spec.Open(env); err == nil {
			t.Errorf("%+v opens", spec)
		}
	}
}
