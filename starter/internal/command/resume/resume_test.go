package resume

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
)

// A hint names the runs directory as the command line does.
func TestAResumeKeepsTheNameOfItsRunsDirectory(t *testing.T) {
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	path, before := filepath.Join(c.RunsDir, "workflows", "0298-a"), c.RunsDir
	clitest.Must(t, os.MkdirAll(path, 0o700))
	t.Chdir(filepath.Dir(c.RunsDir))
	if _, err := Rebuild(t.Context(), c, path, false); err == nil || c.RunsDir != before {
		t.Errorf("%v, the runs directory is %s", err, c.RunsDir)
	}
}

// The run to resume is named without an engine.
func TestARecordIsFoundByWhatNamesItsRun(t *testing.T) {
	c, _ := clitest.LocalFactory(t, engine.File{}, false)
	shop := filepath.Join(t.TempDir(), "shop")
	clitest.Must(t, os.Rename(clitest.Repository(t), shop))
	elsewhere := t.TempDir()
	for id, name := range map[run.ID]run.Name{
		"0198c5e2-a": "shop#3", "0198c5e2-b": "slug#3", "0299-a": "slug#12", "0299-b": "", "run-7": "", "77": "slug#5", "5": "",
	} {
		clitest.Must(t, os.MkdirAll(filepath.Join(c.RunsDir, "workflows", string(id)), 0o700))
		if name != "" {
			clitest.Must(t, rundir.KeepName(c.RunsDir, name, id))
		}
	}
	clitest.Must(t, rundir.KeepName(c.RunsDir, "lost#12", "0399-a")) // its record was cleaned away
	clitest.Must(t, os.Mkdir(filepath.Join(elsewhere, "0299"), 0o700))
	for _, tt := range []struct{ in, word, want, refused string }{
		{"", "slug#3", "0198c5e2-b", ""},
		{"", "slug/12", "0299-a", ""},
		{"", "12", "0299-a", ""},
		{"", "3", "", "2 runs have the number 3: say which, shop#3 or slug#3"},
		{shop, "3", "0198c5e2-a", ""},
		{shop, "12", "0299-a", ""},
		{"", "5", "77", ""},
		{"", "77", "77", ""},
		{"", "0198c5e2-b", "0198c5e2-b", ""},
		{"", "run-0198c5e2-b", "0198c5e2-b", ""},
		{"", "run-7", "run-7", ""},
		{"", "run-01", "", `2 run ids begin with "run-01", such as 0198c5e2-a and 0198c5e2-b: type more of it`},
		{"", "0198c5e2-", "", "type more of it"},
		{"", "ru", "run-7", ""},
		{"", "0299-b", "0299-b", ""},
		{"", "029", "", "such as 0299-a and 0299-b"},
		{elsewhere, "0299", "", ""}, // a directory there
		{"", "99", "", ""},
		{"", "slug#99", "", ""},
		{"", "", "", ""},
	} {
		if tt.in == "" {
			tt.in = t.TempDir()
		}
		t.Chdir(tt.in)
		got, err := recordPath(t.Context(), c, tt.word)
		want := tt.word
		if tt.want != "" {
			want = filepath.Join(c.RunsDir, "workflows", tt.want)
		}
		switch {
		case tt.refused == "" && (err != nil || got != want):
			t.Errorf("%q: %q, %v, want %q", tt.word, got, err, want)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%q: %q, %v, want an error with %q", tt.word, got, err, tt.refused)
		}
	}
}
