package patch

import (
	"slices"
	"testing"
)

// TestATextBeforeANameTakesItFromAgents holds for every pattern what FollowedByAgents promises.
func TestATextBeforeANameTakesItFromAgents(t *testing.T) {
	for _, g := range agentGuards {
		if len(g.parts) != 1 || slices.Contains([]byte("*?["), g.parts[0][0]) {
			t.Errorf("%q matches more than a whole name", g.parts)
			continue
		}
		if name := g.parts[0]; !FollowedByAgents(name) || FollowedByAgents("data-"+name) {
			t.Errorf("%s is followed: %t, behind a text: %t", name, FollowedByAgents(name), FollowedByAgents("data-"+name))
		}
	}
	for name, want := range map[string]bool{
		"AGENTS.md": true, "agentſ.MD": true, ".Claude": true, ".aider.conf.yml": true, "AGENTS.md.txt": false, "agents": false, "-": false, "main.go": false,
	} {
		if FollowedByAgents(name) != want {
			t.Errorf("%s: want %t", name, want)
		}
	}
}

func TestNamesThatAreOneNameOnSomeSystems(t *testing.T) {
	for _, pair := range [][2]string{{"README", "readme"}, {"caf\u00e9", "cafe\u0301"}, {"CAF\u00c9", "cafe\u0301"}} {
		if foldCase(pair[0]) != foldCase(pair[1]) {
			t.Errorf("%q and %q: got two names, want one", pair[0], pair[1])
		}
	}
}
