// Package usage refuses command lines: it checks the number of arguments, and explains what cobra does not
// understand.
package usage

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Args and ArgsBetween return argument checks. Their errors name the wanted arguments.
func Args(n int, want string) cobra.PositionalArgs { return ArgsBetween(n, n, want) }

func ArgsBetween(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			_, name, _ := strings.Cut(cmd.CommandPath(), " ")
			return fmt.Errorf("%s wants %s", name, want)
		}
		return nil
	}
}

const (
	WantsRun   = "one RUN: a name from `starter list`, such as slug#14, its number or its id"
	MayHaveRun = "at most one RUN: a name from `starter list`, such as slug#14, its number or its id"
)

// Error reports a command line that cannot be obeyed.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

func Errorf(format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...)}
}

// numberError matches what the parser of a flag says of a text that is no number, or no duration.
var numberError = regexp.MustCompile(`: (?:strconv\.\w+: parsing .*|time: .*)$`)

// Explain names the fault of a command line that cobra does not understand, and the remedy.
func Explain(root, at *cobra.Command, args []string, err error) error {
	text := err.Error()
	if found := numberError.FindString(text); found != "" {
		want := "want a whole number"
		switch {
		case strings.HasPrefix(found, ": time:"):
			want = "want a time such as 90s, 10m or 2h"
		case strings.Contains(found, "ParseFloat"):
			want = "want a number"
		case strings.Contains(found, "ParseBool"):
			want = "want true or false"
		}
		text = strings.TrimSuffix(text, found) + ": " + want
	}
	if strings.HasPrefix(text, "unknown command") && at == root && len(args) > 0 {
		root.SuggestionsMinimumDistance = min(2, len(args[0])/2) // to half of a short word everything is near
		if names := root.SuggestionsFor(args[0]); len(names) > 0 {
			text += ", did you mean " + strings.Join(names, " or ") + "?"
			return Errorf("%s See `%s --help`", text, at.CommandPath())
		}
	}
	return Errorf("%s: see `%s --help`", text, at.CommandPath())
}

// Span reads a time span, also in days and weeks.
func Span(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); strings.HasSuffix(text, unit) && err == nil && n >= 0 && n <= 5000 {
			return time.Duration(n) * length, nil
		}
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return 0, fmt.Errorf("invalid duration %q: want one such as 36h, 7d or 4w", text)
	}
	return span, nil
}

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
