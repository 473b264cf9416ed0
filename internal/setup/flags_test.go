package setup_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]setup.Server{
		"docs=npx -y 'docs server'": {Command: "npx", Args: []string{"-y", "docs server"}},
		"docs=starter mcp":          {Command: "starter", Args: []string{"mcp"}},
		"docs=env K=v srv":          {Command: "env", Args: []string{"K=v", "srv"}},
	} {
		if name, got, err := setup.ParseServer(text); err != nil || name != "docs" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s %+v, %v", text, name, got, err)
		}
	}
	for _, text := range []string{"npx", "=npx", "a.b=npx", "a b=npx", "a=", "a=''", "a='x", "a=x\x1b[2J", strings.Repeat("a", 65) + "=x"} {
		if _, got, err := setup.ParseServer(text); err == nil {
			t.Errorf("%q is a server: %+v", text, got)
		}
	}
}

func TestParseDir(t *testing.T) {
	type dir struct {
		path  string
		write bool
	}
	for text, want := range map[string]dir{
		"/src/lib": {"/src/lib", false}, "/src/lib/:rw": {"/src/lib", true}, "../lib": {"/home/kim/lib", false}, ".": {"/home/kim/shop", false},
	} {
		if path, write, err := setup.ParseDir(text, "/home/kim/shop"); err != nil || (dir{path, write}) != want {
			t.Errorf("%s: %s %v, %v", text, path, write, err)
		}
	}
	for _, text := range []string{"", ":rw", "/a\nb"} {
		if path, _, err := setup.ParseDir(text, "/home"); err == nil {
			t.Errorf("%q is the directory %s", text, path)
		}
	}
}

func TestARuleIsOneRule(t *testing.T) {
	for _, text := range []string{"Bash", "Bash(git log *)", "Bash(a, b)", "mcp__docs__search", "mcp__docs", "Read(//etc/**)"} {
		if err := setup.CheckTool(text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"", "Bash,Write", "Bash Write", "Bash(ls) Write", "Bash(ls),Write", "--dangerously-skip-permissions", "Bash(", "Bash)", "a)b(", "x\ty", "x\u202e"} {
		if setup.CheckTool(text) == nil {
			t.Errorf("%q is one rule", text)
		}
	}
}

func TestAReaderHasTheBoundsOfTheModel(t *testing.T) {
	warm := 0.5
	all := setup.Options{
		Mode: "plan", System: "s", Servers: map[string]setup.Server{"docs": {Command: "srv"}}, Dirs: []string{"/d"}, ReadDirs: []string{"/r"},
		Tools: []string{"Bash"}, NoTools: []string{"Task"}, MaxOutputTokens: 4000, Temperature: &warm, Env: []string{"A"},
	}
	if got := all.ForReader(); !reflect.DeepEqual(got, setup.Options{MaxOutputTokens: 4000, Temperature: &warm}) {
		t.Errorf("a reader has %+v", got)
	}
	if left := all.Without(all.Used()...); !left.IsZero() || len(all.Used()) == 0 {
		t.Errorf("without all of them %+v", left)
	}
	if all.IsZero() || !(setup.Options{}).IsZero() {
		t.Error("IsZero")
	}
	var back setup.Options
	if b, err := json.Marshal(all); err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, all) {
		t.Errorf("%s is read back as %+v", b, back)
	}
}
