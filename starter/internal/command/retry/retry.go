// Package retry is the command `starter retry`.
package retry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/artifacts"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
	"github.com/ratchet-dev/ratchet/starter/internal/newrun"
	"github.com/ratchet-dev/ratchet/starter/internal/runref"
	"github.com/ratchet-dev/ratchet/starter/internal/sandboxing"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// retryFlags are what `retry` changes of the run before. The other settings stay.
type retryFlags struct {
	provider, note   string
	id               string
	onto             string // a branch or commit to begin at
	fromBase, detach bool
	maxFix           int
	maxTokens        int64
	maxCost          float64
	limits           run.Limit
	policy           string
	given            func(string) bool
}

func New(c *factory.Factory) *cobra.Command {
	var f retryFlags
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Start a run from another's last commit",
		Long: `Starts a new run with the goal and the settings of one that is over. It begins at
that run's last commit, and its prompts carry what was said in it: rejections,
answers, notes, and what the last evaluation found. Flags change the provider and
the limits. Its branch has the default name. A merge of the new run brings the
commits of both.

With --onto it begins at another branch instead, such as one that has moved on and
now conflicts with the run's commits. The prompts carry the patch of the run before,
to be done again there, and a merge brings the commits of the new run alone.`,
		Example:           "  starter retry slug#12 --onto main\n  starter retry slug#12 --max-fix 6 --provider codex\n  starter retry 12 --from-base --note 'leave the public API alone'",
		SuggestFor:        []string{"continue"},
		Args:              usage.Args(1, usage.WantsRun),
		ValidArgsFunction: runref.CompleteOf(c, runref.Over),
		RunE:              runref.On(c, func(ctx context.Context, r runref.Found, _ []string) error { return retryRun(ctx, c, r, f) }),
	}
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringVar(&f.note, "note", "", "`text` that the prompts carry, too")
	flags.IntVar(&f.maxFix, "max-fix", 0, "most fixes that are tried automatically; default: as before")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "token budget of the new run; default: as before")
	flags.Float64Var(&f.maxCost, "max-cost", 0, "budget of the new run in dollars; default: as before")
	flags.DurationVar(&f.limits.Provider, "timeout", 0, "limit of each provider call; default: as before")
	flags.DurationVar(&f.limits.Check, "check-timeout", 0, "limit of each check; default: as before")
	flags.BoolVar(&f.detach, "detach", false, "print the run id and do not follow")
	flags.StringVar(&f.id, "id", "", "`id` of the new run; default: a new UUID")
	flags.StringVar(&f.provider, "provider", "", "`spec` of the provider for plan, patch and fixes, instead of those of the run before")
	flags.BoolVar(&f.fromBase, "from-base", false, "begin where the run before began, without its commits")
	flags.StringVar(&f.onto, "onto", "", "`branch` or commit to begin at, with the patch of the run before as context")
	cmd.MarkFlagsMutuallyExclusive("onto", "from-base")
	flags.StringVar(&f.policy, "approve", "", "which patches wait for a person: `always`, risky or never; default: as before")
	return cmd
}

func retryRun(ctx context.Context, c *factory.Factory, r runref.Found, f retryFlags) error {
	in, err := retryInput(ctx, c, r, f)
	if err != nil {
		return err
	}
	if err := sandboxing.Check(c, in.Sandbox, false); err != nil {
		return err
	}
	if err := newrun.Probe(ctx, c, r.Client, &in); err != nil {
		return err
	}
	if err := newrun.Begin(ctx, c, r.Client, &in, ""); err != nil {
		return err
	}
	return follow.Started(ctx, c, runref.Found{Client: r.Client, ID: in.RunID, Name: in.Name}, f.detach, false)
}

// retryInput returns the input of the run that continues r.
func retryInput(ctx context.Context, c *factory.Factory, r runref.Found, f retryFlags) (in run.Input, err error) {
	events, err := r.Events(ctx, r.ID, "")
	if err != nil {
		return in, err
	}
	s, err := run.Fold(events)
	if err != nil {
		return in, fmt.Errorf("the first events of run %s are missing: name its runs directory with --runs-dir: %w", r.ShownName(), err)
	}
	switch status := s.State.Status; {
	case !status.Terminal():
		if err := runref.EndedOutside(ctx, c, r); err != nil {
			return in, err
		}
		if status.Waiting() {
			return in, fmt.Errorf("run %s is %s: it is not over: answer it (`%s`), or `%s` first", r.ShownName(), status, c.Hint("status %s", r.ShownName()), c.Hint("cancel %s", r.ShownName()))
		}
		return in, fmt.Errorf("run %s is %s: it continues by itself; to start another in its place, `%s` first", r.ShownName(), status, c.Hint("cancel %s", r.ShownName()))
	}
	if f.onto != "" {
		if in, err = goOnOnto(ctx, c, r, s, f); err != nil {
			return in, err
		}
	} else {
		in = s.GoOn(f.note)
	}
	if f.fromBase {
		in.Repository.Base = s.Input.Repository.Base
	}
	if in.RunID = run.ID(f.id); f.id == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return in, err
		}
		in.RunID = run.ID(id.String())
	}
	left, err := f.changeInput(&in)
	if err != nil {
		return in, err
	}
	if len(left) > 0 {
		fmt.Fprintf(c.Err, "starter: left out: %s, which %s does not take from the run before\n", strings.Join(left, ", "), display.OneLine(f.provider, 60))
	}
	if err := runref.CheckRepository(r, in.Repository.Path); err != nil {
		return in, err
	}
	if _, err := workspace.Inspect(ctx, in.Repository.Path, string(in.Repository.Base)); err != nil {
		return in, fmt.Errorf("the last commit of run %s: %w", r.ShownName(), err)
	}
	in.Naming.Branch = in.RunID.Branch() // until it has its number
	if err := in.Validate(); err != nil {
		return in, &usage.Error{Err: err}
	}
	return in, nil
}

// goOnOnto returns the input of a run that begins at another branch, with the patch of the run before among what its
// prompts carry.
func goOnOnto(ctx context.Context, c *factory.Factory, r runref.Found, s *run.Snapshot, f retryFlags) (in run.Input, err error) {
	if err := runref.CheckRepository(r, s.Input.Repository.Path); err != nil {
		return in, err
	}
	src, err := inspectOnto(ctx, c, r, s.Input.Repository, f.onto)
	if err != nil {
		return in, fmt.Errorf("--onto %s: %w", display.Line(f.onto), err)
	}
	facts, err := r.Facts(ctx, r.ID)
	if err != nil {
		return in, err
	}
	patch, err := artifacts.BranchDiff(ctx, c, r, facts)
	if err != nil {
		return in, err
	}
	if patch.Diff == "" {
		return in, fmt.Errorf("run %s has no commits to apply again: leave out --onto", r.ShownName())
	}
	in = s.GoOn(f.note, ontoText(patch.Diff))
	in.Repository.Base, in.Before.Base = src.Base, src.Base
	return in, nil
}

// inspectOnto finds the commit to begin at: of a URL the server's, as it is now.
func inspectOnto(ctx context.Context, c *factory.Factory, r runref.Found, of run.Repository, onto string) (workspace.Source, error) {
	if of.URL != "" {
		return newrun.Fetched(ctx, c, r.Client, of.URL, onto)
	}
	return workspace.Inspect(ctx, of.Path, onto)
}

// ontoText describes to the developer the patch that was made on an older state of the branch.
func ontoText(diff string) string {
	const intro = "An earlier run reached the goal with the patch below, on an older state of the branch. The branch has moved on and the patch " +
		"no longer fits. Make the same change on the files as they are now; keep what has come to the branch since."
	room := run.MaxTextBytes - len(intro) - 200
	if len(diff) <= room {
		return intro + "\n\n" + diff
	}
	cut := strings.LastIndex(diff[:room], "\n") + 1
	return intro + fmt.Sprintf(" Only the first %d of its %d bytes are shown.\n\n", cut, len(diff)) + diff[:cut]
}

// changeInput sets what the flags say. It returns the settings that another provider leaves out.
func (f retryFlags) changeInput(in *run.Input) (left []string, err error) {
	negative := f.maxFix < 0 || f.maxTokens < 0 || !(f.maxCost >= 0) || f.limits.Provider < 0 || f.limits.Check < 0
	if negative {
		return nil, usage.Errorf("a limit is negative, or no number")
	}
	origins := map[string]run.Origin{}
	for name, origin := range in.Origins {
		origins[name] = origin
	}
	if origins["branch"] != "" {
		origins["branch"] = run.FromDefault // the input has no template that a new name could be made of
	}
	set := func(name string, change func()) {
		if f.given(name) {
			change()
			origins[name] = run.FromFlag
		}
	}
	set("max-fix", func() { in.MaxFix = &f.maxFix })
	set("max-tokens", func() { in.MaxTokens = f.maxTokens })
	set("max-cost", func() { in.MaxCost = run.Dollars(f.maxCost) })
	set("timeout", func() { in.Timeouts.Provider = f.limits.Provider })
	set("check-timeout", func() { in.Timeouts.Check = f.limits.Check })
	set("approve", func() { err = in.Policy.UnmarshalText([]byte(f.policy)) })
	if err != nil {
		return nil, usage.Errorf("--approve: %w", err)
	}
	set("provider", func() { left, err = f.changeProvider(in, origins) })
	in.Origins = origins
	return left, err
}

// changeProvider gives all roles of the run before the provider. An evaluator stays. It returns the settings that are left
// out: words of another agent, and options that the provider does not take. They are not among the origins any more.
func (f retryFlags) changeProvider(in *run.Input, origins map[string]run.Origin) (left []string, err error) {
	specs, rivals, err := newrun.Flags{Provider: f.provider}.ProviderSpecs()
	if err != nil {
		return nil, err
	}
	before, spec := in.Providers, specs[run.Developer]
	if in.Providers, err = newrun.CheckProviders(specs, rivals); err != nil {
		return nil, err
	}
	in.Providers.Evaluator, in.Candidates = before.Evaluator, 0
	if judge, err := catalog.Parse(before.Evaluator); err == nil && judge.Named() { // its program is looked for where it was
		if spec.Relative() && before.Dir != in.Providers.Dir {
			return nil, usage.Errorf("--provider %s: the evaluator's program is looked for in %s: name this one by its absolute path", f.provider, before.Dir)
		}
		in.Providers.Dir = before.Dir
	}
	agents := newrun.ParseSpecs(append([]string{before.Developer, before.Fixer}, before.Rivals...))
	if spec.Agent() && !f.given("timeout") && !slices.ContainsFunc(agents, catalog.Spec.Agent) {
		in.Timeouts.Provider = newrun.AgentLimit
	}
	same, used := slices.ContainsFunc(agents, spec.SameAgent), in.Options.Used()
	for _, name := range slices.Sorted(maps.Keys(newrun.OptionOf)) {
		o := newrun.OptionOf[name]
		if !slices.Contains(used, o) || spec.Kind.Supports(o) && (same || !slices.Contains(newrun.AgentWords, name)) {
			continue
		}
		left, in.Options = append(left, name), in.Options.Without(o)
		delete(origins, name)
	}
	return left, nil
}
