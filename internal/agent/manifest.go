package agent

import "time"

// ManifestTimeout bounds the making of one Manifest, whatever hangs.
const ManifestTimeout = 4 * time.Second

// Manifest says what one adapter found (docs/contracts/agent.md, 5).
type Manifest struct {
	Kind        Kind   `json:"kind"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Installed   bool   `json:"installed"`
	// Unavailable is why it cannot be used, every place looked at included;
	// Models and Modes are empty then.
	Unavailable string `json:"unavailableReason,omitempty"`
	// Status is supported, degraded or unsupported, for a reason.
	Status       Support      `json:"status"`
	StatusReason string       `json:"statusReason,omitempty"`
	Binary       string       `json:"binaryPath,omitempty"`
	Version      string       `json:"version,omitempty"`
	Models       []Model      `json:"models"`
	Modes        []Mode       `json:"modes"`
	Capabilities Capabilities `json:"capabilities"`
	// ModelsSource is static, runtime, config or mixed.
	ModelsSource string `json:"modelsSource,omitempty"`
}

// Support says how well an adapter can work with what it found.
type Support string

// The degrees of support.
const (
	Supported   Support = "supported"
	Degraded    Support = "degraded"
	Unsupported Support = "unsupported"
)

// Model is one that the agent offers.
type Model struct {
	Code          string `json:"code"`
	Label         string `json:"label,omitempty"`
	Description   string `json:"description,omitempty"`
	ContextWindow int    `json:"contextWindow,omitempty"`
	Default       bool   `json:"default,omitempty"`
}

// Mode is one that the agent can be put into.
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
	DenyReason   bool `json:"denyReason"`    // the model hears why
	Resume       bool `json:"resume"`
	Interrupt    bool `json:"interrupt"`
	Cost         bool `json:"cost"`
	// ContextUsage is native, estimated or none.
	ContextUsage string `json:"contextUsage"`
	// Sandbox is os where the kernel holds it, soft where the agent's own rules
	// do, none where nothing does.
	Sandbox string `json:"sandbox"`
	// Network says that the sandbox can cut its tools off the network.
	Network bool `json:"networkControl"`
}

// Missing is the manifest of an agent that is not there.
func Missing(kind Kind, label, why string) Manifest {
	return Manifest{
		Kind: kind, Label: label, Unavailable: why, Status: Unsupported, StatusReason: why,
		Models: []Model{}, Modes: []Mode{}, Capabilities: Capabilities{ContextUsage: "none", Sandbox: "none"},
	}
}
