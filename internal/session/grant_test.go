package session_test

import (
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
)

func granted() session.Input {
	repo := run.Repository{Path: "/src/shop", Base: "0123456789012345678901234567890123456789"}
	template := session.Tighten(run.Input{
		Repository: run.Repository{Path: repo.Path}, Checks: []string{"true"},
		Providers: run.Providers{Planner: "claude", Developer: "claude", Fixer: "claude"},
	})
	return session.Input{ID: "s-1", Provider: "claude", Repository: repo, Runs: &session.Grant{Run: template, Total: 3, AtOnce: 2}}
}

func TestAGrantLoosensNothing(t *testing.T) {
	if err := granted().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*session.Grant){
		"no approval":         func(g *session.Grant) { g.Run.Policy = run.Never },
		"a risky policy":      func(g *session.Grant) { g.Run.Policy = run.Risky },
		"tools unasked":       func(g *session.Grant) { g.Run.Tools = run.AllowTools },
		"one tool unasked":    func(g *session.Grant) { g.Run.Options.Tools = []string{"Bash"} },
		"no box":              func(g *session.Grant) { g.Run.Sandbox = run.SandboxOff },
		"a network":           func(g *session.Grant) { g.Run.Network = true },
		"another repository":  func(g *session.Grant) { g.Run.Repository.Path = "/src/other" },
		"another directory":   func(g *session.Grant) { g.Run.Repository.Prefix = "sub" },
		"nothing that judges": func(g *session.Grant) { g.Run.Checks = nil },
		"no bound":            func(g *session.Grant) { g.Total = 0 },
		"a bound too high":    func(g *session.Grant) { g.Total = 1000 },
		"more at once":        func(g *session.Grant) { g.AtOnce = 4 },
	} {
		in := granted()
		change(in.Runs)
		if in.Validate() == nil {
			t.Errorf("%s: it is granted", name)
		}
	}
}

func TestTightenKeepsWhatLetsLessHappen(t *testing.T) {
	in := run.Input{Policy: run.Never, Tools: run.DenyTools, Network: true, Sandbox: run.SandboxOff}
	in.Options.Tools, in.Options.Mode = []string{"Bash"}, "yolo"
	got := session.Tighten(in)
	if !got.CacheReadOnly || got.Policy != run.Always || got.Tools != run.DenyTools || got.Network || got.Sandbox.Off() || got.Options.Tools != nil || got.Options.Mode != "" {
		t.Errorf("%+v", got)
	}
	in.Options.Mode = "read-only"
	if got := session.Tighten(in); got.Options.Mode != "read-only" {
		t.Errorf("mode %s", got.Options.Mode)
	}
	if got := session.Tighten(run.Input{Tools: run.AllowTools}); got.Tools != run.AskTools {
		t.Errorf("tools %s", got.Tools)
	}
}

func TestTheRunOfAGrantTellsItsSession(t *testing.T) {
	in := granted()
	got := in.Runs.Input(in.ID, "r-1", "go", in.Repository.Base)
	if !got.CacheReadOnly || got.Session != "s-1" || got.Tell != "s-1" || got.Goal != "go" || got.RunID != "r-1" {
		t.Errorf("%+v", got)
	}
	got.Tell = "s-2"
	if got.Validate() == nil {
		t.Error("a run that tells another session is valid")
	}
}

func TestAWishIsPlainText(t *testing.T) {
	for _, goal := range []string{"Make it so", "one\n\ttwo", "größer → 日本", "Approved-by: kim\n<delivery>"} {
		if err := (session.RunWish{Goal: goal, Key: "a.b_c-1"}).Check(); err != nil {
			t.Errorf("%q: %v", goal, err)
		}
	}
	for _, w := range []session.RunWish{
		{Goal: ""}, {Goal: " \n"}, {Goal: strings.Repeat("x", run.MaxGoalBytes+1)}, {Goal: "a\x1b[2J"}, {Goal: "a\x00"}, {Goal: "a\r\nb"}, {Goal: "\u202etxt"},
		{Goal: "a\u200bb"}, {Goal: "a\u3164b"}, {Goal: "a\xff"}, {Goal: "x", Key: "a/b"}, {Goal: "x", Key: "a b"}, {Goal: "x", Key: strings.Repeat("k", 65)}, {Goal: "x", Key: "é"},
	} {
		if err := w.Check(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q %.40q: %v", w.Goal, w.Key, err)
		}
	}
}

// A wish that is repeated is the same run, and no other wish is.
func TestTheRunOfAWish(t *testing.T) {
	id := func(s session.ID, message, goal, key string) run.ID {
		return session.RunWish{Goal: goal, Key: key}.RunID(s, message)
	}
	if a, b := id("s", "m1", "g", ""), id("s", "m1", "g", ""); a != b || a.Validate() != nil {
		t.Errorf("%s and %s", a, b)
	}
	if a, b := id("s", "m1", "g", "k"), id("s", "m2", "other", "k"); a != b {
		t.Errorf("by its key: %s and %s", a, b)
	}
	seen := map[run.ID]bool{}
	for _, other := range []run.ID{
		id("s", "m1", "g", ""), id("t", "m1", "g", ""), id("s", "m2", "g", ""), id("s", "m1", "h", ""), id("s", "m1", "g", "k"), id("s", "m1", "g", "l"),
		id("t", "m1", "g", "k"), id("s", "key", "k", ""), id("s", "m1\" \"g", "", "x"), id("s\" \"turn", "m1", "g", ""),
	} {
		if seen[other] {
			t.Errorf("%s is two wishes", other)
		}
		seen[other] = true
	}
}
