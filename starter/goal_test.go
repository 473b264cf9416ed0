package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// goalOf returns the goal of a run command with these arguments, on a terminal with that editor or without one.
func goalOf(t *testing.T, editor string, args ...string) (goal string, err error) {
	t.Helper()
	var out bytes.Buffer
	c := newCLI(console{in: strings.NewReader(""), out: &out, err: &out, environ: append(os.Environ(), "VISUAL=", "EDITOR="+editor), now: time.Now})
	c.interactive = editor != ""
	cmd := c.runCommand()
	var f runFlags
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	f.goal, _ = cmd.Flags().GetString("goal")
	f.goalFile, _ = cmd.Flags().GetString("goal-file")
	f.takeGoal(cmd.Flags(), cmd.Flags().Args())
	err = c.readGoalOf(&f)
	return f.goal, err
}

func TestWhereTheGoalComesFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "goal.md")
	write(t, file, "From a file\n")
	editor := filepath.Join(dir, "edit")
	write(t, editor, "#!/bin/sh\n{ echo '  Mend it'; echo '# so that it holds'; cat \"$1\"; } > \"$1.new\" && mv \"$1.new\" \"$1\"\n")
	if err := os.Chmod(editor, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, editor string
		args         []string
		want         string // or a part of the error
	}{
		{"an argument", "", []string{"Mend it"}, "Mend it"},
		{"an argument that is empty", "", []string{" "}, "the goal is empty"},
		{"a flag", "", []string{"--goal", "Mend it"}, "Mend it"},
		{"a file", "", []string{"--goal-file", file}, "From a file\n"},
		{"an argument and a flag", "", []string{"Mend it", "--goal", "Mend that"}, "give one goal"},
		{"an argument and a file", "", []string{"Mend it", "--goal-file", file}, "give one goal"},
		{"a flag and a file", "", []string{"--goal", "Mend it", "--goal-file", file}, "give one goal"},
		{"none for a script", "", nil, "no goal: say what the run shall reach"},
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
