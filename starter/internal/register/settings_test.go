package register_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/register"
)

const program = "/opt/it's here/starter"

func settingsIn(t *testing.T, text string) register.Settings {
	t.Helper()
	s := register.Settings{Path: filepath.Join(t.TempDir(), "settings.json")}
	if text != "" {
		must(t, os.WriteFile(s.Path, []byte(text), 0o644))
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s register.Settings) string {
	t.Helper()
	b, err := os.ReadFile(s.Path)
	must(t, err)
	return string(b)
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	must(t, json.Compact(&b, []byte(text)))
	return b.String()
}

func install(t *testing.T, s register.Settings, program string) register.Change {
	t.Helper()
	c, err := s.Install(program)
	must(t, err)
	must(t, c.Make())
	return c
}

func remove(t *testing.T, s register.Settings) register.Change {
	t.Helper()
	c, err := s.Remove()
	must(t, err)
	must(t, c.Make())
	return c
}

// TestWhatIsAddedCanBeTakenOut holds that the file is the same afterwards, but for white space, in the order of its
// members and with the numbers and characters as they were written.
func TestWhatIsAddedCanBeTakenOut(t *testing.T) {
	for name, text := range map[string]string{
		"other settings":            `{"z":1.50,"model":"opus","a":{"b":[1e400,"<&>\u2028é"]}}`,
		"hooks of the user's":       `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"date"}]}],"Stop":[{"hooks":[]}],"PreToolUse":[]},"x":null}`,
		"a hook for the same file":  `{"hooks":{"FileChanged":[{"matcher":"inbox.signal","hooks":[{"type":"command","command":"bell"}]}]}}`,
		"hooks that end as ours do": `{"hooks":{"SessionStart":[{"hooks":[{"command":"date # ratchet"},{"command":"[ ! -x 'a' ] || exec 'b' hook claude # ratchet"},{"command":"[ ! -x a ] || exec a hook claude # ratchet"}]}]}}`,
		"an empty object":           `{}`,
		"a hook of an unknown form": `{"hooks":{"SessionStart":[{"hooks":[{"type":"prompt","prompt":"x"},7]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := settingsIn(t, text)
			before, err := os.Stat(s.Path)
			must(t, err)
			install(t, s, program)
			if !strings.Contains(read(t, s), "# ratchet") {
				t.Fatal("nothing was added")
			}
			first := read(t, s)
			if c := install(t, s, program); !c.None || read(t, s) != first {
				t.Errorf("a second time: %+v\n%s", c, read(t, s))
			}
			install(t, s, "/elsewhere/starter")
			if now := read(t, s); strings.Contains(now, "it's") || strings.Count(now, "# ratchet") != 4+strings.Count(text, "# ratchet") {
				t.Errorf("for another program:\n%s", now)
			}
			remove(t, s)
			if got := compact(t, read(t, s)); got != text {
				t.Errorf("left\n%s\nwant\n%s", got, text)
			}
			if c := remove(t, s); !c.None {
				t.Error("there is more to take out")
			}
			if info, err := os.Stat(s.Path); err != nil || info.Mode() != before.Mode() {
				t.Errorf("got mode %v, %v, want %v as before", info.Mode(), err, before.Mode())
			}
		})
	}
}

func TestAGroupThatAPersonHasShared(t *testing.T) {
	s := settingsIn(t, "")
	install(t, s, program)
	shared := strings.Replace(compact(t, read(t, s)), `{"SessionStart":[{"hooks":[`, `{"SessionStart":[{"hooks":[{"command":"date"},`, 1)
	must(t, os.WriteFile(s.Path, []byte(shared), 0o600))
	remove(t, s)
	if got, want := compact(t, read(t, s)), `{"hooks":{"SessionStart":[{"hooks":[{"command":"date"}]}]}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWithoutAFileOneIsMade(t *testing.T) {
	s := register.Settings{Path: filepath.Join(t.TempDir(), ".claude", "settings.json")}
	c, err := s.Install(program)
	must(t, err)
	if _, err := os.Stat(filepath.Dir(s.Path)); err == nil {
		t.Error("something was made before the change")
	}
	if !strings.Contains(c.Entries, `exec '/opt/it'\\''s here/starter' hook claude # ratchet`) {
		t.Errorf("shown: %s", c.Entries)
	}
	must(t, c.Make())
	info, err := os.Stat(s.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if c := remove(t, register.Settings{Path: filepath.Join(t.TempDir(), "none.json")}); !c.None {
		t.Error("there was something to take out of no file")
	}
}

// TestOddFilesAreLeftAlone has files that are not, or not surely, what the client reads.
func TestOddFilesAreLeftAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		put  func(t *testing.T, path string)
		says string
	}{
		"a link": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path+"x", []byte("{}"), 0o600))
			must(t, os.Symlink(path+"x", path))
		}, "is a link"},
		"a directory": {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "not a file"},
		"a file that others write": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("{}"), 0o600))
			must(t, os.Chmod(path, 0o666))
		}, "can be written by other users"},
		"text":                   {text("hooks: none"), "not a JSON object"},
		"a list":                 {text("[]"), "not a JSON object"},
		"cut off":                {text(`{"hooks":{`), "not a JSON object"},
		"comments":               {text("{\n// mine\n}"), "not a JSON object"},
		"more text follows it":   {text("{} {}"), "not a JSON object"},
		"a member twice":         {text(`{"hooks":{},"hooks":{}}`), "twice"},
		"an event twice":         {text(`{"hooks":{"Stop":[],"Stop":[]}}`), "twice"},
		"hooks that are a list":  {text(`{"hooks":[]}`), "its hooks"},
		"an event that is none":  {text(`{"hooks":{"SessionStart":{}}}`), "not a list"},
		"a group that is none":   {text(`{"hooks":{"SessionStart":[1]}}`), "not a JSON object"},
		"a group without a list": {text(`{"hooks":{"SessionStart":[{"hooks":1}]}}`), "not a list"},
		"too large":              {text(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := settingsIn(t, "")
			tt.put(t, s.Path)
			before, _ := os.ReadFile(s.Path)
			for what, change := range map[string]func() (register.Change, error){
				"install": func() (register.Change, error) { return s.Install(program) }, "remove": s.Remove,
			} {
				if _, err := change(); err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %v, want %q", what, err, tt.says)
				}
			}
			if after, _ := os.ReadFile(s.Path); !bytes.Equal(before, after) {
				t.Error("it was changed")
			}
		})
	}
}

func text(s string) func(*testing.T, string) {
	return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(s), 0o600)) }
}

func TestAFileThatChangesMeanwhileIsLeftAlone(t *testing.T) {
	s := settingsIn(t, `{"a":1}`)
	c, err := s.Install(program)
	must(t, err)
	must(t, os.WriteFile(s.Path, []byte(`{"a":2}`), 0o644))
	if err := c.Make(); err == nil || read(t, s) != `{"a":2}` {
		t.Errorf("%v, %s", err, read(t, s))
	}
}

func TestHooksThatAreSwitchedOffAreTold(t *testing.T) {
	if c, err := settingsIn(t, `{"disableAllHooks":true}`).Install(program); err != nil || !c.Disabled {
		t.Errorf("%+v, %v", c, err)
	}
}
