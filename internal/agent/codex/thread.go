package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/ratchet-dev/ratchet/internal/agent"
)

// sandboxModes holds the client's names for our sandboxes, and sandboxTypes the
// names that its answer uses.
var (
	sandboxModes = map[agent.Sandbox]string{
		agent.ReadOnly: "read-only", agent.WorkspaceWrite: "workspace-write", agent.FullAccess: "danger-full-access",
	}
	sandboxTypes = map[agent.Sandbox]string{
		agent.ReadOnly: "readOnly", agent.WorkspaceWrite: "workspaceWrite", agent.FullAccess: "dangerFullAccess",
	}
	// sandboxOrder orders the sandboxes from the narrowest to the widest.
	sandboxOrder = []agent.Sandbox{agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess}
)

// checkMode refuses a mode that is none of our sandboxes, and one that is wider than the sandbox.
func checkMode(o agent.Options) error {
	mode := agent.Sandbox(o.Choice().Mode)
	at := slices.Index(sandboxOrder, mode)
	switch {
	case mode == "":
		return nil
	case at < 0:
		return badRequest("unknown mode %q: choose one of read-only, workspace-write, full-access", mode)
	case at > slices.Index(sandboxOrder, o.Sandbox):
		return badRequest("mode %s is wider than the sandbox %s", mode, o.Sandbox)
	}
	return nil
}

// sandboxOf returns the sandbox of a start. A mode can narrow it and never widens
// it; see checkMode.
func sandboxOf(o agent.Options) agent.Sandbox {
	chosen := agent.Sandbox(o.Choice().Mode)
	if i := slices.Index(sandboxOrder, chosen); i >= 0 && i < slices.Index(sandboxOrder, o.Sandbox) {
		return chosen
	}
	return o.Sandbox
}

// clientSandbox returns the sandbox that the client itself has to keep.
func clientSandbox(o agent.Options, boxed bool) agent.Sandbox {
	if boxed {
		return agent.FullAccess
	}
	return sandboxOf(o)
}

// turnSandbox returns the policy of a turn in a box, where the client keeps no sandbox of its own.
func turnSandbox(network bool) object {
	if network {
		return object{"type": "externalSandbox", "networkAccess": "enabled"}
	}
	return object{"type": "externalSandbox", "networkAccess": "restricted"}
}

// approvalPolicy says when the client asks for a permission. With "on-request" it
// asks for actions outside of the sandbox, for patches of files that the sandbox
// protects, for the tools of MCP servers and for commands that it finds
// dangerous; everything else is free within the sandbox. "untrusted" asks even
// for ls (CLIENT.md, 1, fact 12). "never" refuses instead of
// asking, tools of MCP servers included.
//
// In a box the client asks for nothing by "on-request", because it keeps no sandbox of its own. There it
// has "untrusted", and the session itself lets the commands pass that a sandbox would hold.
func approvalPolicy(s agent.Sandbox, boxed bool) string {
	switch {
	case s == agent.ReadOnly:
		return "never"
	case boxed && s == agent.WorkspaceWrite:
		return "untrusted"
	}
	return "on-request"
}

// threadParams begin or resume a thread. Everything that bounds the agent is set
// each time: a resume does not restore the sandbox (CLIENT.md, 1,
// point 10).
type threadParams struct {
	ThreadID     string `json:"threadId,omitempty"`
	ExcludeTurns bool   `json:"excludeTurns,omitempty"`
	Dir          string `json:"cwd"`
	Policy       string `json:"approvalPolicy"`
	Reviewer     string `json:"approvalsReviewer"`
	Sandbox      string `json:"sandbox"`
	Model        string `json:"model,omitempty"`
	Instructions string `json:"developerInstructions,omitempty"`
	Config       object `json:"config"`
}

// newThreadParams returns the parameters of a session. The client's own sandbox does not start inside of
// a box: there it is off, and each turn says that another one holds; see turnSandbox.
func newThreadParams(o agent.Options, env []string, boxed bool) threadParams {
	return threadParams{
		ThreadID: o.Resume, ExcludeTurns: o.Resume != "", Dir: o.Dir,
		Policy: approvalPolicy(sandboxOf(o), boxed), Reviewer: "user", Sandbox: sandboxModes[clientSandbox(o, boxed)],
		Model: o.Choice().Model, Instructions: developerInstructions(o), Config: threadConfig(o, env),
	}
}

// sendInitialize performs the handshake that each connection begins with. It returns the client's version.
func (w *conn) sendInitialize(ctx context.Context) (version string, err error) {
	params := object{"clientInfo": object{"name": "ratchet", "title": "Ratchet", "version": "1"}, "capabilities": nil}
	err = w.callServer(ctx, "initialize", params, func(answer json.RawMessage) error {
		version = versionOf(answer)
		return nil
	})
	if err != nil {
		return "", err
	}
	return version, w.sendObject(object{"method": "initialized"})
}

// threadAnswer is the client's answer to threadParams.
type threadAnswer struct {
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
	ThreadID string          `json:"threadId"`
	Model    string          `json:"model"`
	Policy   json.RawMessage `json:"approvalPolicy"`
	Sandbox  struct {
		Type    string          `json:"type"`
		Network json.RawMessage `json:"networkAccess"`
	} `json:"sandbox"`
}

// openThread brings a new client to its thread.
func (s *session) openThread(ctx context.Context, o agent.Options, env []string) error {
	params := newThreadParams(o, env, s.box.Held())
	version, err := s.conn.sendInitialize(ctx)
	if err != nil {
		return err
	}
	config, err := s.conn.readConfig(ctx)
	if err != nil {
		return err
	}
	if !o.UserServers {
		config.disableServers(params.Config)
	}
	method := "thread/start"
	if o.Resume != "" {
		method = "thread/resume"
	}
	s.mu.Lock()
	s.version, s.keepsAnswers = version, config.Features.InstantInterrupt != nil && !*config.Features.InstantInterrupt
	s.mu.Unlock()
	return s.conn.callServer(ctx, method, params, func(result json.RawMessage) error { return s.adoptThread(o, result) })
}

// adoptThread takes the thread of the client's answer. If the answer names no id,
// the id is never taken from the request (CLIENT.md, 11).
func (s *session) adoptThread(o agent.Options, result json.RawMessage) error {
	var answer threadAnswer
	if err := json.Unmarshal(result, &answer); err != nil {
		return badRequest("unexpected answer of codex about its new thread, %.80q: %v", result, err)
	}
	id := cmp.Or(answer.Thread.ID, answer.ThreadID)
	if id == "" {
		return badRequest("codex started a thread without naming it")
	}
	if err := answer.checkBounds(o, s.box.Held()); err != nil {
		return err
	}
	s.mu.Lock()
	s.model = answer.Model
	s.mu.Unlock()
	s.nameThread(id, o.Resume != "")
	s.setAllows(answer.allowsOf(o, s.box))
	return nil
}

// checkBounds returns an error if the answer shows other bounds than those that
// were asked for.
func (a threadAnswer) checkBounds(o agent.Options, boxed bool) error {
	want := sandboxOf(o)
	if got, own := a.Sandbox.Type, clientSandbox(o, boxed); got != "" && got != sandboxTypes[own] {
		return badRequest("codex runs with the sandbox %s instead of %s", got, own)
	}
	if string(a.Sandbox.Network) == "true" && !o.Network {
		return badRequest("codex lets its tools reach the network, which was not requested")
	}
	if got := string(a.Policy); got != "" && got != strconv.Quote(approvalPolicy(want, boxed)) {
		return badRequest("codex asks for permissions with the policy %s instead of %s", got, approvalPolicy(want, boxed))
	}
	return nil
}

// resumeRefusals are the texts of a client that knows no such thread
// (CLIENT.md, 4). An id that is not in its form is an invalid
// session id.
var resumeRefusals = []string{"no rollout found", "thread not found", "invalid session id"}

func isUnknownThread(e *rpcError) bool {
	return e.Code == invalidRequest && slices.ContainsFunc(resumeRefusals, e.says)
}
