package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// groups are what a person may want to do, in the order in which the help shows them.
var groups = []*cobra.Group{
	{ID: "start", Title: "Start"}, {ID: "look", Title: "Look"}, {ID: "act", Title: "Decide and guide"}, {ID: "after", Title: "Finish"},
	{ID: "peers", Title: "Agents' sessions"}, {ID: "tools", Title: "Tools"},
}

// first are the commands on the first screen of the help.
var first = map[string]bool{
	"demo": true, "up": true, "init": true, "run": true, "review": true, "list": true, "approve": true, "reject": true, "answer": true,
	"merge": true, "retry": true, "doctor": true,
}

// addHelp adds the first screen of the help, and `help all`, which shows every command.
func addHelp(root *cobra.Command) {
	root.AddGroup(groups...)
	root.SetHelpCommandGroupID("tools")
	root.SetCompletionCommandGroupID("tools")
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd != root {
			usual(cmd, args)
			return
		}
		root.InitDefaultHelpFlag()
		fmt.Fprintf(root.OutOrStdout(), "%s\n\nUsage:\n  starter COMMAND\n\nExamples:\n%s\n%s\nFlags:\n%s\n%s\n", root.Long, root.Example,
			commandTable(root, func(cmd *cobra.Command) bool { return first[cmd.Name()] }), strings.TrimRight(root.Flags().FlagUsages(), "\n"),
			"\n`starter help all` shows every command, `starter COMMAND --help` how to use one.")
	})
	all := &cobra.Command{Use: "all", Hidden: true, Short: "Every command", Example: "  starter help all"}
	all.SetHelpFunc(func(*cobra.Command, []string) {
		fmt.Fprint(root.OutOrStdout(), strings.TrimPrefix(commandTable(root, (*cobra.Command).IsAvailableCommand), "\n"))
	})
	root.AddCommand(all)
}

// commandTable lists the commands that are wanted, by their groups.
func commandTable(root *cobra.Command, wanted func(*cobra.Command) bool) string {
	var b strings.Builder
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID && wanted(cmd) {
				fmt.Fprintf(&b, "%s  %-*s %s\n", title, root.NamePadding(), cmd.Name(), cmd.Short)
				title = ""
			}
		}
	}
	return b.String()
}
