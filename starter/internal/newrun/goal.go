package newrun

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/draft"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// TakeGoal notes where the goal is: in the argument, the flag or a file.
func (f *Flags) TakeGoal(flags *pflag.FlagSet, args []string) {
	f.GoalGiven, f.file = flags.Changed("goal"), flags.Changed("goal-file")
	f.several = f.Issue != "" && (f.GoalGiven || f.file || len(args) == 1)
	if f.Issue != "" {
		f.Goal, f.GoalGiven = "Resolve "+f.Issue, true // until a worker has read it
		return
	}
	if len(args) == 1 {
		f.file = f.file || f.GoalGiven // two goals, which goalText refuses
		f.Goal, f.GoalGiven = args[0], true
		f.saved, _ = settings.SavedName(args[0])
	}
}

// DraftsGoal reports whether the goal is still to be written, in the editor.
func DraftsGoal(c *factory.Factory, f Flags) bool {
	return !f.GoalGiven && !f.file && c.Interactive && !c.JSON
}

// ReadGoal replaces the goal of the flags by its text, which may be in a file. That of a saved goal ReadSaved reads.
func ReadGoal(c *factory.Factory, f *Flags) error {
	if f.saved == "" && len(f.set) > 0 {
		return usage.Errorf("--set goes with a saved goal: `starter run @NAME --set name=value`")
	}
	text, err := goalText(c, *f)
	f.Goal, f.GoalGiven, f.file = text, true, false
	return err
}

// goalText returns the text of the goal: the argument, the flag or the file.
func goalText(c *factory.Factory, f Flags) (string, error) {
	switch {
	case f.several:
		return "", usage.Errorf("--issue takes the place of a goal: leave out the goal")
	case f.GoalGiven && f.file:
		return "", usage.Errorf("give one goal: as an argument, with --goal, or with --goal-file")
	case f.file:
		return readGoalFile(c, f.goalFile)
	case !f.GoalGiven:
		return "", usage.Errorf("no goal given: pass one, as in `starter run 'make the tests pass'`, or use --goal-file FILE")
	}
	return plainGoal("the goal", f.Goal)
}

// plainGoal returns a goal without a byte order mark and carriage returns. It refuses bytes that are no text.
func plainGoal(what, text string) (string, error) {
	switch {
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"), strings.Contains(text, "\x00"):
		return "", usage.Errorf("%s is not UTF-8 text, it looks like UTF-16: save it as UTF-8", what)
	case !utf8.ValidString(text):
		return "", usage.Errorf("%s is not UTF-8 text: save it as UTF-8", what)
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	if strings.TrimSpace(text) == "" {
		return "", usage.Errorf("%s is empty: write what to change", what)
	}
	return text, nil
}

func readGoalFile(c *factory.Factory, name string) (string, error) {
	b, err := c.ReadInput(name, run.MaxGoalBytes)
	if err != nil {
		return "", fmt.Errorf("goal: %w", err)
	}
	if len(b) > run.MaxGoalBytes { // it may end within a character
		return string(b), nil
	}
	return plainGoal("goal file "+display.Line(name), string(b))
}

// goalMark begins a line that explains the draft of a goal. It begins no heading of Markdown, which a goal may have.
const goalMark = "#:"

var goalHelp = []string{
	goalMark + " What should the run do, and how can you see that it is done?",
	goalMark + " The first line names the run's branch. Lines that begin with #: are left out.",
	goalMark + " Without a word no run is started.",
}

// DraftGoal lets the person write the goal of the flags in the editor. The file stays, with the goal alone, until the
// caller removes it; without a goal there is none.
func DraftGoal(c *factory.Factory, f *Flags) (*draft.Draft, error) {
	file, err := draft.New(c, "ratchet-*.goal.md", "\n\n"+strings.Join(goalHelp, "\n")+"\n", "or give the goal as an argument")
	if err != nil {
		return nil, err
	}
	text, err := file.Edit()
	goal := withoutHelp(text)
	if goal == "" {
		file.Remove()
		return nil, cmp.Or(err, usage.Errorf("the goal is empty: no run was started"))
	}
	if err = cmp.Or(err, file.Write(goal)); err != nil {
		ReportKeptGoal(c, file)
		return nil, err
	}
	f.Goal, f.GoalGiven = goal, true
	return file, nil
}

// withoutHelp returns the goal in a draft.
func withoutHelp(text string) string {
	var goal strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, goalMark) {
			goal.WriteString(line)
		}
	}
	if said := strings.TrimSpace(goal.String()); said != "" {
		return said + "\n"
	}
	return ""
}

// ReportKeptGoal names the file of a goal with which no run was started.
func ReportKeptGoal(c *factory.Factory, file *draft.Draft) {
	fmt.Fprintf(c.Err, "starter: your goal is kept in %s: give it with --goal-file %s\n", display.Line(file.Path()), display.Line(shellquote.Join(file.Path())))
}
