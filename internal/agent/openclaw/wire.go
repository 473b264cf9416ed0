package openclaw

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Our identity for the gateway (CLIENT.md, 1). We are no
// administrator, which could widen the permissions of a session.
const (
	protocol   = 4
	clientID   = "cli"
	clientMode = "cli"
	role       = "operator"
)

var (
	scopes = []string{"operator.read", "operator.write", "operator.approvals"}
	caps   = []string{"tool-events", "exec-approvals", "approvals"}
)

// frame is an answer or an event of the gateway.
type frame struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	OK      bool            `json:"ok"`
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
	Error   *refusal        `json:"error"`
}

type request struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

type object map[string]any

type challenge struct {
	Nonce string `json:"nonce"`
	TS    int64  `json:"ts"`
}

// hello is the gateway's description of itself once it has accepted us.
type hello struct {
	Type   string `json:"type"`
	Server struct {
		Version string `json:"version"`
	} `json:"server"`
	Auth struct {
		Scopes []string `json:"scopes"`
	} `json:"auth"`
	Snapshot struct {
		Sessions struct {
			Agent string `json:"defaultAgentId"`
		} `json:"sessionDefaults"`
	} `json:"snapshot"`
	Policy struct {
		MaxPayload int64 `json:"maxPayload"`
		TickMs     int64 `json:"tickIntervalMs"`
	} `json:"policy"`
}

// missingScopes returns the scopes that we asked for and were not granted. A gateway
// that lists no scopes is taken to have granted all.
func (h hello) missingScopes() []string {
	if len(h.Auth.Scopes) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(h.Auth.Scopes, s) })
}

// defaultAgent returns the agent of the gateway that owns our sessions.
func (h hello) defaultAgent() string {
	if h.Snapshot.Sessions.Agent == "" {
		return "main"
	}
	return h.Snapshot.Sessions.Agent
}

// tickInterval returns the longest time between two frames of the gateway.
func (h hello) tickInterval() time.Duration {
	const usual = 30 * time.Second
	if h.Policy.TickMs <= 0 {
		return usual
	}
	return time.Duration(h.Policy.TickMs) * time.Millisecond
}

func connectParams(c challenge, token string, d device) object {
	return object{
		"minProtocol": protocol, "maxProtocol": protocol,
		"client": object{"id": clientID, "displayName": "Ratchet", "version": "1", "platform": runtime.GOOS, "mode": clientMode},
		"role":   role, "scopes": scopes, "caps": caps,
		"auth": object{"token": token}, "device": d.signChallenge(c, token),
	}
}

// chatEvent is a payload of the event "chat". Only this event reports the end of a
// turn. A run may end twice; the first end counts.
type chatEvent struct {
	Run        string          `json:"runId"`
	State      string          `json:"state"` // status, delta, final, aborted or error
	Phase      string          `json:"phase"`
	Retry      json.RawMessage `json:"retry"`
	Delta      string          `json:"deltaText"`
	Replace    bool            `json:"replace"` // Delta is the whole text so far
	Message    *message        `json:"message"` // the whole text so far
	StopReason string          `json:"stopReason"`
	trouble
}

// streamEvent is a payload of the event "agent".
type streamEvent struct {
	Run    string          `json:"runId"`
	Stream string          `json:"stream"`
	Data   json.RawMessage `json:"data"`
}

type toolEvent struct {
	Phase  string          `json:"phase"` // start, update or result
	Name   string          `json:"name"`
	Call   string          `json:"toolCallId"`
	Args   json.RawMessage `json:"args"`
	Error  bool            `json:"isError"`
	Result message         `json:"result"`
}

// approval is a payload of exec.approval.requested. Of exec.approval.resolved only
// the id is read.
type approval struct {
	ID      string `json:"id"`
	Request struct {
		Command string `json:"command"`
		Dir     string `json:"cwd"`
		Host    string `json:"host"`
		Warning string `json:"warningText"`
		Run     string `json:"runId"`
		Call    string `json:"toolCallId"`
		Session string `json:"sessionKey"`
	} `json:"request"`
	CreatedAtMs int64 `json:"createdAtMs"`
	ExpiresAtMs int64 `json:"expiresAtMs"`
}

// isFor reports whether the request belongs to a run in a session. A request that
// names no run belongs to every run.
func (a approval) isFor(session, run string) bool {
	return a.Request.Session == session && (a.Request.Run == "" || a.Request.Run == run)
}

// waitLimit returns how long the request waits: half an hour if it does not say.
func (a approval) waitLimit() time.Duration {
	if d := time.Duration(a.ExpiresAtMs-a.CreatedAtMs) * time.Millisecond; d > 0 {
		return d
	}
	return 30 * time.Minute
}

// message has content of parts, or a plain text.
type message struct {
	Content content `json:"content"`
}

type content []struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// UnmarshalJSON returns no error, because an error would end the decoding of the whole message.
func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	type parts content
	_ = json.Unmarshal(b, (*parts)(c)) // members of another type stay empty
	return nil
}

func (m message) plainText() string {
	var b strings.Builder
	for _, part := range m.Content {
		if part.Type == "text" {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}
