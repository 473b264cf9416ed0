package newrun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// AgentWords are the settings whose values are words of one agent.
var AgentWords = []string{"mode", "allow-tool", "deny-tool"}

// fillWords sets the flags of AgentWords that are not set. The words of a source are for the agents of a run by this
// source and the later ones alone. It leaves them out, and says so, if none of those develops or fixes in this run. A
// run that an agent starts keeps the restrictions: the agent names the provider, and must not lift them by its choice.
func fillWords(c *factory.Factory, flags *pflag.FlagSet, origins map[string]run.Origin, sources []source, byAgent bool) error {
	agents := agentsOf(flags)
	for i, s := range sources {
		var f Flags
		alone := pflag.NewFlagSet("alone", pflag.ContinueOnError)
		f.Register(alone)
		if _, err := fillFlags(alone, sources[i:]...); err != nil {
			return err
		}
		meant := agentsOf(alone)
		var left []string
		for _, name := range AgentWords {
			if _, ok := s.values[name]; !ok || origins[name] != run.FromDefault {
				continue
			}
			if !shareAgent(meant, agents) && !(byAgent && name != "allow-tool") {
				left = append(left, name)
				continue
			}
			if err := s.fill(flags, origins, name); err != nil {
				return err
			}
		}
		if len(left) > 0 {
			fmt.Fprintf(c.Err, "starter: left out of %s: %s, for %s, which neither develops nor fixes in this run\n",
				PlaceOf[s.origin], strings.Join(left, ", "), namesOf(meant))
		}
	}
	return nil
}

// agentsOf returns the providers of the developers and of the fixer, as providerSpecs does.
func agentsOf(flags *pflag.FlagSet) []catalog.Spec {
	provider, _ := flags.GetString("provider")
	texts, _ := flags.GetStringArray("developer")
	fixer, _ := flags.GetString("fixer")
	if len(texts) == 0 {
		texts = []string{provider}
	}
	return ParseSpecs(append(slices.Clone(texts), cmp.Or(fixer, provider)))
}

// ParseSpecs returns the specs of the texts that name one. A fault of another is reported where the run's providers are read.
func ParseSpecs(texts []string) (specs []catalog.Spec) {
	for _, text := range texts {
		if spec, err := catalog.Parse(text); err == nil {
			specs = append(specs, spec)
		}
	}
	return specs
}

// shareAgent reports whether words that are meant for some agents are words for a run of others: one agent is among
// both. Words of a file that names no agent are for every agent.
func shareAgent(meant, agents []catalog.Spec) bool {
	return len(meant) == 0 || slices.ContainsFunc(agents, func(a catalog.Spec) bool { return slices.ContainsFunc(meant, a.SameAgent) })
}

// OptionOf holds the option of each setting that chooses one.
var OptionOf = map[string]setup.Option{
	"mode": setup.ModeOption, "allow-tool": setup.ToolsOption, "deny-tool": setup.NoToolsOption, "mcp": setup.ServersOption,
	"add-dir": setup.DirsOption, "max-output": setup.OutputOption, "temperature": setup.TemperatureOption,
}

// checkWords returns an error if an agent of the run does not take the words that a file of settings has.
func checkWords(in run.Input) error {
	given := in.OptionsBySpec()
	for _, text := range slices.Sorted(maps.Keys(given)) {
		spec, err := catalog.Parse(text)
		if err != nil {
			return err
		}
		for _, name := range wordsOfFiles(in) {
			if o := OptionOf[name]; slices.Contains(given[text].Used(), o) && !spec.Kind.Supports(o) {
				return fmt.Errorf("provider %s takes no %s: %s", display.OneLine(text, 60), name, wordsHint(in))
			}
		}
	}
	return nil
}

// wordsOfFiles returns the settings of AgentWords that files of settings have chosen.
func wordsOfFiles(in run.Input) (names []string) {
	for _, name := range AgentWords {
		if o := in.Origins[name]; o == run.FromUser || o == run.FromRepository {
			names = append(names, name)
		}
	}
	return names
}

// wordsHint says what a person can do where words of files reach an agent that they are not for. It is empty if there
// are none.
func wordsHint(in run.Input) string {
	var parts []string
	for _, name := range wordsOfFiles(in) {
		parts = append(parts, fmt.Sprintf("%s (%s)", name, PlaceOf[in.Origins[name]]))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " reaches all providers that write: name one agent for all with --provider, or take it out of the file"
}

// namesOf returns the specs for people.
func namesOf(specs []catalog.Spec) string {
	var names []string
	for _, s := range specs {
		names = append(names, display.OneLine(s.String(), 60))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
