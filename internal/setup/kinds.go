package setup

import (
	"slices"
	"strings"
)

// Kind is the kind of a provider: the part of a spec before its colon.
type Kind string

// The kinds.
const (
	Command   Kind = "command"
	Replay    Kind = "replay"
	Anthropic Kind = "anthropic"
	OpenAI    Kind = "openai"
	Claude    Kind = "claude"
	Codex     Kind = "codex"
	ACP       Kind = "acp"
	OpenClaw  Kind = "openclaw"
	Pi        Kind = "pi"
	None      Kind = "none" // in the place of a planner
)

// Traits are what others must know of a kind. Everything else is known to its own package alone, and to the registry in
// package catalog. Workflows read the traits.
type Traits struct {
	Kind Kind
	// Label names the kind for people.
	Label string
	// Agent says that an agent works behind the kind, in a checkout and in sessions of its own.
	Agent bool
	// Gateway says that the agent runs by itself, and not in our sandbox.
	Gateway bool
	// Rest says what follows the kind in a spec.
	Rest Rest
	// Options are the options that the client supports (docs/contracts/agent.md, 7). MaxTemperature is the highest
	// temperature that it accepts; zero: the general maximum.
	Options        []Option
	MaxTemperature float64
	// Costs says that the cost of the work can be known.
	Costs bool
	// TellsReason says that agents of the kind explain to their model why a person has refused a tool. The protocols of the
	// others have no place for it.
	TellsReason bool
	// Deliveries says that sessions with agents of the kind can take deliveries. The others can prove nothing of what
	// their threads do.
	Deliveries bool
	// Foreign is why the settings of a repository may not choose the kind; empty: they may.
	Foreign string
}

// Rest is what follows the kind in a spec.
type Rest string

// The rests.
const (
	Nothing  Rest = ""
	Model    Rest = ":<model>"
	AnyModel Rest = "[:<model>]" // without one the agent chooses
	Argv     Rest = ":<program and arguments>"
	Dir      Rest = ":<directory>"
)

const ownProgram = "runs any program as the provider"

// registry holds every kind.
var registry = []Traits{
	{Kind: Command, Label: "a program", Rest: Argv, Options: modelOptions, Costs: true, Foreign: ownProgram},
	{Kind: Replay, Label: "recorded answers", Rest: Dir, Costs: true, Foreign: "takes answers from any directory"},
	{Kind: Anthropic, Label: "the API of Anthropic", Rest: Model, Options: modelOptions, MaxTemperature: 1, Costs: true},
	{Kind: OpenAI, Label: "the API of OpenAI", Rest: Model, Options: modelOptions, Costs: true},
	{
		Kind: Claude, Label: "Claude Code", Agent: true, Rest: AnyModel, Costs: true, TellsReason: true, Deliveries: true,
		Options: []Option{ModeOption, SystemOption, DirsOption, ToolsOption, NoToolsOption, ServersOption, OutputOption, EnvOption},
	},
	{
		Kind: Codex, Label: "Codex", Agent: true, Rest: AnyModel, Deliveries: true,
		Options: []Option{ModeOption, SystemOption, DirsOption, ServersOption, EnvOption},
	},
	{
		Kind: ACP, Label: "an agent of ACP", Agent: true, Rest: Argv, Costs: true,
		// The agent alone decides which tools it asks about, so none can be taken from it.
		Options: []Option{ModeOption, SystemOption, DirsOption, ToolsOption, ServersOption, EnvOption},
		Foreign: "runs any program, or an agent that obeys the repository's own settings",
	},
	{
		Kind: OpenClaw, Label: "OpenClaw gateway", Agent: true, Gateway: true, Options: []Option{ModeOption, SystemOption},
		Foreign: "uses a gateway outside of the sandbox",
	},
	{
		Kind: Pi, Label: "pi", Agent: true, Rest: AnyModel, Costs: true, TellsReason: true, Deliveries: true,
		Options: []Option{SystemOption, DirsOption, ToolsOption, NoToolsOption, EnvOption},
	},
	{Kind: None, Label: "no planner", Foreign: ownProgram},
}

var modelOptions = []Option{OutputOption, TemperatureOption}

// Traits returns the traits of the kind. Those of a kind that does not exist have no name.
func (k Kind) Traits() Traits {
	i := slices.IndexFunc(registry, func(t Traits) bool { return t.Kind == k })
	if i < 0 {
		return Traits{Foreign: ownProgram}
	}
	return registry[i]
}

// Supports reports whether the option reaches the client of the kind.
func (k Kind) Supports(o Option) bool { return slices.Contains(k.Traits().Options, o) }

// Form returns the form of the kind's specs, such as claude[:<model>].
func (t Traits) Form() string { return string(t.Kind) + string(t.Rest) }

// Kinds returns the traits of the kinds of which is is true, in their order.
func Kinds(is func(Traits) bool) []Traits {
	return slices.DeleteFunc(slices.Clone(registry), func(t Traits) bool { return !is(t) })
}

// ListKinds names the kinds of which is is true, in words such as "claude, codex and pi".
func ListKinds(is func(Traits) bool, join string) string {
	var names []string
	for _, t := range Kinds(is) {
		names = append(names, string(t.Kind))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + join + " " + names[last]
}
