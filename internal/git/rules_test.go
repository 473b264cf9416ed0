package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/git"
)

func TestFileRules(t *testing.T) {
	r := newRepo(t)
	config := filepath.Join(t.TempDir(), "config")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for name, text := range map[string]string{
		filepath.Join(r.GitDir, "config"): "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tautocrlf\n\teol = \"lf\\n[core]pager=canary\"\n\tfilemode = 1\n\ttrustctime = off\n\tcheckstat = Minimal\n\tsymlinks = canary\n",
		config:                            "[core]\n\tautocrlf = Input\n\tpager = canary\n\tfsmonitor = canary\n\thooksPath = canary\n\tattributesFile = canary\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := []string{"core.autocrlf=true", "core.filemode=true", "core.trustctime=false", "core.checkstat=minimal"}
	for name, tc := range map[string]struct {
		read func(git.Repo) ([]string, error)
		want []string
	}{
		"the repository's":     {func(r git.Repo) ([]string, error) { return r.FileRules(t.Context()) }, own},
		"the user's and these": {func(r git.Repo) ([]string, error) { return r.UserFileRules(t.Context()) }, append([]string{"core.autocrlf=input"}, own...)},
	} {
		if got, err := tc.read(r); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}
