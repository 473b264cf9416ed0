package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// goalPlace is a repository with a saved goal, and the directory of a user's own.
func goalPlace(t *testing.T, text string) (settings.GoalPlace, string) {
	t.Helper()
	user := t.TempDir()
	p := settings.GoalPlace{User: filepath.Join(user, "config.toml"), Root: repository(t, ".ratchet/goals/headers.md", text), Commit: "HEAD"}
	return p, filepath.Join(user, "goals")
}

func TestSavedGoals(t *testing.T) {
	p, own := goalPlace(t, "# Licence headers of {{year}}\n\nfor {{ owner }}, {{year}}\n")
	g, err := p.FindGoal(t.Context(), "headers")
	if err != nil || !g.Committed || strings.Join(g.Parameters(), " ") != "year owner" {
		t.Fatalf("got %+v, %v", g, err)
	}
	for _, tt := range []struct {
		name   string
		values map[string]string
		want   string // the text, or the error
	}{
		{"all", map[string]string{"year": "2026", "owner": "Kim"}, "# Licence headers of 2026\n\nfor Kim, 2026\n"},
		{"a value like a parameter", map[string]string{"year": "{{owner}}", "owner": "Kim"}, "# Licence headers of {{owner}}\n\nfor Kim, {{owner}}\n"},
		{"an empty value", map[string]string{"year": "", "owner": "Kim"}, "# Licence headers of \n\nfor Kim, \n"},
		{"one is missing", map[string]string{"owner": "Kim"}, "@headers needs --set year=..."},
		{"all are missing", nil, "@headers needs --set year=... --set owner=..."},
		{"one too many", map[string]string{"year": "1", "owner": "Kim", "yaer": "2"}, `@headers has no parameter "yaer": it has year, owner`},
	} {
		got, err := g.Fill(tt.values)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "headers.md"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if g, err := p.FindGoal(t.Context(), "headers"); err != nil || g.Committed || g.Text != "mine\n" {
		t.Errorf("the user's own: got %+v, %v", g, err)
	}
	if list := p.ListGoals(t.Context()); len(list) != 1 || list[0].Text != "mine\n" {
		t.Errorf("the list has %+v", list)
	}
	if err := os.Chmod(filepath.Join(own, "headers.md"), 0o666); err != nil {
		t.Fatal(err)
	}
	if g, err := p.FindGoal(t.Context(), "headers"); err == nil {
		t.Errorf("a file that others can write: got %+v", g)
	}
	if _, err := p.FindGoal(t.Context(), "none"); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "no saved goal has the name @none") {
		t.Errorf("no such goal: %v", err)
	}
}

// A repository's goals are regular files of its last commit, which a name alone does not leave.
func TestASavedGoalOfAHostileRepository(t *testing.T) {
	p, _ := goalPlace(t, "committed\n")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.Root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(p.Root, ".ratchet/goals/link.md")); err != nil {
		t.Fatal(err)
	}
	write(".ratchet/goals/long.md", strings.Repeat("x", 40<<10))
	write("outside.md", "outside\n")
	commitAll(t, p.Root)
	write(".ratchet/goals/headers.md", "of the work tree\n")
	write(".ratchet/goals/new.md", "not committed\n")
	if g, err := p.FindGoal(t.Context(), "headers"); err != nil || g.Text != "committed\n" {
		t.Errorf("got %+v, %v", g, err)
	}
	for _, name := range []string{"link", "long", "new"} {
		if g, err := p.FindGoal(t.Context(), name); err == nil || strings.Contains(g.Text, "hidden") {
			t.Errorf("%s: got %+v", name, g)
		}
	}
	if list := p.ListGoals(t.Context()); len(list) != 1 || list[0].Name != "headers" {
		t.Errorf("the list has %+v", list)
	}
	for _, text := range []string{"@../../outside", "@a/b", "@", "@.", "@-x", "@a b", "mend it", "@" + strings.Repeat("x", 70)} {
		if name, ok := settings.SavedName(text); ok {
			t.Errorf("%q names the saved goal %q", text, name)
		}
	}
}
