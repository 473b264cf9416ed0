package openclaw

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"time"
)

// What we are to the gateway (docs/contracts/openclaw.md, 1). No administrator: it could
// widen what a session may do.
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

// frame is what the gateway sends: an answer, or an event.
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

// hello is what the gateway says of itself once it has let us in.
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

// lacks are the scopes that we asked for and do not have. A gateway that says
// nothing of them is believed.
func (h hello) lacks() []string {
	if len(h.Auth.Scopes) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(h.Auth.Scopes, s) })
}

// agent is the one whose sessions ours become.
func (h hello) agent() string {
	if h.Snapshot.Sessions.Agent == "" {
		return "main"
	}
	return h.Snapshot.Sessions.Agent
}

// tick is the interval at which the gateway makes itself heard at least.
func (h hello) tick() time.Duration {
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
		"auth": object{"token": token}, "device": d.prove(c, token),
	}
}

// chatEvent is a payload of the event chat. The end of a turn is told here and
// nowhere else; a run may be ended twice over, of which the first counts.
type chatEvent struct {
	Run        string          `json:"runId"`
	State      string          `json:"state"` // status, delta, final, aborted or error
	Phase      string          `json:"phase"`
	Retry      json.RawMessage `json:"retry"`
	Delta      string          `json:"deltaText"`
	Replace    bool            `json:"replace"` // Delta is all there is so far
	Message    *message        `json:"message"` // all there is so far
	StopReason string          `json:"stopReason"`
	trouble
}

// streamEvent is a payload of the event agent.
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

// approval is a payload of exec.approval.requested, and of resolved as far as
// its id.
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

// of says whether the request is one of a run in a session, as far as it names
// the run.
func (a approval) of(session, run string) bool {
	return a.Request.Session == session && (a.Request.Run == "" || a.Request.Run == run)
}

// life is how long the request waits: half an hour where it does not say.
func (a approval) life() time.Duration {
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

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	type parts content
	return json.Unmarshal(b, (*parts)(c))
}

func (m message) text() string {
	var b strings.Builder
	for _, part := range m.Content {
		if part.Type == "text" {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}
