package newrun

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/terminal"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// ReadSaved replaces the name of a saved goal by its text, with the values of its parameters. Other goals stay.
func ReadSaved(ctx context.Context, c *factory.Factory, f *Flags, src workspace.Source) error {
	if f.saved == "" {
		return nil
	}
	values := map[string]string{}
	for _, text := range f.set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usage.Errorf("--set %q: want name=value", display.Line(text))
		}
		if _, twice := values[name]; twice {
			return usage.Errorf("--set %s: given twice", display.Line(name))
		}
		values[name] = value
	}
	g, err := goalPlace(c, src, f.Base).FindGoal(ctx, f.saved)
	if err != nil {
		return usage.Errorf("%w", err)
	}
	text, err := g.Fill(values)
	if err == nil {
		text, err = plainGoal("the goal of "+display.Line(g.Path), text)
	}
	if err == nil && strings.TrimSpace(text) == "" {
		err = usage.Errorf("%s is empty: write what to change", display.Line(g.Path))
	}
	if err != nil {
		return usage.Errorf("%w", err)
	}
	f.Goal, f.saved = strings.TrimSpace(text)+"\n", ""
	return nil
}

// goalPlace returns where the saved goals of a run on a repository are.
func goalPlace(c *factory.Factory, src workspace.Source, base string) settings.GoalPlace {
	p := settings.GoalPlace{User: c.SettingsPath(), Root: src.Root, Prefix: src.Prefix, Commit: "HEAD"}
	if (base == "" || src.URL != "") && src.Base != "" {
		p.Commit = string(src.Base)
	}
	return p
}

// savedGoals lists the saved goals of the user and of the repository around a directory.
func savedGoals(ctx context.Context, c *factory.Factory, repo string) []settings.Goal {
	src, err := workspace.Inspect(ctx, repo, "HEAD") // what is not committed matters to a run alone
	if err != nil {
		src = workspace.Source{}
	}
	return goalPlace(c, src, "").ListGoals(ctx)
}

// PrintGoals prints the saved goals.
func PrintGoals(ctx context.Context, c *factory.Factory, repo string) error {
	type goal struct {
		Name       string   `json:"name"`
		Parameters []string `json:"parameters"`
		Text       string   `json:"text"`
		Path       string   `json:"path"`
		Committed  bool     `json:"committed"`
	}
	list, rows := []goal{}, [][]string{}
	s := c.Style()
	for _, g := range savedGoals(ctx, c, repo) {
		list = append(list, goal{g.Name, append([]string{}, g.Parameters()...), g.Text, g.Path, g.Committed})
		set := ""
		for _, name := range g.Parameters() {
			set += " --set " + name + "="
		}
		rows = append(rows, []string{s.Bold("@"+g.Name) + set, goalTitle(g), s.Dim(story.OneLine(g.Path, 80))})
	}
	switch {
	case c.JSON:
		return c.PrintJSON(list)
	case len(list) == 0:
		c.Printf("No saved goals. Write one into %s/NAME.md of the repository and commit it, or into goals/NAME.md beside %s.\n", settings.GoalsDir, display.Line(c.SettingsPath()))
	default:
		c.Printf("%s", terminal.Table(rows))
	}
	return nil
}

// goalTitle returns the first line of a goal for a list.
func goalTitle(g settings.Goal) string {
	return story.OneLine(strings.TrimLeft(display.FirstLine(strings.TrimSpace(g.Text)), "# "), 60)
}

// CompleteGoal completes the name of a saved goal for the shell.
func CompleteGoal(c *factory.Factory, f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 || typed != "" && !strings.HasPrefix(typed, "@") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, g := range savedGoals(cmd.Context(), c, f.Repo) {
			names = append(names, cobra.CompletionWithDesc("@"+g.Name, goalTitle(g)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSet completes the parameters of the saved goal on the command line.
func completeSet(c *factory.Factory, f *Flags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 || strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, g := range savedGoals(cmd.Context(), c, f.Repo) {
			if args[len(args)-1] != "@"+g.Name {
				continue
			}
			for _, name := range g.Parameters() {
				names = append(names, name+"=")
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
