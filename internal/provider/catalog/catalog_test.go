package catalog_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/provider/providertest"
)

func TestParse(t *testing.T) {
	command := func(argv ...string) catalog.Spec { return catalog.Spec{Kind: catalog.Command, Argv: argv} }
	replay := func(dir string) catalog.Spec { return catalog.Spec{Kind: catalog.Replay, Dir: dir} }
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
		"nothing":                    {"", "no such kind"},
		"a bare program":             {"./agent.py", "use one of command:<program and arguments>, replay:<directory>"},
		"an unknown kind":            {"comand:agent", "use one of command:"},
		"a kind in other letters":    {"Command:agent", "no such kind"},
		"a command without program":  {"command:", "names no program"},
		"a command of blanks":        {"command:  ", "names no program"},
		"a program without a name":   {"command:'' x", "names no program"},
		"an open quote":              {"command:agent 'x", "unterminated single-quoted string"},
		"a replay without directory": {"replay:", "names no directory"},
		"a model API":                {"anthropic:claude-sonnet", "anthropic is not available in this version: use one of command:"},
		"an agent CLI":               {"codex", "codex is not available in this version"},
		"an ACP agent":               {"acp:agent --acp", "acp is not available in this version"},
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
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"), 0o700); err != nil {
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
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec, err := catalog.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			err = spec.Validate(dir)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	for _, spec := range []catalog.Spec{{}, {Kind: catalog.Command}} {
		if err := spec.Validate(dir); err == nil {
			t.Errorf("%+v is valid", spec)
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
	for _, spec := range []catalog.Spec{{}, {Kind: catalog.Command}} {
		if _, err := spec.Open(env); err == nil {
			t.Errorf("%+v opens", spec)
		}
	}
}
