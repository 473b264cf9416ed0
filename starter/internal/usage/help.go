package usage

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FewFlags has the help of a command show only the flags of these names. The flag --help-all shows all of them.
func FewFlags(cmd *cobra.Command, names ...string) {
	names = append(names, "help", "help-all")
	all := cmd.Flags().Bool("help-all", false, "help with every flag")
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !*all {
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || !slices.Contains(names, f.Name) })
		}
		cmd.Parent().HelpFunc()(cmd, args)
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all {
			return cmd.Help()
		}
		return run(cmd, args)
	}
}
