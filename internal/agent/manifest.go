package agent

import (
	"time"

	"github.com/ratchet-dev/ratchet/internal/setup"
)

// ManifestTimeout bounds the making of one Manifest, even if the agent hangs. A client in JavaScript says its version
// within a second on an idle machine, from a cold disk or on a busy machine within ten.
const ManifestTimeout = 15 * time.Second

// Manifest describes the agent that an adapter found (docs/contracts/agent.md, 5).
type Manifest struct {
	Kind        Kind   `json:"kind"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Installed   bool   `json:"installed"`
	// Unavailable is the reason why the agent cannot be used, including every
	// place that was searched; Models and Modes are empty then.
	Unavailable string `json:"unavailableReason,omitempty"`
	// Status is supported, degraded or unsupported; StatusReason says why.
	Status       Support      `json:"status"`
	StatusReason string       `json:"statusReason,omitempty"`
	Binary       string       `json:"binaryPath,omitempty"`
	Version      string       `json:"version,omitempty"`
	Models       []Model      `json:"models"`
	Modes        []Mode       `json:"modes"`
	Capabilities Capabilities `json:"capabilities"`
	// ModelsSource is "static", "runtime", "config" or "mixed".
	ModelsSource string `json:"modelsSource,omitempty"`
	// Box names the box that holds the agent's program and all that it starts when it works for a run,
	// such as "bwrap 0.8.0". It is empty where none does: Capabilities.Sandbox says what holds then.
	Box string `json:"box,omitempty"`
}

// Support says how well an adapter can work with the agent that it found.
type Support string

// The degrees of support.
const (
	Supported   Support = "supported"
	Degraded    Support = "degraded"
	Unsupported Support = "unsupported"
)

// Model is a model that the agent offers.
type Model struct {
	Code          string `json:"code"`
	Label         string `json:"label,omitempty"`
	Description   string `json:"description,omitempty"`
	ContextWindow int    `json:"contextWindow,omitempty"`
	Default       bool   `json:"default,omitempty"`
}

// Mode is a mode that the agent can be put into.
type Mode struct {
	Code        string `json:"code"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
	Default     bool   `json:"default,omitempty"`
}

// Capabilities say what an adapter can do with its agent.
type Capabilities struct {
	Permissions  bool `json:"permissionRequest"`
	SessionScope bool `json:"sessionScoped"` // AllowSession is more than Allow
	DenyReason   bool `json:"denyReason"`    // the model is told why
	Resume       bool `json:"resume"`
	Interrupt    bool `json:"interrupt"`
	Cost         bool `json:"cost"`
	// ContextUsage is "native", "estimated" or "none".
	ContextUsage string `json:"contextUsage"`
	// Sandbox is "os" if the kernel enforces it, "soft" if the agent's own rules
	// do, "none" if nothing does.
	Sandbox string `json:"sandbox"`
	// Network says that the sandbox can cut its tools off the network.
	Network bool `json:"networkControl"`
	// Options are the options that a person can give it.
	Options []setup.Option `json:"options,omitempty"`
}

// MissingManifest returns the manifest of an agent that is not there.
func MissingManifest(kind Kind, label, why string) Manifest {
	return Manifest{
		Kind: kind, Label: label, Unavailable: why, Status: Unsupported, StatusReason: why,
		Models: []Model{}, Modes: []Mode{}, Capabilities: Capabilities{ContextUsage: "none", Sandbox: "none"},
	}
}
