package newrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// PlaceOf names the place of a value for people.
var PlaceOf = map[run.Origin]string{
	run.FromFlag: "a flag", run.FromUser: "your own settings", run.FromRepository: settings.RepositoryFile,
	run.FromDetection: "the repository's files", run.FromDefault: "default",
}

// SettingsFrom says which settings of a run came from files, in one line.
func SettingsFrom(origins map[string]run.Origin) string {
	var parts []string
	for _, origin := range []run.Origin{run.FromUser, run.FromRepository} {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(origins)) {
			if origins[name] == origin {
				names = append(names, story.OneLine(name, 40))
			}
		}
		if len(names) > 0 {
			parts = append(parts, strings.Join(names, ", ")+" from "+PlaceOf[origin])
		}
	}
	return strings.Join(parts, "; ")
}

// source is one place of settings.
type source struct {
	origin run.Origin
	values settings.Values
}

// Configure completes the flags that the command line does not name: see configure. The fields of f are the values of
// the flag set.
func (f *Flags) Configure(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, src workspace.Source, base string) (err error) {
	f.Origins, err = configure(ctx, c, flags, src, base, f.ByAgent)
	f.LimitGiven = flags.Changed("timeout")
	f.hurry()
	return err
}

// PlannedInput returns the input of a run that starts later, at a revision: that of --base, or HEAD. The goal of the
// flags is its text, or the name of a saved one.
func (f *Flags) PlannedInput(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet) (in run.Input, base string, err error) {
	base = cmp.Or(f.Base, "HEAD")
	src, err := Source(ctx, c, f.Repo, base, f.ByAgent, c.Dial)
	if err == nil {
		err = ReadSaved(ctx, c, f, src)
	}
	if err == nil {
		err = f.Configure(ctx, c, flags, src, base)
	}
	if err != nil {
		return in, "", err
	}
	in, err = InputFrom(ctx, c, *f, src)
	return in, base, err
}

// configure gives the flags that the command line does not name the values of the user's file, and then
// the values of the file in the repository's last commit. It returns who chose what, and shows what the user's
// file loosens.
func configure(ctx context.Context, c *factory.Factory, flags *pflag.FlagSet, src workspace.Source, base string, byAgent bool) (map[string]run.Origin, error) {
	user, err := settings.Read(c.SettingsPath())
	if err != nil {
		return nil, err
	}
	head := "HEAD"
	if base == "" || src.URL != "" {
		head = string(src.Base)
	}
	committed, err := settings.ReadCommitted(ctx, src.Root, src.Prefix, head, c.SettingsPath())
	if err != nil {
		return nil, err
	}
	if committed.Note != "" {
		fmt.Fprintf(c.Err, "starter: %s\n", display.Line(committed.Note))
	}
	own := user.For(cmp.Or(src.URL, src.Root))
	if byAgent {
		own = own.ForAgent()
	}
	sources := []source{{run.FromUser, own}, {run.FromRepository, committed.Values}}
	origins, err := fillFlags(flags, sources...)
	if err != nil {
		return nil, err
	}
	if err := fillWords(c, flags, origins, sources, byAgent); err != nil {
		return nil, err
	}
	for _, name := range settings.Names() {
		if origins[name] == run.FromUser {
			reportLoosened(c, name, own[name])
		}
	}
	return origins, nil
}

// reportLoosened shows a value of the user's file that lets more happen than the default.
func reportLoosened(c *factory.Factory, name string, v settings.Value) {
	for _, text := range v.Texts {
		if settings.Loosens(name, text) != "" {
			fmt.Fprintf(c.Err, "starter: %s %s, as %s says\n", name, display.Line(text), display.Line(v.Path))
		}
	}
}

// byProvider are the settings that a provider for all roles overrides where a later source names them: the
// providers of single roles.
var byProvider = []string{"planner", "developer", "fixer", "attempts"}

// fillFlags sets the flags that are not set by the sources, of which the first has the last word. It leaves
// AgentWords to fillWords. A provider for all roles stands above the settings of byProvider in all later sources.
func fillFlags(flags *pflag.FlagSet, sources ...source) (map[string]run.Origin, error) {
	origins := map[string]run.Origin{}
	for _, name := range settings.Names() {
		origins[name] = run.FromDefault
		if flags.Changed(name) {
			origins[name] = run.FromFlag
		}
	}
	for _, s := range sources {
		overridden := origins["provider"] != run.FromDefault
		for _, name := range settings.Names() {
			if slices.Contains(AgentWords, name) || overridden && slices.Contains(byProvider, name) {
				continue
			}
			if err := s.fill(flags, origins, name); err != nil {
				return nil, err
			}
		}
	}
	return origins, nil
}

// fill sets a flag that is not set, if the source has its value.
func (s source) fill(flags *pflag.FlagSet, origins map[string]run.Origin, name string) error {
	v, ok := s.values[name]
	if !ok || origins[name] != run.FromDefault {
		return nil
	}
	for _, text := range v.Texts {
		if err := flags.Set(name, text); err != nil {
			return usage.Errorf("%s:%d: %s: %w", display.Line(v.Path), v.Line, name, err)
		}
	}
	origins[name] = s.origin
	return nil
}
