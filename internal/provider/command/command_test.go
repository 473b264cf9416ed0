package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/command"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
	"github.com/ratchet-dev/ratchet/internal/test/providertest"
)

func asking(t *testing.T, argv []string) provider.Provider {
	return command.New(command.Config{
		Argv: argv, Dir: t.TempDir(), Allow: []string{"GORACE"},
		Environ: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), // or each program takes a second more
	})
}

func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Answers: func(t *testing.T, raw string) provider.Provider { return asking(t, behave("print", file(t, raw))) },
		Fails:   func(t *testing.T) provider.Provider { return asking(t, behave("print, then exit", file(t, "x"), "3")) },
		Hangs: func(t *testing.T, partial string) provider.Provider {
			return asking(t, behave("print, then hang", file(t, partial)))
		},
	})
	t.Run("while SIGTERM is ignored", func(t *testing.T) {
		providertest.Run(t, providertest.Subject{
			Answers: func(t *testing.T, raw string) provider.Provider {
				return asking(t, behave("close standard input", file(t, raw)))
			},
			Fails: func(t *testing.T) provider.Provider { return asking(t, behave("print, then die", file(t, "x"))) },
			Hangs: func(t *testing.T, partial string) provider.Provider {
				return asking(t, behave("print, then hang whatever SIGTERM says", file(t, partial)))
			},
		})
	})
}

func TestTheProgramGetsTheRequest(t *testing.T) {
	req := providertest.Request()
	req.Prompt.User = "a < b && c"
	req.ContextArtifacts = provider.Artifacts{{Name: "plan", Path: "plan.md", Content: "<plan>"}}
	resp, err := asking(t, behave("repeat the request")).Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(resp.RawText, "\n") != 1 || !strings.HasSuffix(resp.RawText, "\n") || !strings.Contains(resp.RawText, "a < b && c") {
		t.Errorf("not one plain line: %q", resp.RawText)
	}
	var got provider.Request
	if err := json.Unmarshal([]byte(resp.RawText), &got); err != nil || !reflect.DeepEqual(got, req) {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestAProgramThatReadsNothingOfALargeRequest(t *testing.T) {
	req := providertest.Request()
	req.Prompt.User = strings.Repeat("much ", 1<<18)
	for _, behaviour := range []string{"print", "close standard input"} {
		resp, err := asking(t, behave(behaviour, file(t, "fine"))).Generate(t.Context(), req, nil)
		if err != nil || resp.RawText != "fine" {
			t.Errorf("%s: got %q, %v", behaviour, resp.RawText, err)
		}
	}
}

func TestTheEnvironmentIsTheListedNames(t *testing.T) {
	p := command.New(command.Config{
		Argv: behave("environment"), Dir: t.TempDir(), Allow: []string{"MODEL_KEY", "NOT_SET", "RATCHET_ROLE"},
		Environ: []string{
			"PATH=/usr/bin:/bin", "HOME=/home/u", "USER=u", "LANG=C", "LC_ALL=C", "LC_TIME=C", "TMPDIR=/tmp", "TERM=xterm",
			"MODEL_KEY=k=1", "OTHER_KEY=k2", "RATCHET_ROLE=forged", "GODEBUG=x", "LD_PRELOAD=/x.so",
		},
	})
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HOME=/home/u", "LANG=C", "LC_ALL=C", "LC_TIME=C", "MODEL_KEY=k=1", "PATH=/usr/bin:/bin",
		"RATCHET_ITERATION=1", "RATCHET_PHASE=execute", "RATCHET_ROLE=developer", "RATCHET_RUN_ID=run-1", "TMPDIR=/tmp", "USER=u",
	}
	if got := strings.Split(resp.RawText, "\n"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWhereTheProgramRuns(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '%s' \"$PWD\"\n"
	if err := proctest.WriteProgram(filepath.Join(dir, "agent"), script); err != nil {
		t.Fatal(err)
	}
	p := command.New(command.Config{Argv: []string{"./agent"}, Dir: dir, Environ: os.Environ()})
	resp, err := p.Generate(t.Context(), providertest.Request(), nil)
	if err != nil || resp.RawText != dir {
		t.Errorf("got %q, %v, want %s", resp.RawText, err, dir)
	}
}

func TestEndings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := `{"rawText": "the answer", "usage": {"inputTokens": 7}}`
	limited := `{"rawText": "", "error": {"code": "RATE_LIMIT", "message": "slow down", "retriable": true, "retryAfterMs": 1500}}`
	tests := map[string]struct {
		argv      []string
		code      failure.Code
		retriable bool
		says      string
		raw       string
	}{
		"a non-zero exit keeps what was printed": {behave("print, then exit", file(t, "part"), "3"), failure.Unknown, true, "exit code 3: the model is gone", "part"},
		"a non-zero exit after a good response":  {behave("print, then exit", file(t, ok), "3"), failure.Unknown, true, "exit code 3", "the answer"},
		"a non-zero exit that reports its error": {behave("print, then exit", file(t, limited), "1"), failure.RateLimit, true, "slow down", ""},
		"a reported error with exit code 0":      {behave("print", file(t, limited)), failure.RateLimit, true, "slow down", ""},
		"killed by a signal":                     {behave("print, then die", file(t, "part")), failure.Unknown, true, "SIGKILL", "part"},
		"a program that is not there":            {[]string{"ratchet-no-such-program"}, failure.BadRequest, false, "ratchet-no-such-program", ""},
		"a path that is not there":               {[]string{"./nothing"}, failure.BadRequest, false, "./nothing", ""},
		"a file that is no program":              {[]string{"./text"}, failure.BadRequest, false, "executable", ""},
		"words on standard error without end":    {behave("flood standard error"), failure.Unknown, true, "last words", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := command.New(command.Config{Argv: tt.argv, Dir: dir, Environ: os.Environ()})
			resp, err := p.Generate(t.Context(), providertest.Request(), nil)
			e, ok := errors.AsType[*failure.Error](err)
			if !ok || e.Code != tt.code || e.Retriable != tt.retriable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %+v, want %s (retriable %t) that says %q", err, tt.code, tt.retriable, tt.says)
			}
			if resp.RawText != tt.raw {
				t.Errorf("kept %q, want %q", resp.RawText, tt.raw)
			}
			if ok && len(e.Message) > failure.MaxMessage {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
		})
	}
}

func TestTheWorkingDirectoryIsGone(t *testing.T) {
	p := command.New(command.Config{Argv: behave("print", os.DevNull), Dir: filepath.Join(t.TempDir(), "gone")})
	_, err := p.Generate(t.Context(), providertest.Request(), nil)
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.BadRequest || e.Retriable {
		t.Errorf("got %v", err)
	}
}

func TestAFloodIsCut(t *testing.T) {
	resp, err := asking(t, behave("flood")).Generate(t.Context(), providertest.Request(), nil)
	e, ok := errors.AsType[*failure.Error](err)
	if !ok || e.Code != failure.BadRequest || e.Retriable || !strings.Contains(e.Message, "16777216 bytes") {
		t.Errorf("got %v", err)
	}
	if len(resp.RawText) != command.MaxOutput {
		t.Errorf("kept %d bytes", len(resp.RawText))
	}
}

func TestStandardErrorGoesToTheLog(t *testing.T) {
	var log bytes.Buffer
	p := command.New(command.Config{Argv: behave("flood standard error"), Dir: t.TempDir(), Log: &log})
	p.Generate(t.Context(), providertest.Request(), nil)
	text := log.String()
	if !strings.HasPrefix(text, "first words\n") || !strings.Contains(text, "\nlast words\n") || len(text) > 80<<10 {
		t.Errorf("%d bytes, %.40q ... %q", len(text), text, text[max(len(text)-200, 0):])
	}
}

func TestWhatAProgramLeaksIsRedacted(t *testing.T) {
	const canary = "cnry-7Qx/ab+c9"
	environ := append(os.Environ(), "MODEL_KEY="+canary)
	var log bytes.Buffer
	var seen []string
	config := command.Config{Argv: behave("leak", "MODEL_KEY"), Dir: t.TempDir(), Environ: environ, Allow: []string{"MODEL_KEY"}, Log: &log}
	leaks := func() string {
		resp, err := command.New(config).Generate(t.Context(), providertest.Request(), func(p provider.Progress) { seen = append(seen, p.Tail) })
		if e, ok := errors.AsType[*failure.Error](err); !ok || e.Code != failure.Auth {
			t.Fatalf("got %v, want the AUTH that the program reports", err)
		}
		all, err := json.Marshal(map[string]any{"response": resp, "progress": seen, "log": log.String()})
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	if all := leaks(); !strings.Contains(all, canary) {
		t.Fatalf("the program does not leak: %s", all)
	}
	log.Reset()
	seen, config.Redact = nil, redact.New(environ)
	if all := leaks(); strings.Contains(all, canary) || strings.Count(all, "[redacted:MODEL_KEY]") < 4 {
		t.Errorf("leaked: %s", all)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct{ program, says string }{
		"a program on PATH":         {"sh", ""},
		"a relative program":        {"./program", ""},
		"an absolute program":       {filepath.Join(dir, "program"), ""},
		"nothing of that name":      {"ratchet-no-such-program", "on PATH"},
		"a path to nothing":         {"./nothing", "no program at " + dir},
		"a file without the x bit":  {"./text", "chmod +x"},
		"a relative name of a file": {"program", "on PATH"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := command.Find(dir, tt.program)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}
