// Package newrun makes the input of a run from flags, the files of settings and the goal, and begins the run.
package newrun

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Flags holds the flags of `run`.
type Flags struct {
	Repo, Base      string
	Goal, goalFile  string
	Issue           string // URL, in place of a goal
	Provider        string
	roles           run.Providers // named one by one, without developers
	developers      []string
	attempts        int
	Checks, Env     []string
	noBaseline      bool
	quick           bool
	checkNetwork    []string
	Policy          string
	Sandbox         string
	MaxFix          int
	Limits          run.Limit
	maxTokens       int64
	maxCost         float64
	Tools           string
	network, fresh  bool
	options         OptionFlags
	LimitGiven      bool // --timeout
	patches         run.Size
	Detach, Verbose bool
	ByAgent         bool // an agent, not a person, starts the run
	Id              string
	GoalGiven, file bool
	saved           string   // name of a saved goal, whose text is not read yet
	set             []string // of its parameters
	several         bool     // an issue and a goal
	Branch, message string   // templates
	tell            string   // a standing session
	Host            string   // the host that does the run; empty: the worker of the task queue
	// Origins says who chose what, by the names of the settings.
	Origins map[string]run.Origin
}

// ByAgentFlag is the hidden flag of an agent's run. It only tightens the run.
const ByAgentFlag = "by-agent"

// AgentLimit is the default limit of a call that an agent serves. It is long because an agent
// works, while a model only answers.
const AgentLimit = 45 * time.Minute

func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Repo, "repo", ".", "`directory` in the git repository to work on, or the URL of one")
	flags.StringVar(&f.Base, "base", "", "`commit` to start from; default: the last one, with nothing uncommitted beside it")
	flags.StringVar(&f.Goal, "goal", "", "`text` of the goal, instead of GOAL")
	flags.StringArrayVar(&f.set, "set", nil, "`name=value` of a parameter of a saved goal; repeat it for more")
	flags.StringVar(&f.goalFile, "goal-file", "", "`file` that holds the goal; - is standard input")
	flags.StringVar(&f.Provider, "provider", "", "`spec` of the provider for plan, patch and fixes, such as claude, codex, anthropic:<model>, acp:<program and arguments>, command:<program and arguments>")
	flags.StringVar(&f.roles.Planner, "planner", "", "`spec` of the planner's provider")
	flags.StringArrayVar(&f.developers, "developer", nil, "`spec` of the developer's provider; several compete, see --attempts")
	flags.IntVar(&f.attempts, "attempts", 0, "how many attempts at the execute phase compete, at most "+strconv.Itoa(run.MaxCandidates)+"; default: one for each developer")
	flags.StringVar(&f.roles.Fixer, "fixer", "", "`spec` of the provider for fixes")
	flags.StringVar(&f.roles.Evaluator, "evaluator", "", "`spec` of a provider that judges what the checks let pass; default: the checks alone decide")
	flags.StringArrayVar(&f.Checks, "check", nil, "`command` that judges the result, for /bin/sh; repeat it for more; default: found in the repository")
	flags.BoolVar(&f.noBaseline, "no-baseline", false, "do not run the checks on the base commit before the planner is called")
	flags.BoolVar(&f.quick, "quick", false, "begin with the developer: no plan, and no checks on the base commit where the settings or flags name the checks")
	flags.StringArrayVar(&f.Env, "env", nil, "`name` of a variable of the worker that the checks may see; repeat it for more")
	flags.StringArrayVar(&f.checkNetwork, "check-network", nil, "`host:port` that the checks may reach, or registry, or registry:go, npm, pip or cargo; repeat it for more; default: none")
	flags.StringVar(&f.Policy, "approve", string(run.Always), "which patches wait for a person: `always`, risky or never")
	flags.StringVar(&f.Sandbox, "sandbox", "", "`required` or off: run checks and agents in the sandbox, or let them do what the worker's user can; off must be said by the worker, too; default: required, unless your settings say off")
	flags.IntVar(&f.MaxFix, "max-fix", run.DefaultMaxFix, "most fixes that are tried automatically; those that you ask for by a rejection or an answer do not count")
	defaults := run.Limit{}.WithDefaults()
	flags.DurationVar(&f.Limits.Provider, "timeout", defaults.Provider, "limit of each provider call; of an agent's, unless given, "+AgentLimit.String())
	flags.DurationVar(&f.Limits.Check, "check-timeout", defaults.Check, "limit of each check")
	flags.DurationVar(&f.Limits.Approval, "approval-timeout", 0, "limit of each wait for an approval, after which the run is canceled; 0 waits for ever")
	flags.DurationVar(&f.Limits.Answer, "answer-timeout", 0, "limit of each wait for an answer, after which the run is canceled; 0 waits for ever")
	flags.IntVar(&f.patches.Files, "max-patch-files", 0, "most files that a patch may change; 0 is 500")
	flags.IntVar(&f.patches.Bytes, "max-patch-bytes", 0, "most bytes that a diff may have; 0 is 8 MiB")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "token budget, after which the run asks; 0 is none")
	flags.StringVar(&f.Branch, "branch", "", "`template` of the branch's name, such as agents/{slug}-{short}; placeholders {number}, {slug}, {run}, {short}; default: "+run.DefaultBranch)
	flags.StringVar(&f.message, "commit-message", "", "`template` of the commits' messages; placeholders {summary}, {goal}, {slug}, {run}, {short}, {name}, {number}, {iteration}; default: {summary}")
	flags.StringVar(&f.tell, "tell", "", "`session` that gets a message when the run waits and when it ends: see starter deliveries")
	flags.BoolVar(&f.Detach, "detach", false, "print the run id and do not follow")
	flags.StringVar(&f.Id, "id", "", "`id` of the run; default: a new UUID")
	flags.Float64Var(&f.maxCost, "max-cost", 0, "budget in dollars, where prices are known, after which the run asks; 0 is none")
	flags.StringVar(&f.Tools, "tools", string(run.AskTools), "who lets agents use tools beyond changing files: `ask` a person, allow, deny")
	flags.BoolVar(&f.network, "network", false, "let the tools of agents reach the network, where their sandbox can tell")
	flags.BoolVar(&f.fresh, "fresh-fixer", false, "give each fix a session of its own, not the developer's")
	f.options.Register(flags)
}

// hurry applies --quick. A planner that is named stays.
func (f *Flags) hurry() {
	if !f.quick {
		return
	}
	f.roles.Planner = cmp.Or(f.roles.Planner, run.NoPlanner)
	f.noBaseline = f.noBaseline || len(f.Checks) > 0
}
