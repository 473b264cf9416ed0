package codex

import (
	"encoding/json"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/delivery"
)

// allowsOf returns what a thread's tools may do (docs/contracts/delivery.md, 6); nil if the client does not say by which
// policy it asks. The client's answer counts where the client keeps the sandbox. In a box it keeps none, and says so:
// there the bound is the box, which holds what it was asked to hold. An answer that names another sandbox than the one
// that was asked for is refused before; see checkBounds.
func (a threadAnswer) allowsOf(o agent.Options, box child.Sandbox) *delivery.Allows {
	var policy string
	if json.Unmarshal(a.Policy, &policy) != nil || a.Sandbox.Type == "" {
		return nil
	}
	allows := delivery.Allows{Approval: policy != "never"}
	if box.Held() {
		allows.Network = o.Network || len(box.Network) > 0
		allows.Write = o.Sandbox != agent.ReadOnly || len(o.Dirs) > 0
	} else {
		walled := a.Sandbox.Type == "readOnly" || a.Sandbox.Type == "workspaceWrite"
		network := string(a.Sandbox.Network)
		allows.Network = !walled || network != "" && network != "false" || o.Network // by which web search is on
		allows.Write = a.Sandbox.Type != "readOnly"
	}
	if o.UserServers || !box.Held() && len(o.Servers) > 0 { // they run where the client does, and act in the user's name
		allows.Network, allows.Write = true, true
	}
	return &allows
}

// triedVersion is the version of the client with which the trials of delivery_real_test.go were run: steers into turns
// that run, and steers around the end of a turn. A client of another version is not proved to take steers.
const triedVersion = "0.169."

// Capabilities implements agent.Watched.
func (s *session) Capabilities() delivery.Capabilities {
	s.mu.Lock()
	tried, keeps := strings.HasPrefix(s.version, triedVersion), s.keepsAnswers
	s.mu.Unlock()
	return delivery.Capabilities{
		ThreadStart: true, ThreadResume: true, TurnStart: true, CurrentStateSync: true, TurnCompleted: true, NegativeEnds: true,
		Steer: delivery.SteerProof{SameTurn: true, Reconciles: true, Ordered: true, Smoke: tried, KeepsAnswers: keeps},
	}
}

// versionOf returns the version in the client's answer to initialize; empty if there is none. The client names itself
// after us, as in "ratchet/0.169.0 (Debian 12.0.0; x86_64)".
func versionOf(initialized json.RawMessage) string {
	var answer struct {
		UserAgent string `json:"userAgent"`
	}
	_ = json.Unmarshal(initialized, &answer)
	_, rest, _ := strings.Cut(answer.UserAgent, "/")
	version, _, _ := strings.Cut(rest, " ")
	return version
}
