package newrun

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// AddCompletion completes the values of the flags for the shell. It runs nothing but git.
func AddCompletion(c *factory.Factory, cmd *cobra.Command, f *Flags) {
	words := func(words ...cobra.Completion) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	add := func(name string, complete cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // there is no such flag
		}
	}
	for _, name := range []string{"provider", "planner", "developer", "fixer", "evaluator"} {
		add(name, cobra.FixedCompletions(providers(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	}
	add("approve", words(string(run.Always), string(run.Risky), string(run.Never)))
	add("tools", words(string(run.AskTools), string(run.AllowTools), string(run.DenyTools)))
	add("sandbox", words(string(run.SandboxRequired), string(run.SandboxOff)))
	add("set", completeSet(c, f))
	add("check", func(*cobra.Command, []string, string) (list []string, _ cobra.ShellCompDirective) {
		found, _ := check.Detect(os.DirFS(f.Repo))
		for _, choice := range found.Choices {
			list = append(list, cobra.CompletionWithDesc(display.Line(choice.Command), display.Line(choice.Why)))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	})
}

// providers returns the beginnings of specs.
func providers() (list []string) {
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return t.Kind != setup.None }) {
		spec := string(t.Kind)
		if t.Rest != setup.AnyModel && t.Rest != setup.Nothing {
			spec += ":"
		}
		list = append(list, cobra.CompletionWithDesc(spec, t.Label))
	}
	return list
}
