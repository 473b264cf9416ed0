package agent_test

import (
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

func TestSetupReachesTheOptions(t *testing.T) {
	s := setup.Options{Mode: "plan", System: "s", Dirs: []string{"/d"}, ReadDirs: []string{"/r"}, Servers: map[string]setup.Server{"s": {Command: "c"}}, Tools: []string{"a"}, NoTools: []string{"b"}, MaxOutputTokens: 7, Env: []string{"A", "B=1"}}
	o := agent.Options{MaxOutputTokens: agent.AnswerTokens(0)}
	lookup := func(name string) (string, bool) { return "of the worker", name == "A" }
	if err := o.AddSetup(s, lookup); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Env, []string{"A=of the worker", "B=1"}) || o.MaxOutputTokens != 7 || o.Servers["s"].Command != "c" ||
		o.Choice().Mode != "plan" || o.System != "s" || o.Dirs[0] != "/d" || o.ReadDirs[0] != "/r" || o.Tools[0] != "a" || o.NoTools[0] != "b" {
		t.Errorf("%+v", o)
	}
	if err := o.AddSetup(setup.Options{Env: []string{"C"}}, lookup); err == nil {
		t.Error("a variable that the worker lacks is not told")
	}
	bounded := agent.Options{MaxOutputTokens: 5}
	if bounded.AddSetup(setup.Options{MaxOutputTokens: 7}, lookup); bounded.MaxOutputTokens != 5 {
		t.Errorf("the rung of the ladder gave way to a larger bound: %d", bounded.MaxOutputTokens)
	}
}
