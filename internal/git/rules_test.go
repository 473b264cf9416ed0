package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	want := []string{"core.autocrlf=input", "core.autocrlf=true", "core.filemode=true", "core.trustctime=false", "core.checkstat=minimal"}
	if got, err := r.FileRules(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
