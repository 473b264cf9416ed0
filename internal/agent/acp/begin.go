package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// errMigration is the error of a start that lost the race for opencode's database.
var errMigration = errors.New("the agent's database was being set up")

// greeting is the answer to initialize.
type greeting struct {
	Version int `json:"protocolVersion"`
	Info    struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	Capabilities struct {
		Load    bool `json:"loadSession"`
		Session struct {
			Resume declared `json:"resume"`
			List   declared `json:"list"`
			Dirs   declared `json:"additionalDirectories"`
			System declared `json:"systemPrompt"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
}

// declared is true for a capability whose member is present.
type declared bool

// UnmarshalJSON takes every value except null and false for a declaration.
func (d *declared) UnmarshalJSON(b []byte) error {
	*d = string(b) != "null" && string(b) != "false"
	return nil
}

func (g greeting) agentName() string {
	if g.Info.Name == "" {
		return "the agent"
	}
	return g.Info.Name
}

// resumeMethod returns the request by which the agent resumes a session of an
// earlier process; it is empty if the agent cannot.
func (g greeting) resumeMethod() string {
	switch c := g.Capabilities; {
	case habitsOf(g.Info.Name).forgets:
		return ""
	case c.Load:
		return sdk.AgentMethodSessionLoad
	case bool(c.Session.Resume):
		return sdk.AgentMethodSessionResume
	}
	return ""
}

// sendInitialize opens the conversation.
func (s *session) sendInitialize(ctx context.Context) (greeting, error) {
	g, err := callAgent[greeting](ctx, s.wire, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "ratchet", Version: "1"},
	})
	if err == nil && g.Version != sdk.ProtocolVersionNumber {
		err = newError(failure.BadRequest, false, fmt.Sprintf("%s speaks version %d of the protocol, not %d", g.agentName(), g.Version, sdk.ProtocolVersionNumber))
	}
	s.habits = habitsOf(g.Info.Name)
	return g, err
}

// openSession prepares the session until it takes input.
func (s *session) openSession(ctx context.Context, o agent.Options) (offer, error) {
	g, err := s.sendInitialize(ctx)
	if err != nil {
		return offer{}, err
	}
	offered, err := s.requestSession(ctx, g, o)
	if err != nil {
		return offer{}, err
	}
	choice, boxed := o.Choice(), offered.modeForSandbox(o.Sandbox, s.habits)
	s.unchosen = agent.Choice{Model: offered.modelMenu().current, Mode: cmp.Or(boxed, offered.modeMenu().current)}
	if s.readOnly || choice.Mode == "" { // no choice loosens a read-only session
		choice.Mode = boxed
	}
	if err := s.chooseValue(ctx, offered.modelMenu(), choice.Model); err != nil {
		return offer{}, err
	}
	return offered, s.chooseValue(ctx, offered.modeMenu(), choice.Mode)
}

// sessionRequest is the request that begins or resumes a session.
type sessionRequest struct {
	SessionID string        `json:"sessionId,omitempty"`
	Dir       string        `json:"cwd"`
	Dirs      []string      `json:"additionalDirectories,omitempty"`
	System    *systemPrompt `json:"systemPrompt,omitempty"`
	MCP       []server      `json:"mcpServers"`
	Meta      any           `json:"_meta,omitempty"`
}

// server is an MCP server that the agent starts, in the form that every agent takes.
type server struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []variable `json:"env"`
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// serversOf returns the servers, sorted by their names.
func serversOf(all map[string]setup.Server) []server {
	servers := make([]server, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := server{name, all[name].Command, all[name].Args, []variable{}}
		for _, v := range slices.Sorted(maps.Keys(all[name].Env)) {
			s.Env = append(s.Env, variable{v, all[name].Env[v]})
		}
		servers = append(servers, s)
	}
	return servers
}

// systemPrompt is a text that joins the agent's system prompt.
type systemPrompt struct {
	Mode    string             `json:"mode"`
	Content []sdk.ContentBlock `json:"content"`
}

func (s *session) requestSession(ctx context.Context, g greeting, o agent.Options) (offer, error) {
	method, e := sdk.AgentMethodSessionNew, sessionRequest{SessionID: o.Resume, Dir: o.Dir, MCP: serversOf(o.Servers), Meta: s.habits.meta}
	e.Dirs = slices.Concat(o.Dirs, o.ReadDirs)
	if len(e.Dirs) > 0 && !bool(g.Capabilities.Session.Dirs) {
		return offer{}, newError(failure.BadRequest, false, g.agentName()+" does not support further directories")
	}
	joins := bool(g.Capabilities.Session.System)
	if o.System != "" && joins {
		e.System = &systemPrompt{Mode: "append", Content: []sdk.ContentBlock{sdk.TextBlock(o.System)}}
	}
	if o.Resume != "" {
		if method = g.resumeMethod(); method == "" {
			return offer{}, fmt.Errorf("%w: %s cannot continue a session of another process", agent.ErrNoSession, g.agentName())
		}
	}
	offered, err := callAgent[offer](ctx, s.wire, method, e)
	if err != nil && o.Resume != "" && s.lacksSession(ctx, g, e, err) {
		err = agent.ErrNoSession
	}
	if err == nil && o.Resume == "" && offered.SessionID == "" {
		err = newError(failure.BadRequest, false, g.agentName()+" named no session")
	}
	if err != nil {
		return offer{}, err
	}
	s.acceptSession(o.Resume, offered.SessionID)
	if !joins {
		s.setPreface(o.System, method)
	}
	return offered, nil
}

// setPreface puts a system prompt that cannot join the agent's before the first message of the session. A session that was
// resumed has had that message, unless session/load repeated none: then an earlier process ended before it.
func (s *session) setPreface(system, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == sdk.AgentMethodSessionNew || method == sdk.AgentMethodSessionLoad && !s.storied {
		s.preface = system
	}
}

const (
	notFound = -32002 // the protocol's code for something that the agent does not know
	maxPages = 100    // of a list of sessions
)

// lacksSession reports whether err means that the agent has no such session. It
// asks agents that answer with an internal error for their sessions.
func (s *session) lacksSession(ctx context.Context, g greeting, e sessionRequest, err error) bool {
	said, ok := errors.AsType[*sdk.RequestError](err)
	switch {
	case !ok:
		return false
	case said.Code == notFound:
		return true
	case !bool(g.Capabilities.Session.List):
		return false
	}
	type page struct {
		Sessions []struct {
			ID string `json:"sessionId"`
		} `json:"sessions"`
		Next string `json:"nextCursor"`
	}
	list := sdk.ListSessionsRequest{Cwd: &e.Dir}
	for range maxPages {
		p, err := callAgent[page](ctx, s.wire, sdk.AgentMethodSessionList, list)
		if err != nil {
			return false
		}
		for _, known := range p.Sessions {
			if known.ID == e.SessionID {
				return false
			}
		}
		if p.Next == "" {
			return true
		}
		list.Cursor = &p.Next
	}
	return false
}

// abandonStart ends a session whose start failed, and returns the error of it.
func (s *session) abandonStart(err error) error {
	defer s.events.Drop()
	if _, ok := errors.AsType[*sdk.RequestError](err); ok {
		err = classifyError(err)
	}
	if errors.Is(err, errOver) {
		err = s.exitError()
	}
	s.child.End()
	<-s.wire.conn.Done()
	return err
}

// exitError returns the error of a program that ended before or during its start.
func (s *session) exitError() error {
	s.waitForExit()
	exit, ended := s.child.Exit()
	if strings.Contains(exit.Stderr, "CREATE TABLE workspace") {
		return errMigration
	}
	text := fmt.Sprintf("the agent ended with exit code %d", exit.Code)
	switch {
	case s.wire.failureCause() != nil && !ended:
		text = s.wire.failureCause().Error()
	case !ended:
		text = errSilent.Error()
	case exit.Signal != "":
		text = "the agent was ended by " + exit.Signal
	}
	return newError(failure.Unknown, true, strings.TrimSuffix(text+": "+s.child.Stderr(), ": "))
}

// exitTime is the time in which a program that closed its input or its output
// has to end by itself.
const exitTime = 2 * time.Second

// waitForExit waits for a program that seems to be ending, and reports whether it
// has ended.
func (s *session) waitForExit() bool {
	ctx, cancel := context.WithTimeout(context.Background(), exitTime)
	defer cancel()
	return s.child.WaitForEnd(ctx)
}
