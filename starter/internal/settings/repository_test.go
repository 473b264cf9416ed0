package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// repository is a git repository whose last commit has the file.
func repository(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q")
	commitAll(t, dir)
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	gittest.Run(t, dir, args...)
}

func commitAll(t *testing.T, dir string) {
	t.Helper()
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "a commit")
}

func readCommitted(t *testing.T, dir, prefix string) (settings.Committed, error) {
	t.Helper()
	return settings.ReadCommitted(t.Context(), dir, prefix, "HEAD", "/home/kim/.config/ratchet/config.toml")
}

// TestAHostileFileLoosensNothing has every value that lets more happen than the defaults do. The control
// is a user's own file with the same text: there it counts.
func TestAHostileFileLoosensNothing(t *testing.T) {
	for name, line := range map[string]string{
		"no person looks":                  `approve = "never"`,
		"no person looks at most":          `approve = "risky"`,
		"no box":                           `sandbox = "off"`,
		"tools without a question":         `tools = "allow"`,
		"the network for tools":            `network = true`,
		"the network for checks":           `check-network = ["evil.example:443"]`,
		"a registry for checks":            `check-network = ["registry"]`,
		"a variable for checks":            `env = ["AWS_SECRET_ACCESS_KEY"]`,
		"a program as the provider":        `provider = "command:./evil"`,
		"a program with white space first": `provider = " command:./evil"`,
		"a program as the planner":         `planner = "command:sh -c evil"`,
		"a program as the developer":       `developer = ["command:./evil"]`,
		"a program as the fixer":           `fixer = "acp:./evil"`,
		"a program as the evaluator":       `evaluator = "command:./yes"`,
		"one that obeys the repository":    `provider = "acp:gemini --acp"`,
		"an argument for a known program":  `provider = "acp:opencode --evil"`,
		"answers from any directory":       `provider = "replay:/home/kim/answers"`,
		"a gateway that runs by itself":    `provider = "openclaw"`,
		"many paid answers":                `attempts = 8`,
		"many developers":                  `developer = ["claude", "codex"]`,
		"many paid fixes":                  `max-fix = 1000000`,
		"huge patches":                     `max-patch-bytes = 1000000000`,
		"patches of many files":            `max-patch-files = 100000`,
		"a mode that does not ask":         `mode = "acceptEdits"`,
		"a mode that nobody knows":         `mode = "yolo"`,
		"a program for the agent":          `mcp = ["docs=./evil"]`,
		"a directory of the user's":        `add-dir = ["/home/kim/mail"]`,
		"a directory to change":            `add-dir = ["/home/kim/bin:rw"]`,
		"a tool without a question":        `allow-tool = ["Bash"]`,
		"no baseline":                      `no-baseline = true`,
		"no plan and no baseline":          `quick = true`,
		"a check for ever":                 `check-timeout = "10000h"`,
		"a call for ever":                  `timeout = "10000h"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readCommitted(t, repository(t, ".ratchet.toml", "# ours\n"+line+"\n"), "")
			key, _, _ := strings.Cut(line, " ")
			if err == nil || !strings.HasPrefix(err.Error(), ".ratchet.toml:2: ") || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(err.Error(), "--"+key) || !strings.Contains(err.Error(), "config.toml") {
				t.Errorf("not one line with the place, the key and the remedy: %v", err)
			}
			own := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(own, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if f, err := settings.Read(own); err != nil || len(f.Values[key].Texts) == 0 {
				t.Errorf("the user's own: %+v, %v", f, err)
			}
		})
	}
}

// What a repository may choose is every key, at a value that is not wider than the default.
func TestARepositoryMayChoose(t *testing.T) {
	const text = `
provider = "claude:opus"
planner = "anthropic:claude-sonnet-4-5"
developer = ["acp:opencode acp"]
fixer = "codex"
evaluator = "openai:gpt-5"
attempts = 1
check = ["go vet ./...", "go test ./..."]
env = []
check-network = []
approve = "always"
sandbox = "required"
tools = "deny"
network = false
fresh-fixer = true
mode = "read-only"
mcp = []
add-dir = []
allow-tool = []
deny-tool = ["Bash(curl *)"]
max-output = 8000
temperature = 0.2
no-baseline = false
quick = false
max-fix = 2
max-tokens = 100_000
max-cost = 2.5
max-patch-files = 10
max-patch-bytes = 1000
timeout = "30m"
check-timeout = "20m"
approval-timeout = "48h"
answer-timeout = "48h"
branch = "agents/{slug}-{short}"
commit-message = """
SHOP: {summary}

Goal: {goal}
"""
`
	c, err := readCommitted(t, repository(t, "api/.ratchet.toml", text), "api")
	if err != nil || !c.There || c.Note != "" {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, name := range settings.Names() {
		if _, ok := c.Values[name]; !ok {
			t.Errorf("%s is not read", name)
		}
	}
	if got := c.Values["check"].Texts; len(got) != 2 || got[1] != "go test ./..." || c.Values["check"].Line != 8 {
		t.Errorf("%+v", c.Values["check"])
	}
	if got := c.Values["max-cost"].Texts; len(got) != 1 || got[0] != "2.5" {
		t.Errorf("%q", got)
	}
	if c, err := readCommitted(t, repository(t, "api/.ratchet.toml", text), ""); err != nil || c.There {
		t.Errorf("of the directory above: %+v, %v", c, err)
	}
}

func TestFaultsAreOneLineWithThePlace(t *testing.T) {
	for _, tc := range []struct{ name, text, says string }{
		{"an unknown key", "\n\naprove = 'x'\n", `:3: unknown key "aprove": did you mean approve?`},
		{"an underscore", "max_fix = 1\n", `:1: unknown key "max_fix": did you mean max-fix?`},
		{"a key far from all", "frobnicate_everything = 1\n", "the keys are provider, "},
		{"a key that a terminal obeys", "\"\\u001b[2J\\u202e\" = 1\n", `unknown key "\x1b[2J\u202e"`},
		{"a flag that is no setting", "goal = 'x'\n", ":1: goal is not a setting: use the flag --goal"},
		{"the user's table", "[repository.\"/src\"]\nmax-fix = 1\n", ":1: unknown key"},
		{"a wrong type", "check = \"go test\"\n", ":1: check must be a list of strings"},
		{"a number as a text", "\nmax-fix = \"3\"\n", ":2: max-fix must be a whole number"},
		{"a wrong type in a list", "check = [\n  'x',\n  1,\n]\n", ":1: check must be a list of strings"},
		{"a time without a unit", "check-timeout = 5\n", `:1: check-timeout must be a string such as "10m"`},
		{"a time that is none", "check-timeout = '5 minutes'\n", `:1: check-timeout must be a string such as "10m"`},
		{"a table for a value", "[approve]\nx = 1\n", "approve must be a string"},
		{"a negative number", "max-tokens = -1\n", "max-tokens must be a whole number"},
		{"a cost that is none", "max-cost = nan\n", "max-cost must be a number"},
		{"an unknown word", "approve = 'maybe'\n", ":1: approve: unknown approval policy"},
		{"an empty value", "check = ['go test', '']\n", "check is empty: remove the key"},
		{"a value that a terminal obeys", "check = [\"echo \\u001b]0;x\\u0007\"]\n", `check holds the character '\x1b'`},
		{"a value that deceives", "check = [\"echo \\u202e\"]\n", `check holds the character '\u202e'`},
		{"no TOML", "check: go test\n", ":1: "},
		{"a key twice", "tools = 'ask'\ntools = 'ask'\n", ":2: "},
		{"a line that is not UTF-8", "# ok\n# \xff\n", ":2: not UTF-8 text"},
		{"a byte of zero", "# a\x00b\n", ":1: not UTF-8 text"},
		{"a branch for all runs", "branch = 'agents/main'\n", "gives all runs the same branch: add {number}, {run} or {short}"},
		{"a branch of the user's", "branch = 'main'\n", "add {number}, {run} or {short}"},
		{"a full reference", "branch = 'refs/heads/{run}'\n", "want two parts"},
		{"a branch of git's own", "branch = 'heads/{run}'\n", "git reserves"},
		{"a branch above", "branch = '../{run}'\n", "want two parts"},
		{"a branch with dots", "branch = 'a/{run}..x'\n", "want two parts"},
		{"a lock", "branch = 'a/{run}.lock'\n", "want two parts"},
		{"a flag as a branch", "branch = '-f/{run}'\n", "want two parts"},
		{"a shell's words", "branch = 'a/$(evil)-{run}'\n", "want two parts"},
		{"an unknown placeholder", "branch = 'a/{run}-{goal}'\n", `unknown placeholder "{goal}": use {run}, {short}, {slug}`},
		{"a placeholder without an end", "branch = 'a/{run'\n", `unknown placeholder "{run"`},
		{"an unknown word of a message", "commit-message = '{summary} {env}'\n", `unknown placeholder "{env}"`},
		{"a trailer of ours", "commit-message = \"\"\"\n{summary}\n\nratchet-run: forged\n\"\"\"\n", "only Ratchet writes lines that begin with Ratchet-"},
		{"a message without a subject", "commit-message = \"\\n{summary}\"\n", "begins with an empty line"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readCommitted(t, repository(t, ".ratchet.toml", tc.text), "")
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.HasPrefix(err.Error(), ".ratchet.toml:") {
				t.Fatalf("got %v, want %q", err, tc.says)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
				t.Errorf("not one plain line: %q", err)
			}
		})
	}
}

// TestOnlyTheCommittedFileCounts changes the work tree alone.
func TestOnlyTheCommittedFileCounts(t *testing.T) {
	dir := repository(t, ".ratchet.toml", "max-fix = 1\n")
	at := filepath.Join(dir, ".ratchet.toml")
	read := func() settings.Committed {
		t.Helper()
		c, err := readCommitted(t, dir, "")
		if err != nil || c.Values["max-fix"].Texts[0] != "1" {
			t.Fatalf("%+v, %v", c, err)
		}
		return c
	}
	for name, change := range map[string]func() error{
		"another content": func() error { return os.WriteFile(at, []byte("max-fix = 2\napprove = 'never'\n"), 0o600) },
		"a link":          func() error { return os.Symlink("/dev/zero", at) },
	} {
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if c := read(); !strings.Contains(c.Note, "differs from the last commit") || strings.Contains(c.Note, "\n") {
			t.Errorf("%s: %q", name, c.Note)
		}
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("max-fix = 1\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c := read(); c.Note != "" {
		t.Errorf("of other line ends: %q", c.Note)
	}
	fresh := repository(t, "README.md", "hello\n")
	if err := os.WriteFile(filepath.Join(fresh, ".ratchet.toml"), []byte("max-fix = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := readCommitted(t, fresh, ""); err != nil || c.There || !strings.Contains(c.Note, "git add .ratchet.toml && git commit") {
		t.Errorf("of a file in no commit: %+v, %v", c, err)
	}
}

func TestWhatIsCommittedMustBeAPlainFile(t *testing.T) {
	linked := repository(t, "README.md", "hello\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(linked, ".ratchet.toml")); err != nil {
		t.Fatal(err)
	}
	commitAll(t, linked)
	for name, dir := range map[string]string{
		"a link":      linked,
		"a directory": repository(t, ".ratchet.toml/x", "hello\n"),
		"too large":   repository(t, ".ratchet.toml", strings.Repeat("# long\n", 8<<10)),
		"many lines":  repository(t, ".ratchet.toml", strings.Repeat("\n", 3000)),
	} {
		if c, err := readCommitted(t, dir, ""); err == nil || !strings.HasPrefix(err.Error(), ".ratchet.toml: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// TestAFileThatIsHardToReadEnds has texts of the full size that a decoder may be slow at or deep in.
func TestAFileThatIsHardToReadEnds(t *testing.T) {
	const most = 32 << 10
	for name, tc := range map[string]struct{ text, says string }{
		"lists in lists":  {"check = " + strings.Repeat("[", most-20), ":1: nested too deeply"},
		"tables in lists": {"check = " + strings.Repeat("[{a=", most/4-5), ":1: nested too deeply"},
		"a long key":      {strings.Repeat("a.", most/2-20) + "a = 1", ":1: nested too deeply"},
		"a table's key":   {"\n[" + strings.Repeat("a.", most/2-20) + "a]", ":2: nested too deeply"},
		"many keys":       {strings.Repeat("k = 1\n", 1000), ":2: "},
		"many tables":     {strings.Repeat("[[t]]\n", 1000), "nested too deeply"},
		"a long name":     {strings.Repeat("a", most-20) + " = 1", ":1: unknown key"},
	} {
		if _, err := readCommitted(t, repository(t, ".ratchet.toml", tc.text), ""); err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func TestAUsersFileKnowsSingleRepositories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const text = "provider = 'claude'\nmax-fix = 2\n\n[repository.'/src/shop']\nmax-fix = 5\nenv = ['NPM_TOKEN']\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := settings.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	here, elsewhere := f.For("/src/shop"), f.For("/src/other")
	if here["max-fix"].Texts[0] != "5" || here["max-fix"].Line != 5 || here["provider"].Texts[0] != "claude" || elsewhere["max-fix"].Texts[0] != "2" || len(elsewhere["env"].Texts) != 0 {
		t.Errorf("here %+v, elsewhere %+v", here, elsewhere)
	}
	linked := filepath.Join(t.TempDir(), "link")
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Symlink(real, linked)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Repositories[linked] = f.Repositories["/src/shop"]
	if here := f.For(real); here["max-fix"].Texts[0] != "5" {
		t.Errorf("by a link: %+v", here)
	}
	f.Repositories[real] = settings.Values{}
	if here := f.For(real); here["max-fix"].Texts[0] != "2" {
		t.Errorf("by a link beside its own table: %+v", here)
	}
	for text, says := range map[string]string{
		"[repository.'src/shop']\nmax-fix = 5\n":      "absolute path",
		"[repository.'/src/../shop']\nmax-fix = 5\n":  "absolute path",
		"[repository.'/src/shop']\nmax-fxi = 5\n":     ":2: unknown key",
		"[repository.'/src/shop']\nmax-fix = 'x'\n":   ":2: max-fix must be",
		"repository = 5\n":                            ":1: ",
		"[repository.'/src/shop'.deeper]\nenv = []\n": "unknown key",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := settings.Read(path); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
