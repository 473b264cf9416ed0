package run

import (
	"cmp"
	"fmt"

	"github.com/ratchet-dev/ratchet/internal/exact"
)

// Sandbox says whether the programs of a run work in the box: its checks, its
// `command:` providers and its agents.
type Sandbox string

// The policies for the box. The empty policy means SandboxRequired.
const (
	SandboxRequired Sandbox = "required"
	SandboxOff      Sandbox = "off"
)

func (b *Sandbox) UnmarshalText(text []byte) error {
	return exact.Word(b, text, "sandbox policy", SandboxRequired, SandboxOff)
}

// Off reports whether the programs run without the box. Every word except
// SandboxOff means that they do not.
func (b Sandbox) Off() bool { return b == SandboxOff }

// WithDefault returns the policy, or SandboxRequired in place of the empty policy.
func (b Sandbox) WithDefault() Sandbox { return cmp.Or(b, SandboxRequired) }

// Unboxed is the text that every gate of a run without the box shows.
const Unboxed = "the checks of this run have no sandbox"

// CodeSandbox is the code of a problem with the box: what the run wants to start
// must be held by it, and the worker has none, or only one of the two says off.
const CodeSandbox = "SANDBOX"

// SandboxQuestion returns the question about a step that was not begun because of
// the box.
func SandboxQuestion(phase Phase, p Problem) Question {
	return Question{
		Question: fmt.Sprintf("The phase %s could not start: %s. How should the run continue?", phase, p.Message),
		Reason:   p.Code,
		NeededInput: []string{
			"fix this, then answer with any text: the same phase starts again",
			"or cancel the run: it cannot continue without the sandbox",
		},
	}
}
