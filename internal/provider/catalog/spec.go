// Package catalog knows the kinds of providers: it reads a spec such as command:./agent.py, checks before
// a run whether the provider can work, and opens it. A spec holds no secret, because it enters the
// workflow's history.
package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Kind is the kind of a provider: the part of a spec before its colon.
type Kind string

// The kinds.
const (
	Command   Kind = "command"
	Replay    Kind = "replay"
	Anthropic Kind = "anthropic"
	OpenAI    Kind = "openai"
	Claude    Kind = Kind(agent.Claude)
	Codex     Kind = Kind(agent.Codex)
	ACP       Kind = Kind(agent.ACP)
	OpenClaw  Kind = Kind(agent.OpenClaw)
	Pi        Kind = Kind(agent.Pi)
	None      Kind = run.NoPlanner // in the place of a planner
)

// agentKinds are the kinds behind which an agent works in a checkout.
var agentKinds = []Kind{Claude, Codex, ACP, OpenClaw, Pi}

// specForms lists the specs that Parse accepts.
const specForms = "command:<program and arguments>, replay:<directory>, anthropic:<model>, openai:<model>, " +
	"claude[:<model>], codex[:<model>], acp:<program and arguments>, openclaw, pi[:<model>]; for the planner also none"

// Spec names one provider. Parse makes it; the zero Spec names none.
type Spec struct {
	Kind  Kind
	Argv  []string // of a Command and of ACP: the program and its arguments
	Dir   string   // of a Replay: the directory of the answers
	Model string   // of a model API, and of Claude, Codex and Pi, where empty leaves it to the agent
}

// Agent reports whether an agent works behind the provider.
func (s Spec) Agent() bool { return slices.Contains(agentKinds, s.Kind) }

// SameAgent reports whether words for one of the providers are words for the other: the model may differ. ACP agents are
// the same by their whole command line, because the program may be one that starts any of them, such as npx.
func (s Spec) SameAgent(other Spec) bool {
	return s.Kind == other.Kind && (s.Kind != ACP || slices.Equal(s.Argv, other.Argv))
}

// Starts reports whether the provider starts a program on this machine. The gateway of OpenClaw runs
// already, and is not ours to hold.
func (s Spec) Starts() bool { return s.Kind == Command || s.Agent() && s.Kind != OpenClaw }

// Costs reports whether the provider's cost can be known: the provider computes it
// itself, or it has prices.
func (s Spec) Costs() bool {
	return s.Kind == Claude || s.Kind == ACP || s.Kind == Pi || s.Kind == Anthropic || s.Kind == OpenAI || s.Kind == Command
}

// Parse reads a spec. It splits the arguments of a command as a shell
// does, quotes included, and expands nothing.
func Parse(text string) (Spec, error) {
	name, rest, colon := strings.Cut(strings.TrimSpace(text), ":")
	s := Spec{Kind: Kind(name)}
	var err error
	switch s.Kind {
	case Command, ACP:
		s.Argv, err = splitArgv(s.Kind, rest)
	case Replay:
		if s.Dir = rest; rest == "" {
			err = errors.New("it names no directory: give replay:<directory>")
		}
	case Anthropic, OpenAI:
		if s.Model = rest; !setup.IsModelName(rest) {
			err = fmt.Errorf("it names no model: give %s:<model>", name)
		}
	case Claude, Codex, Pi:
		if s.Model = rest; colon && !setup.IsModelName(rest) {
			err = fmt.Errorf("it names no model: give %s:<model>, or %s alone for the agent's own choice", name, name)
		}
	case OpenClaw:
		if colon {
			err = errors.New("the gateway has its own model: give openclaw alone")
		}
	case None:
		if colon {
			err = errors.New("give none alone")
		}
	default:
		err = fmt.Errorf("no such kind of provider: use one of %s", specForms)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("provider %q: %w", text, err)
	}
	return s, nil
}

// splitArgv splits a command line.
func splitArgv(kind Kind, text string) ([]string, error) {
	argv, err := shellquote.Split(text)
	if err != nil {
		return nil, fmt.Errorf("split the command: %s", strings.ToLower(err.Error()))
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, fmt.Errorf("it names no program: give %s:<program and arguments>", kind)
	}
	return argv, nil
}

// String returns the spec in the form that Parse reads.
func (s Spec) String() string {
	rest := s.Model + s.Dir
	if len(s.Argv) > 0 {
		rest = shellquote.Join(s.Argv...)
	}
	if rest == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + ":" + rest
}
