// Package catalog knows the kinds of providers: it reads a spec such as command:./agent.py, checks before
// a run whether the provider can work, and opens it. A spec holds no secret, because it enters the
// workflow's history.
package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

// Kind is the kind of a provider.
type Kind = setup.Kind

// specForms lists the specs that Parse accepts.
func specForms() string {
	var forms []string
	for _, t := range setup.Kinds(func(t setup.Traits) bool { return t.Kind != setup.None }) {
		forms = append(forms, t.Form())
	}
	return strings.Join(forms, ", ") + "; for the planner also none"
}

// Spec names one provider. Parse makes it; the zero Spec names none.
type Spec struct {
	Kind  Kind
	Argv  []string // the program and its arguments
	Dir   string   // of recorded answers
	Model string   // of a model API or an agent; empty leaves it to the agent
}

// Agent reports whether an agent works behind the provider.
func (s Spec) Agent() bool { return s.Kind.Traits().Agent }

// SameAgent reports whether words for one of the providers are words for the other: the model may differ. ACP agents are
// the same by their whole command line, because the program may be one that starts any of them, such as npx.
func (s Spec) SameAgent(other Spec) bool {
	return s.Kind == other.Kind && (s.Kind != setup.ACP || slices.Equal(s.Argv, other.Argv))
}

// Starts reports whether the provider starts a program on this machine. A gateway runs already, and is not ours to hold.
func (s Spec) Starts() bool { return s.Kind == setup.Command || s.Agent() && !s.Kind.Traits().Gateway }

// Costs reports whether the provider's cost can be known: the provider computes it
// itself, or it has prices.
func (s Spec) Costs() bool { return s.Kind.Traits().Costs }

// Parse reads a spec. It splits the arguments of a command as a shell
// does, quotes included, and expands nothing.
func Parse(text string) (Spec, error) {
	name, rest, colon := strings.Cut(strings.TrimSpace(text), ":")
	s := Spec{Kind: Kind(name)}
	about := s.Kind.Traits()
	var err error
	switch {
	case about.Kind == "":
		err = fmt.Errorf("unknown kind of provider: use one of %s", specForms())
	case about.Rest == setup.Argv:
		s.Argv, err = splitArgv(s.Kind, rest)
	case about.Rest == setup.Dir:
		if s.Dir = rest; rest == "" {
			err = fmt.Errorf("no directory given: use %s", about.Form())
		}
	case about.Rest == setup.Model:
		if s.Model = rest; !setup.IsModelName(rest) {
			err = fmt.Errorf("no model given: use %s", about.Form())
		}
	case about.Rest == setup.AnyModel:
		if s.Model = rest; colon && !setup.IsModelName(rest) {
			err = fmt.Errorf("no model given: use %s:<model>, or only %s for the agent's own choice", name, name)
		}
	case colon:
		err = fmt.Errorf("it has no choice of model: use only %s", name)
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
		return nil, fmt.Errorf("no program given: use %s", kind.Traits().Form())
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
