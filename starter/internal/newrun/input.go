package newrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/check"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/internal/setup"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// Input returns the input of a run by its flags alone, or an error that lists their faults. It starts
// nothing.
func Input(ctx context.Context, c *factory.Factory, f Flags) (run.Input, error) {
	if err := ReadGoal(c, &f); err != nil {
		return run.Input{}, err
	}
	src, err := workspace.Inspect(ctx, f.Repo, f.Base)
	if err != nil {
		return run.Input{}, err
	}
	return InputFrom(ctx, c, f, src)
}

// InputFrom returns the input of a run that starts from the source. The goal of the flags is its text.
func InputFrom(ctx context.Context, c *factory.Factory, f Flags, src workspace.Source) (run.Input, error) {
	in := run.Input{
		RunID: run.ID(f.Id), Goal: f.Goal, CheckEnv: f.Env, NoBaseline: f.noBaseline, CheckNetwork: f.checkNetwork, MaxFix: &f.MaxFix, Timeouts: f.Limits, Patches: f.patches,
		MaxTokens: f.maxTokens, MaxCost: run.Dollars(f.maxCost), Network: f.network, FreshFixer: f.fresh, Candidates: f.attempts,
		Repository: run.Repository{Path: src.Root, Prefix: src.Prefix, Base: src.Base, URL: src.URL}, Origins: f.Origins, Tell: f.tell,
	}
	if f.Id == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return in, fmt.Errorf("make a run id: %w", err)
		}
		in.RunID = run.ID(id.String())
	}
	if err := f.validate(in); err != nil {
		return in, err
	}
	var err error
	if err = f.ReadWords(&in); err != nil {
		return in, err
	}
	if in.Options, err = f.options.Read(); err != nil {
		return in, err
	}
	if err := chooseProviders(c, f, &in); err != nil {
		return in, err
	}
	if err := f.nameResults(ctx, &in); err != nil {
		return in, err
	}
	files, done := filesOf(ctx, src)
	defer done()
	if in.Checks, err = chosenChecks(c, f, files); err != nil {
		return in, err
	}
	if f.ByAgent {
		in = session.Tighten(in)
	}
	if err := in.Validate(); err != nil {
		return in, &usage.Error{Err: err}
	}
	return in, nil
}

// ReadWords reads the flags that hold words of a closed set.
func (f Flags) ReadWords(in *run.Input) error {
	if err := in.Policy.UnmarshalText([]byte(f.Policy)); err != nil {
		return usage.Errorf("--approve: %w", err)
	}
	if err := in.Tools.UnmarshalText([]byte(f.Tools)); err != nil {
		return usage.Errorf("--tools: %w", err)
	}
	f.Sandbox = cmp.Or(f.Sandbox, string(run.SandboxRequired))
	if err := in.Sandbox.UnmarshalText([]byte(f.Sandbox)); err != nil {
		return usage.Errorf("--sandbox: %w", err)
	}
	return nil
}

// chooseProviders finds the providers that the flags name.
func chooseProviders(c *factory.Factory, f Flags, in *run.Input) error {
	specs, rivals, err := f.ProviderSpecs()
	if err != nil {
		return err
	}
	all := slices.AppendSeq(slices.Clone(rivals), maps.Values(specs))
	if i := slices.IndexFunc(all, catalog.Spec.Relative); f.ByAgent && i >= 0 { // the working directory is the agent's choice
		return usage.Errorf("provider %s: a run that an agent starts takes it by its absolute path alone: write that into the settings", all[i])
	}
	if in.Providers, err = CheckProviders(specs, rivals); err != nil {
		return err
	}
	if err := checkProgramDir(c, all, *in); err != nil {
		return err
	}
	warnOfCosts(c, f, all)
	if !f.LimitGiven && slices.ContainsFunc(all, catalog.Spec.Agent) {
		in.Timeouts.Provider = AgentLimit
	}
	return nil
}

// nameResults tries the template of the branch, and sets the template of the commits. Begin makes the branch of a
// run that has its number. A branch without a number that exists, or that a branch of the user's excludes, is
// refused at once.
func (f Flags) nameResults(ctx context.Context, in *run.Input) error {
	branch := ""
	if f.Branch != "" {
		var err error
		if branch, err = run.ExpandBranch(f.Branch, in.RunID, run.NewName("x", run.MaxNumber), in.Goal); err != nil {
			return usage.Errorf("--branch: %w", err)
		}
	}
	if in.Naming.Message = f.message; f.message != "" {
		if err := run.CheckMessage(f.message); err != nil {
			return usage.Errorf("--commit-message: %w", err)
		}
	}
	if branch == "" || strings.Contains(f.Branch, "{number}") {
		return nil
	}
	in.Naming.Branch = branch
	return explainTaken(workspace.CheckFree(ctx, in.Repository.Path, branch), f.Branch)
}

// warnOfCosts names the providers that a budget of money does not bound.
func warnOfCosts(c *factory.Factory, f Flags, specs []catalog.Spec) {
	if f.maxCost == 0 {
		return
	}
	var unknown []string
	for _, s := range specs {
		if !s.Costs() {
			unknown = append(unknown, s.String())
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		fmt.Fprintf(c.Err, "starter: what %s costs is not known: --max-cost does not bound it, --max-tokens does\n", strings.Join(slices.Compact(unknown), ", "))
	}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validate refuses flags that are wrong by themselves.
func (f Flags) validate(in run.Input) error {
	if err := in.RunID.Validate(); err != nil {
		return usage.Errorf("--id: %w", err)
	}
	for _, name := range f.Env {
		if !variable.MatchString(name) {
			return usage.Errorf("--env %q: give the name of a variable alone; the value is the worker's", name)
		}
	}
	for _, entry := range f.checkNetwork {
		if err := allow.Check(entry); err != nil {
			return usage.Errorf("--check-network: %w", err)
		}
	}
	if f.attempts < 0 || f.attempts > run.MaxCandidates {
		return usage.Errorf("--attempts %d: want 1 to %d", f.attempts, run.MaxCandidates)
	}
	negative := map[string]bool{
		"--max-patch-files": f.patches.Files < 0, "--max-patch-bytes": f.patches.Bytes < 0,
		"--max-fix": f.MaxFix < 0, "--max-tokens": f.maxTokens < 0, "--max-cost": !(f.maxCost >= 0),
		"--timeout": f.Limits.Provider < 0, "--check-timeout": f.Limits.Check < 0,
		"--approval-timeout": f.Limits.Approval < 0, "--answer-timeout": f.Limits.Answer < 0,
	}
	for _, name := range slices.Sorted(maps.Keys(negative)) {
		if negative[name] {
			return usage.Errorf("%s is negative", name)
		}
	}
	return nil
}

// ProviderSpecs returns the specs of all roles, and of the developers besides the first. The
// evaluator has a spec only when the flags name one.
func (f Flags) ProviderSpecs() (specs map[run.Role]catalog.Spec, rivals []catalog.Spec, err error) {
	if len(f.developers) > 0 {
		f.roles.Developer = f.developers[0]
		for _, text := range f.developers[1:] {
			spec, err := catalog.Parse(text)
			if err != nil {
				return nil, nil, &usage.Error{Err: err}
			}
			rivals = append(rivals, spec)
		}
	}
	specs = map[run.Role]catalog.Spec{}
	for _, role := range run.Roles {
		text := f.roles.For(role)
		if text == "" && role != run.Evaluator {
			text = f.Provider
		}
		if text == "" && role == run.Fixer {
			text = f.roles.Developer
		}
		if text == "" && role != run.Evaluator {
			return nil, nil, usage.Errorf("no provider for the %s: name one with --provider or --%s, such as claude, 'command:./agent.py' or replay:answers; `starter doctor --agents` lists the agents of this machine", role, role)
		}
		if text == "" {
			continue
		}
		if specs[role], err = catalog.Parse(text); err != nil {
			return nil, nil, &usage.Error{Err: err}
		}
	}
	for role, spec := range specs {
		if spec.Kind == setup.None && role != run.Planner {
			return nil, nil, usage.Errorf("only the planner can be none, not the %s", role)
		}
	}
	return specs, rivals, nil
}

// CheckProviders finds the programs and directories of the providers that are named by a path. It starts
// from the working directory, as the worker will. What the worker's environment decides is the worker's to
// say: see Probe.
func CheckProviders(specs map[run.Role]catalog.Spec, rivals []catalog.Spec) (run.Providers, error) {
	dir, err := os.Getwd()
	if err != nil {
		return run.Providers{}, err
	}
	names := map[run.Role]string{}
	for _, role := range run.Roles {
		spec, ok := specs[role]
		if !ok {
			continue
		}
		if err := validateNamed(spec, dir); err != nil {
			return run.Providers{}, err
		}
		names[role] = spec.String()
	}
	out := run.Providers{
		Planner: names[run.Planner], Developer: names[run.Developer],
		Evaluator: names[run.Evaluator], Fixer: names[run.Fixer], Dir: dir,
	}
	for _, spec := range rivals {
		if err := validateNamed(spec, dir); err != nil {
			return run.Providers{}, err
		}
		out.Rivals = append(out.Rivals, spec.String())
	}
	return out, nil
}

// checkProgramDir refuses a working directory that no sandbox shows to the program of a provider.
func checkProgramDir(c *factory.Factory, all []catalog.Spec, in run.Input) error {
	program := func(s catalog.Spec) bool { return s.Kind == setup.Command }
	if in.Sandbox.Off() || !slices.ContainsFunc(all, program) {
		return nil
	}
	home, err := filepath.EvalSymlinks(c.Getenv("HOME"))
	if err != nil {
		return nil // there is no home to show
	}
	if err := box.CheckPath(in.Providers.Dir, home); err != nil {
		return fmt.Errorf("the program of a provider runs in the directory of `starter run`, and the sandbox cannot show %s: %w", display.Line(in.Providers.Dir), err)
	}
	return nil
}

// chosenChecks returns the checks of the flags, or those that the repository offers. It prints the
// checks that it chose.
func chosenChecks(c *factory.Factory, f Flags, files fs.FS) ([]string, error) {
	var say io.Writer = c.Stdout
	if f.Detach || c.JSON {
		say = c.Err
	}
	if len(f.Checks) > 0 {
		if f.Origins["check"] != run.FromFlag {
			for _, command := range f.Checks {
				fmt.Fprintln(say, c.Style().Dim(display.Line(fmt.Sprintf("check chosen: %s (%s)", command, PlaceOf[f.Origins["check"]]))))
			}
		}
		return f.Checks, nil
	}
	found, ok := check.Detect(files)
	for _, note := range found.Notes {
		fmt.Fprintln(say, c.Style().Dim("no check: "+display.Line(note)))
	}
	for _, choice := range found.Choices {
		fmt.Fprintln(say, c.Style().Dim(display.Line(fmt.Sprintf("check chosen: %s (%s)", choice.Command, choice.Why))))
	}
	if !ok && f.roles.Evaluator == "" {
		return nil, errors.New("no check was found in the repository, so nothing would judge the result: name a command with --check CMD or in .ratchet.toml (`starter init` writes it), or a provider with --evaluator SPEC")
	}
	if ok && f.Origins != nil {
		f.Origins["check"] = run.FromDetection
	}
	return found.CommandList(), nil
}

// MayName refuses a provider that only a person names, as a repository's file may not name it.
func MayName(provider string) error {
	if _, err := catalog.Parse(provider); err != nil {
		return err
	}
	if why := settings.Loosens("provider", provider); why != "" {
		return fmt.Errorf("%s %s: a person names it, in the settings or by `starter run`; name an agent or a model, such as claude", display.OneLine(provider, 200), why)
	}
	return nil
}
