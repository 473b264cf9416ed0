package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// registering is a command of a person, or of a script, with a home of its own.
func registering(t *testing.T, in string, interactive bool, environ []string, args ...string) (code int, out, said, home string) {
	t.Helper()
	home = t.TempDir()
	var o, e bytes.Buffer
	c := newFactory(console.Console{
		Args: append(args, "--runs-dir", filepath.Join(home, ".runs")), In: strings.NewReader(in), Out: &o, Err: &e, Now: time.Now,
		Environ: append([]string{"HOME=" + home}, environ...), Interactive: interactive,
	})
	code = c.Run(t.Context())
	return code, o.String(), e.String(), home
}

func TestNothingIsRegisteredWithoutConsent(t *testing.T) {
	for name, tt := range map[string]struct {
		in          string
		interactive bool
		environ     []string
		args        []string
		code        int
		says        string
		written     bool
	}{
		"a script":                   {"y\n", false, nil, nil, exit.Usage, "--yes", false},
		"a person who says no":       {"n\n", true, nil, nil, exit.Failed, "nothing was changed", false},
		"a person who says nothing":  {"", true, nil, nil, exit.Failed, "nothing was changed", false},
		"a person who presses enter": {"\n", true, nil, nil, exit.Failed, "nothing was changed", false},
		"a person who agrees":        {"y\n", true, nil, nil, exit.Done, "Done", true},
		"a script that agrees":       {"", false, nil, []string{"--yes"}, exit.Done, "Done", true},
		"an agent of a run":          {"", false, []string{"RATCHET_RUN_ID=r-1"}, []string{"--yes"}, exit.Failed, "programs of a run", false},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, said, home := registering(t, tt.in, tt.interactive, tt.environ, append([]string{"register", "claude"}, tt.args...)...)
			_, err := os.Stat(filepath.Join(home, ".claude", "settings.json"))
			if code != tt.code || !strings.Contains(out+said, tt.says) || (err == nil) != tt.written {
				t.Errorf("exit %d, %s%s, written: %v", code, out, said, err == nil)
			}
		})
	}
	for _, args := range [][]string{{"register"}, {"register", "codex"}, {"register", "claude", "pi"}} {
		if code, _, said, _ := registering(t, "", true, nil, args...); code != exit.Usage || !strings.Contains(said, "claude") {
			t.Errorf("%v: exit %d, %s", args, code, said)
		}
	}
}

// TestTheHookIsForPersonsSessions holds that sessions of runs, and of programs that use Claude Code as a library,
// are not registered by the settings of the person whose home they have.
func TestTheHookIsForPersonsSessions(t *testing.T) {
	const start = `{"hook_event_name":"SessionStart","session_id":"n-1","cwd":"/w"}`
	for name, tt := range map[string]struct {
		environ    []string
		registered bool
	}{
		"a person's":                {[]string{"CLAUDE_CODE_ENTRYPOINT=cli"}, true},
		"an older client":           {nil, true},
		"an editor's":               {[]string{"CLAUDE_CODE_ENTRYPOINT=claude-vscode"}, true},
		"a run's":                   {[]string{"CLAUDE_CODE_ENTRYPOINT=cli", "RATCHET_RUN_ID=r-1"}, false},
		"a program's":               {[]string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli"}, false},
		"a program's in a language": {[]string{"CLAUDE_CODE_ENTRYPOINT=sdk-py"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, said, home := registering(t, start, false, tt.environ, "hook", "claude")
			_, err := os.Stat(filepath.Join(home, ".pi"))
			if code != exit.Done || said != "" || (err == nil) != tt.registered || (out != "") != tt.registered {
				t.Errorf("exit %d, %s%s, registered: %v", code, out, said, err == nil)
			}
		})
	}
}

func TestTheHookWakesByItsExitCode(t *testing.T) {
	if code, _, _, _ := registering(t, "no event", false, nil, "hook", "claude"); code == 2 {
		t.Error("an input that is no event wakes the session")
	}
}
