package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

func readOwn(t *testing.T, text string) (settings.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return settings.Read(path)
}

func TestNoticesOfTheUsersFile(t *testing.T) {
	f, err := readOwn(t, "max-fix = 2\n[notify]\ncommand = 'notify-me \"$RATCHET_TITLE\"'\nwebhook = 'https://hooks.example.com/x'\nbell = false\n")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		settings.NoticeCommand: `notify-me "$RATCHET_TITLE"`, settings.NoticeWebhook: "https://hooks.example.com/x", settings.NoticeBell: "false",
	} {
		if got := f.Notices[key].Texts; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	if f.Bell() || f.Values["max-fix"].Texts[0] != "2" || f.Notices[settings.NoticeBell].Line != 5 {
		t.Errorf("%+v", f)
	}
	if none, err := readOwn(t, "[notify]\nbell = true\n"); err != nil || !none.Bell() {
		t.Errorf("%+v, %v", none, err)
	}
	if none, err := readOwn(t, ""); err != nil || !none.Bell() {
		t.Errorf("without the table: %+v, %v", none, err)
	}
}

func TestFaultsOfNotices(t *testing.T) {
	for _, tc := range []struct{ name, text, says string }{
		{"no table", "notify = 'notify-me'\n", ":1: notify must be a table"},
		{"an unknown key", "[notify]\ncomand = 'x'\n", `:2: unknown key "comand": did you mean command?`},
		{"a setting of runs", "[notify]\nmax-fix = 1\n", ":2: unknown key"},
		{"a flag's name", "notify-command = 'x'\n", ":1: unknown key"},
		{"a wrong type", "[notify]\nbell = 'no'\n", ":2: bell must be true or false"},
		{"an address of the network", "[notify]\nwebhook = 'http://10.0.0.1/'\n", ":2: webhook: want https"},
		{"a command that a terminal obeys", "[notify]\ncommand = \"\\u001b[2J\"\n", ":2: command holds the character"},
		{"a table of one repository", "[repository.\"/src\".notify]\ncommand = 'x'\n", "it is allowed only as a table [notify] in your own config.toml"},
	} {
		if _, err := readOwn(t, tc.text); err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.says)
		}
	}
}

// A repository cannot name a program that is run, or an address that is called, when one of its runs needs a person.
func TestARepositoryNamesNoNotice(t *testing.T) {
	for name, text := range map[string]string{
		"a table": "[notify]\ncommand = './evil'\n", "a dotted key": "notify.command = './evil'\n", "an inline table": "notify = {command = './evil'}\n",
		"a word": "notify = './evil'\n", "a webhook": "[notify]\nwebhook = 'https://evil.example/'\n", "silence": "[notify]\nbell = false\n",
		"a quoted name": "[\"notify\"]\ncommand = './evil'\n",
	} {
		c, err := readCommitted(t, repository(t, ".ratchet.toml", text), "")
		if err == nil || !strings.HasPrefix(err.Error(), ".ratchet.toml:") || !strings.Contains(err.Error(), "your own config.toml") || c.There {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
