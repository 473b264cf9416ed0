package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/trust"
)

func TestDecide(t *testing.T) {
	rows := []struct {
		name   string
		facts  trust.Facts
		kind   trust.Kind
		reason trust.Reason
	}{
		{"a saved no wins over a root", trust.Facts{Saved: trust.Distrusted, Root: "/r"}, trust.Deny, trust.SavedFalse},
		{"a saved no where there is nothing to trust", trust.Facts{Saved: trust.Distrusted}, trust.Deny, trust.SavedFalse},
		{"a saved yes", trust.Facts{Saved: trust.Trusted, Inputs: true}, trust.Approve, trust.SavedTrue},
		{"a saved yes under a root", trust.Facts{Saved: trust.Trusted, Root: "/r"}, trust.Approve, trust.SavedTrue},
		{"undecided under a root", trust.Facts{Root: "/r", Inputs: true}, trust.Approve, trust.PrefixMatch},
		{"undecided under a root, with nothing to trust", trust.Facts{Root: "/r"}, trust.Approve, trust.PrefixMatch},
		{"undecided, with nothing to trust", trust.Facts{}, trust.Go, trust.NoTrustInputs},
		{"undecided", trust.Facts{Inputs: true}, trust.Deny, trust.FailFast},
	}
	for _, row := range rows {
		v := trust.DecideLaunch(row.facts)
		if v.Kind != row.kind || v.Reason != row.reason || v.Facts != row.facts {
			t.Errorf("%s: %+v", row.name, v)
		}
	}
}

// place is a home with a work directory in it.
type place struct {
	citizen.Dirs
	work string
}

func newPlace(t *testing.T, vars map[string]string) place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dirs, err := citizen.FindDirs(func(name string) (string, bool) {
		if name == "HOME" {
			return home, true
		}
		value, ok := vars[name]
		return strings.ReplaceAll(value, "$HOME", home), ok
	})
	must(t, err)
	p := place{dirs, filepath.Join(home, "repos", "x")}
	must(t, os.MkdirAll(p.work, 0o700))
	must(t, os.MkdirAll(p.Agent, 0o700))
	return p
}

// save writes pi's store; $W is the work directory.
func (p place) save(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile(p.Trust, []byte(p.expand(text)), 0o600))
}

func (p place) expand(s string) string {
	return strings.NewReplacer("$W", p.work, "$HOME", p.Home).Replace(s)
}

func TestSavedDecisions(t *testing.T) {
	rows := []struct {
		name, store string
		want        trust.SavedTrust
		at          string
	}{
		{"none", `{}`, trust.Undecided, ""},
		{"yes", `{"$W": true}`, trust.Trusted, "$W"},
		{"no", `{"$W": false}`, trust.Distrusted, "$W"},
		{"null is none", `{"$W": null}`, trust.Undecided, ""},
		{"of an ancestor", `{"$HOME": false}`, trust.Distrusted, "$HOME"},
		{"of the root of all", `{"/": true}`, trust.Trusted, "/"},
		{"the nearest wins", `{"$HOME": false, "$HOME/repos": true, "/": false}`, trust.Trusted, "$HOME/repos"},
		{"one's own wins", `{"$HOME": true, "$W": false}`, trust.Distrusted, "$W"},
		{"null leaves it to an ancestor", `{"$HOME": true, "$W": null}`, trust.Trusted, "$HOME"},
		{"of another directory", `{"$W-sibling": true, "$HOME/rep": true, "$W/below": true}`, trust.Undecided, ""},
	}
	for _, row := range rows {
		p := newPlace(t, nil)
		p.save(t, row.store)
		f, err := trust.Look(p.Dirs, p.work)
		if err != nil || f.Saved != row.want || f.SavedAt != p.expand(row.at) || f.Dir != p.work {
			t.Errorf("%s: %+v, %v", row.name, f, err)
		}
	}
}

func TestTheStore(t *testing.T) {
	p := newPlace(t, nil)
	if f, err := trust.Look(p.Dirs, p.work); err != nil || f.Saved != trust.Undecided {
		t.Errorf("none: %+v, %v", f, err)
	}
	for _, text := range []string{"", "{", "[]", "null", `{"$W": 1}`, `{"$W": "yes"}`, `{"$W": true}x`} {
		p.save(t, text)
		if f, err := trust.Look(p.Dirs, p.work); err == nil {
			t.Errorf("%s: %+v", text, f)
		}
	}
	must(t, os.Remove(p.Trust))
	must(t, unix.Mkfifo(p.Trust, 0o600))
	if f, err := trust.Look(p.Dirs, p.work); err == nil {
		t.Errorf("a fifo: %+v", f)
	}
	moved := newPlace(t, map[string]string{"PI_CODING_AGENT_DIR": "~/elsewhere"})
	moved.save(t, `{"$W": true}`)
	if f, err := trust.Look(moved.Dirs, moved.work); err != nil || f.Saved != trust.Trusted {
		t.Errorf("moved: %+v, %v", f, err)
	}
}

func TestRoots(t *testing.T) {
	rows := []struct{ name, roots, want string }{
		{"none", "", ""},
		{"the directory itself", "$HOME/repos/x", "$HOME/repos/x"},
		{"above it", "~/repos", "$HOME/repos"},
		{"the root of all", "/", "/"},
		{"a sibling that begins like it", "$HOME/repo:$HOME/repos/x-sibling", ""},
		{"below it", "$HOME/repos/x/y", ""},
		{"one that is not there", "$HOME/none", ""},
		{"the first that covers", "$HOME/none: ~/repos :$HOME", "$HOME/repos"},
		{"by a symlink", "$HOME/link", "$HOME/repos"},
		{"another user's home", "~kim", ""},
	}
	for _, row := range rows {
		p := newPlace(t, map[string]string{"PI_ENTWURF_PREFIX_ROOTS": row.roots})
		must(t, os.Symlink(filepath.Join(p.Home, "repos"), filepath.Join(p.Home, "link")))
		f, err := trust.Look(p.Dirs, p.work)
		if err != nil || f.Root != p.expand(row.want) {
			t.Errorf("%s: %+v, %v", row.name, f, err)
		}
		f, err = trust.Look(p.Dirs, filepath.Join(p.Home, "link", "x"))
		if err != nil || f.Root != p.expand(row.want) || f.Dir != p.work {
			t.Errorf("%s, by a symlink: %+v, %v", row.name, f, err)
		}
	}
}

func TestInputs(t *testing.T) {
	rows := []struct {
		name, path string // ends with / for a directory
		want       bool
	}{
		{"nothing", "", false},
		{"settings", "$W/.pi/settings.json", true},
		{"extensions", "$W/.pi/extensions/", true},
		{"skills", "$W/.pi/skills/", true},
		{"prompts", "$W/.pi/prompts/", true},
		{"themes", "$W/.pi/themes/", true},
		{"a system prompt", "$W/.pi/SYSTEM.md", true},
		{"more of a system prompt", "$W/.pi/APPEND_SYSTEM.md", true},
		{"an extension that is a file", "$W/.pi/extensions", true},
		{"a bare .pi", "$W/.pi/", false},
		{"something else in .pi", "$W/.pi/notes.md", false},
		{".pi is a file", "$W/.pi", false},
		{"settings of an ancestor", "$HOME/repos/.pi/settings.json", false},
		{"agents' skills", "$W/.agents/skills/", true},
		{"agents' skills of an ancestor", "$HOME/repos/.agents/skills/", true},
		{"the user's own skills", "$HOME/.agents/skills/", false},
		{"AGENTS.md", "$W/AGENTS.md", false},
		{"CLAUDE.md", "$W/CLAUDE.md", false},
	}
	for _, row := range rows {
		p := newPlace(t, nil)
		if path, isDir := strings.CutSuffix(p.expand(row.path), "/"); isDir {
			must(t, os.MkdirAll(path, 0o700))
		} else if path != "" {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.WriteFile(path, nil, 0o600))
		}
		if f, err := trust.Look(p.Dirs, p.work); err != nil || f.Inputs != row.want {
			t.Errorf("%s: %+v, %v", row.name, f, err)
		}
	}
	p := newPlace(t, nil)
	must(t, os.MkdirAll(filepath.Join(p.Home, ".agents", "skills"), 0o700))
	if f, err := trust.Look(p.Dirs, p.Home); err != nil || f.Inputs {
		t.Errorf("the home itself: %+v, %v", f, err)
	}
	must(t, os.Symlink("nowhere", filepath.Join(p.work, ".pi")))
	if f, err := trust.Look(p.Dirs, p.work); err != nil || f.Inputs {
		t.Errorf("a dangling symlink: %+v, %v", f, err)
	}
	must(t, os.Remove(filepath.Join(p.work, ".pi")))
	must(t, os.Symlink(".pi", filepath.Join(p.work, ".pi")))
	if f, err := trust.Look(p.Dirs, p.work); err != nil || !f.Inputs {
		t.Errorf("what cannot be looked at may be there: %+v, %v", f, err)
	}
}

func TestWhatAVerdictSays(t *testing.T) {
	rows := []struct {
		facts trust.Facts
		want  string
	}{
		{trust.Facts{Dir: "/w", Saved: trust.Distrusted, SavedAt: "/w"}, "/w: not trusted; to change that, open pi there"},
		{trust.Facts{Dir: "/w", Saved: trust.Distrusted, SavedAt: "/"}, "because / is not"},
		{trust.Facts{Dir: "/w", Inputs: true}, "PI_ENTWURF_PREFIX_ROOTS"},
		{trust.Facts{Dir: "/w"}, "/w: trusted-no-arg (no-trust-inputs)"},
	}
	for _, row := range rows {
		if got := trust.DecideLaunch(row.facts).String(); !strings.Contains(got, row.want) || strings.Contains(got, "\n") {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
