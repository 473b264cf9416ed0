package newrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/starter/internal/clitest"
	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// goalOf returns the goal of a run command with these arguments, on a terminal with that editor or without one.
func goalOf(t *testing.T, editor string, args ...string) (goal string, err error) {
	t.Helper()
	var out bytes.Buffer
	c := factory.New(console.Console{In: strings.NewReader(""), Out: &out, Err: &out, Environ: append(os.Environ(), "VISUAL=", "EDITOR="+editor), Now: time.Now}, nil)
	c.Interactive = editor != ""
	var f Flags
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Register(flags)
	clitest.Must(t, flags.Parse(args))
	f.TakeGoal(flags, flags.Args())
	if !DraftsGoal(c, f) {
		err = ReadGoal(c, &f)
		return f.Goal, err
	}
	file, err := DraftGoal(c, &f)
	if err == nil {
		file.Remove()
	}
	return f.Goal, err
}

func TestWhereTheGoalComesFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "goal.md")
	clitest.Write(t, file, "From a file\n")
	editor := filepath.Join(dir, "edit")
	clitest.Write(t, editor, "#!/bin/sh\n{ echo '  Mend it'; echo '# so that it holds'; cat \"$1\"; } > \"$1.new\" && mv \"$1.new\" \"$1\"\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	written := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		clitest.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, tt := range []struct {
		name, editor string
		args         []string
		want         string // or a part of the error
	}{
		{"an argument", "", []string{"Mend it"}, "Mend it"},
		{"an argument that is empty", "", []string{" "}, "the goal is empty"},
		{"the name of a saved goal, which is read with the repository", "", []string{"@headers", "--set", "year=2026"}, "@headers"},
		{"a parameter without a saved goal", "", []string{"Mend it", "--set", "year=2026"}, "--set goes with a saved goal"},
		{"a flag", "", []string{"--goal", "Mend it"}, "Mend it"},
		{"a file", "", []string{"--goal-file", file}, "From a file\n"},
		{"an argument in UTF-16", "", []string{"M\x00e\x00"}, "the goal is not UTF-8 text, it looks like UTF-16"},
		{"an argument that is no text", "", []string{"caf\xe9"}, "the goal is not UTF-8 text"},
		{"a file in UTF-16", "", []string{"--goal-file", written("utf16", "\xff\xfeM\x00e\x00")}, "is not UTF-8 text, it looks like UTF-16: save it as UTF-8"},
		{"a file with a mark and carriage returns", "", []string{"--goal-file", written("crlf", "\ufeffMend it\r\nnow\r\n")}, "Mend it\nnow\n"},
		{"a file in UTF-16 of big ends", "", []string{"--goal-file", written("utf16be", "\xfe\xff\x00M\x00e")}, "looks like UTF-16"},
		{"a file in UTF-16 without a mark", "", []string{"--goal-file", written("utf16plain", "M\x00e\x00")}, "looks like UTF-16"},
		{"a file in Latin-1", "", []string{"--goal-file", written("latin1", "caf\xe9\n")}, "is not UTF-8 text"},
		{"a file with a mark alone", "", []string{"--goal-file", written("mark", "\ufeff\r\n")}, "is empty"},
		{"a file with the line ends of old", "", []string{"--goal-file", written("cr", "Mend it\rnow\r")}, "Mend it\nnow\n"},
		{"an argument and a flag", "", []string{"Mend it", "--goal", "Mend that"}, "give one goal"},
		{"an argument and a file", "", []string{"Mend it", "--goal-file", file}, "give one goal"},
		{"a flag and a file", "", []string{"--goal", "Mend it", "--goal-file", file}, "give one goal"},
		{"none for a script", "", nil, "no goal given: pass one"},
		{"none on a terminal", editor, nil, "Mend it\n# so that it holds\n"},
		{"none on a terminal, and nothing written", "true", nil, "no run was started"},
		{"none on a terminal, and an editor that fails", "false", nil, `the editor "false"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			goal, err := goalOf(t, tt.editor, tt.args...)
			switch {
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Errorf("%v, want %q", err, tt.want)
			case err == nil && goal != tt.want:
				t.Errorf("the goal is %q, want %q", goal, tt.want)
			}
		})
	}
}
