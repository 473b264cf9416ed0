package run

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/exact"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// The bounds of texts that enter the workflow's history.
const (
	MaxGoalBytes  = 16 << 10 // a goal; a longer text belongs into a file of the repository
	MaxTextBytes  = 8 << 10  // an answer, a note or a reason
	MaxCheckBytes = 4 << 10  // all checks of a run together
)

// MaxCheckNetwork bounds the entries of CheckNetwork.
const MaxCheckNetwork = 32

// DefaultMaxFix is the number of fixes of a run whose input sets none.
const DefaultMaxFix = 3

// Input holds everything that decides how a run behaves. It is fixed at the start.
// No later content of the repository loosens it.
type Input struct {
	RunID ID `json:"runId"`
	// Name is the short name of the run; empty: it has none.
	Name Name   `json:"name,omitempty"`
	Goal string `json:"goal"`
	// Issue is what the goal was taken from; nil: a person has written it.
	Issue      *Issue     `json:"issue,omitempty"`
	Repository Repository `json:"repository"`
	Providers  Providers  `json:"providers"`
	// Checks are the commands that judge the workspace; CheckEnv names the
	// variables of the worker that they may see.
	Checks   []string `json:"checks"`
	CheckEnv []string `json:"checkEnv,omitempty"`
	// NoBaseline leaves out the run of the checks on the base commit.
	NoBaseline bool `json:"noBaseline,omitempty"`
	// CheckNetwork holds the only targets that the checks may reach, as package allow
	// reads them: host:port, or presets of registries. Nothing means no network.
	CheckNetwork []string `json:"checkNetwork,omitempty"`
	// CacheReadOnly keeps what the checks build and download from later runs on the repository. It is set for a run that an
	// agent has started, and for one that continues it: the agent may have chosen the checks, or the repository.
	CacheReadOnly bool   `json:"cacheReadOnly,omitempty"`
	Policy        Policy `json:"approvalPolicy"`
	// MaxFix is the number of fixes that may be tried. Zero means none, nil means 3
	// (DefaultMaxFix).
	MaxFix   *int  `json:"maxFixIterations,omitempty"`
	Timeouts Limit `json:"timeouts"`
	// MaxTokens and MaxCost are the budgets; zero is none.
	MaxTokens int64  `json:"maxTokens,omitempty"`
	MaxCost   Micros `json:"maxCostMicros,omitempty"`
	Patches   Size   `json:"patches,omitzero"` // of each patch
	// Sandbox is the policy for the sandbox; empty means required. A worker starts the
	// run's programs in the sandbox, or not at all, unless both say off.
	Sandbox Sandbox `json:"sandbox,omitempty"`

	// Tools is the policy for agents' tool calls; empty means ask. Network lets
	// the tools reach the network, if the agent can choose. FreshFixer
	// gives the fixer a session of its own instead of the developer's.
	Tools      Tools `json:"tools,omitempty"`
	Network    bool  `json:"network,omitempty"`
	FreshFixer bool  `json:"freshFixer,omitempty"`
	// Options are the options of the agents and models. Developers and fixers have all of
	// them, planner and evaluator the bounds of the model.
	Options setup.Options `json:"options,omitzero"`
	// Candidates is the number of candidates that compete at execute; zero means one
	// for each developer.
	Candidates int `json:"attempts,omitempty"`

	// Notify names the channels by which people learn that the run needs one or has ended. The worker's
	// operator decides what they lead to; none of it is in the run.
	Notify []Channel `json:"notify,omitempty"`

	// Before is the run that this one continues; nil: none.
	Before *Before `json:"before,omitempty"`

	// Naming names the branch and the commits.
	Naming Naming `json:"naming,omitzero"`
	// Tell is the id of the standing session that gets a message when the run waits and when it ends; empty: none does.
	Tell string `json:"tell,omitempty"`
	// Session is the id of the standing session whose agent started the run; empty: a person did. A person approves
	// each patch and tool of such a run, in the sandbox, and the session gets its messages.
	Session string `json:"session,omitempty"`
	// Origins says who chose what, by the names of the settings. It decides nothing.
	Origins map[string]Origin `json:"origins,omitempty"`
}

// Issue is an issue of a server of repositories, as it was when the run was asked for. Later edits are not read.
type Issue struct {
	URL    string `json:"url"`
	Digest Digest `json:"digest"` // of title and text
}

// issueForm matches the URLs of issues.
var issueForm = regexp.MustCompile(`^https?://[!-~]{1,500}$`)

// sessionForm matches the ids of standing sessions.
var sessionForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Channel is a way by which a worker notifies people about a run.
type Channel string

// The channels.
const (
	CommandChannel Channel = "command" // a program of the worker's operator
	WebhookChannel Channel = "webhook"
)

func (c *Channel) UnmarshalText(b []byte) error {
	return exact.Word(c, b, "channel", CommandChannel, WebhookChannel)
}

// Size bounds a patch. Zero members mean the patch engine's own limits.
type Size struct {
	Files int `json:"files,omitempty"` // changed files
	Bytes int `json:"bytes,omitempty"` // of the diff
	// NoWorkflows refuses patches that change .github/workflows: the token by which the branch is pushed may not.
	NoWorkflows bool `json:"noWorkflows,omitempty"`
}

// Repository is the starting point of a run.
type Repository struct {
	Path   string `json:"path"`             // top level of the work tree, absolute; of a URL the mirror on the worker's host
	Prefix string `json:"prefix,omitempty"` // the sub-directory that patches are relative to
	Base   Commit `json:"base"`
	// URL is where Path is the mirror of, and where the branch of the run is pushed to; empty: Path is the user's own.
	URL string `json:"url,omitempty"`
}

// NoPlanner, in the place of a planner, leaves the plan out: the developer gets the goal alone.
const NoPlanner = string(setup.None)

// Providers names one provider for each role. Without an evaluator the checks
// alone decide.
type Providers struct {
	Planner   string `json:"planner"`
	Developer string `json:"developer"`
	// Rivals are further developers, which compete with the first at execute.
	Rivals    []string `json:"rivals,omitempty"`
	Evaluator string   `json:"evaluator,omitempty"`
	Fixer     string   `json:"fixer"`
	// Dir is the directory in which programs named by a relative path are looked for
	// and run.
	Dir string `json:"dir,omitempty"`
}

// For returns the provider of a role.
func (p Providers) For(r Role) string {
	switch r {
	case Planner:
		return p.Planner
	case Developer:
		return p.Developer
	case Evaluator:
		return p.Evaluator
	case Fixer:
		return p.Fixer
	}
	return ""
}

// Limit holds the time limits of a run. A zero Provider means 5 minutes, a
// zero Check 3 minutes (docs/contracts/run.md, 16); a zero Approval or Answer
// waits for ever.
type Limit struct {
	Provider time.Duration `json:"provider,omitempty"`
	Check    time.Duration `json:"check,omitempty"`
	Approval time.Duration `json:"approval,omitempty"`
	Answer   time.Duration `json:"answer,omitempty"`
}

// WithDefaults returns the limits with zero values replaced.
func (l Limit) WithDefaults() Limit {
	l.Provider = cmp.Or(l.Provider, 5*time.Minute)
	l.Check = cmp.Or(l.Check, 3*time.Minute)
	return l
}

// FirstBase returns the commit that the run began at, or the first of the runs before it.
func (in Input) FirstBase() Commit {
	if in.Before != nil {
		return in.Before.Base
	}
	return in.Repository.Base
}

// Fixes returns the number of fixes that the run may try.
func (in Input) Fixes() int {
	if in.MaxFix == nil {
		return DefaultMaxFix
	}
	return *in.MaxFix
}

// Validate returns all errors of the input, joined.
func (in Input) Validate() error {
	var errs []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if err := in.RunID.Validate(); err != nil {
		errs = append(errs, err)
	}
	refuse(strings.TrimSpace(in.Goal) == "", "the goal is empty: write what to change")
	refuse(len(in.Goal) > MaxGoalBytes, "the goal has %d bytes, at most %d fit: put the rest into a file of the repository and name that file", len(in.Goal), MaxGoalBytes)
	refuse(in.Issue != nil && !issueForm.MatchString(in.Issue.URL), "invalid URL of an issue")
	refuse(in.Repository.Path == "", "no repository given")
	refuse(in.Repository.Base == "", "no base commit given")
	if in.Repository.URL != "" {
		text, err := ParseURL(in.Repository.URL)
		refuse(err != nil, "the repository: %w", err)
		refuse(err == nil && text != in.Repository.URL, "the URL of the repository is not in the form %s", text)
	}
	for _, r := range []Role{Planner, Developer, Fixer} {
		refuse(in.Providers.For(r) == "", "no provider for the %s: name one for all roles or for this role", r)
	}
	refuse(len(in.Checks) == 0 && in.Providers.Evaluator == "", "nothing judges the result: give a check or an evaluator")
	total := 0
	for _, c := range in.Checks {
		refuse(strings.TrimSpace(c) == "", "a check is empty")
		total += len(c)
	}
	refuse(total > MaxCheckBytes, "the checks have %d bytes, at most %d fit: put them into a script", total, MaxCheckBytes)
	refuse(len(in.CheckNetwork) > MaxCheckNetwork, "the checks may reach %d targets, at most %d fit", len(in.CheckNetwork), MaxCheckNetwork)
	for _, entry := range in.CheckNetwork {
		if err := allow.Check(entry); err != nil {
			errs = append(errs, err)
		}
	}
	refuse(len(in.CheckNetwork) > 0 && in.Sandbox.Off(), "without the sandbox the checks reach every host: leave out the network targets, or use the sandbox")
	refuse(in.Policy == "", "no approval policy given: always, risky or never")
	refuse(in.Fixes() < 0, "the number of fixes is negative")
	refuse(in.Patches.Files < 0 || in.Patches.Bytes < 0, "a limit of the patches is negative")
	refuse(in.Candidates < 0 || in.Candidates > MaxCandidates || 1+len(in.Providers.Rivals) > MaxCandidates, "invalid number of attempts: want 1 to %d", MaxCandidates)
	if err := in.Naming.check(in.RunID, in.Name); err != nil {
		errs = append(errs, err)
	}
	if err := in.Options.Check(); err != nil {
		errs = append(errs, err)
	}
	for _, dir := range in.Options.Dirs {
		refuse(overlap(dir, in.Repository.Path), "agents change the repository only by patches: give them the directory %s read-only, or leave it out", dir)
	}
	refuse(in.Tell != "" && !sessionForm.MatchString(in.Tell), "session id %q: want 1 to 64 letters, digits, '-' and '_'", in.Tell)
	refuse(in.Session != "" && in.Tell != in.Session, "a run started by a session must report to that session")
	refuse(in.Session != "" && (in.Policy != Always || in.Tools == AllowTools || len(in.Options.Tools) > 0 || in.Network || in.Sandbox.Off()),
		"a run started by a session needs an approval for each patch and tool, the sandbox, and no network")
	if err := in.Before.check(in.RunID); err != nil {
		errs = append(errs, err)
	}
	refuse(in.MaxTokens < 0, "the token budget is negative")
	refuse(in.MaxCost < 0, "the cost budget is negative")
	for _, d := range []time.Duration{in.Timeouts.Provider, in.Timeouts.Check, in.Timeouts.Approval, in.Timeouts.Answer} {
		refuse(d < 0, "a time limit is negative: %v", d)
	}
	return errors.Join(errs...)
}

// overlap reports whether one of two absolute paths is in the other, or both are one.
func overlap(a, b string) bool {
	a, b = strings.TrimSuffix(a, "/")+"/", strings.TrimSuffix(b, "/")+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// OptionsOf returns the options that hold for a role.
func (in Input) OptionsOf(r Role) setup.Options {
	if r == Developer || r == Fixer {
		return in.Options
	}
	return in.Options.ForReader()
}

// OptionsBySpec returns the options that each provider has in the run, by its spec. A provider with several roles has the
// options of all. Without options it is empty.
func (in Input) OptionsBySpec() map[string]setup.Options {
	given := map[string]setup.Options{}
	for _, r := range Roles {
		spec, o := in.Providers.For(r), in.OptionsOf(r)
		if spec == "" || spec == NoPlanner || o.IsZero() || len(given[spec].Used()) > len(o.Used()) {
			continue
		}
		given[spec] = o
	}
	for _, rival := range in.Providers.Rivals {
		if !in.Options.IsZero() {
			given[rival] = in.OptionsOf(Developer)
		}
	}
	return given
}

// Specs returns the specs of all providers.
func (p Providers) Specs() []string {
	list := slices.Clone(p.Rivals)
	for _, r := range Roles {
		list = append(list, p.For(r))
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(spec string) bool { return spec == "" || spec == NoPlanner })
}
