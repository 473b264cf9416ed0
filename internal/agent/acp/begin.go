package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// errMigration is the start that lost the race for opencode's database.
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

// declared is a capability that is there when its member is.
type declared bool

// UnmarshalJSON takes what is neither null nor false for a declaration.
func (d *declared) UnmarshalJSON(b []byte) error {
	*d = string(b) != "null" && string(b) != "false"
	return nil
}

func (g greeting) name() string {
	if g.Info.Name == "" {
		return "the agent"
	}
	return g.Info.Name
}

// resumes is the request by which the agent goes on with a session of an
// earlier process; empty when it cannot.
func (g greeting) resumes() string {
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

// greet opens the conversation.
func (s *session) greet(ctx context.Context) (greeting, error) {
	g, err := call[greeting](ctx, s.wire, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "ratchet", Version: "1"},
	})
	if err == nil && g.Version != sdk.ProtocolVersionNumber {
		err = failure(provider.BadRequest, false, fmt.Sprintf("%s speaks version %d of the protocol, not %d", g.name(), g.Version, sdk.ProtocolVersionNumber))
	}
	s.habits = habitsOf(g.Info.Name)
	return g, err
}

// begin brings the session to where it takes input.
func (s *session) begin(ctx context.Context, o agent.Options) (offer, error) {
	g, err := s.greet(ctx)
	if err != nil {
		return offer{}, err
	}
	offered, err := s.enter(ctx, g, o)
	if err != nil {
		return offer{}, err
	}
	choice := o.Choice()
	if s.readOnly || choice.Mode == "" { // no choice loosens a session that only reads
		choice.Mode = offered.mode(o.Sandbox, s.habits)
	}
	if err := s.choose(ctx, offered.models(), choice.Model); err != nil {
		return offer{}, err
	}
	return offered, s.choose(ctx, offered.modes(), choice.Mode)
}

// entry is the request that opens a session or goes on with one.
type entry struct {
	SessionID string     `json:"sessionId,omitempty"`
	Dir       string     `json:"cwd"`
	Dirs      []string   `json:"additionalDirectories,omitempty"`
	System    *system    `json:"systemPrompt,omitempty"`
	MCP       []struct{} `json:"mcpServers"`
	Meta      any        `json:"_meta,omitempty"`
}

// system joins the agent's system prompt.
type system struct {
	Mode    string             `json:"mode"`
	Content []sdk.ContentBlock `json:"content"`
}

func (s *session) enter(ctx context.Context, g greeting, o agent.Options) (offer, error) {
	method, e := sdk.AgentMethodSessionNew, entry{SessionID: o.Resume, Dir: o.Dir, MCP: []struct{}{}, Meta: s.habits.meta}
	if g.Capabilities.Session.Dirs {
		e.Dirs = o.Dirs
	}
	switch {
	case o.System == "":
	case bool(g.Capabilities.Session.System):
		e.System = &system{Mode: "append", Content: []sdk.ContentBlock{sdk.TextBlock(o.System)}}
	case o.Resume == "": // where it cannot join, it goes before the first message
		s.preface = o.System
	}
	if o.Resume != "" {
		if method = g.resumes(); method == "" {
			return offer{}, fmt.Errorf("%w: %s does not go on with a session of another process", agent.ErrNoSession, g.name())
		}
	}
	offered, err := call[offer](ctx, s.wire, method, e)
	if err != nil && o.Resume != "" && s.unknown(ctx, g, e, err) {
		err = agent.ErrNoSession
	}
	if err == nil && o.Resume == "" && offered.SessionID == "" {
		err = failure(provider.BadRequest, false, g.name()+" named no session")
	}
	if err != nil {
		return offer{}, err
	}
	s.enterAs(o.Resume, offered.SessionID)
	return offered, nil
}

const (
	notFound = -32002 // the code of the protocol for what the agent does not know
	maxPages = 100    // of a list of sessions
)

// unknown says whether err means that the agent has no such session. Agents
// that answer with an internal error are asked for their sessions.
func (s *session) unknown(ctx context.Context, g greeting, e entry, err error) bool {
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
		p, err := call[page](ctx, s.wire, sdk.AgentMethodSessionList, list)
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

// abandon ends a session that did not come about, and says why it did not.
func (s *session) abandon(err error) error {
	defer s.events.Drop()
	if _, ok := errors.AsType[*sdk.RequestError](err); ok {
		err = classify(err)
	}
	if errors.Is(err, errOver) {
		err = s.obituary()
	}
	s.child.End()
	<-s.wire.conn.Done()
	return err
}

// obituary says how a program ended that was to be spoken with.
func (s *session) obituary() error {
	s.settle()
	exit, ended := s.child.Exit()
	if strings.Contains(exit.Stderr, "CREATE TABLE workspace") {
		return errMigration
	}
	text := fmt.Sprintf("the agent ended with exit code %d", exit.Code)
	switch {
	case s.wire.why() != nil && !ended:
		text = s.wire.why().Error()
	case !ended:
		text = errSilent.Error()
	case exit.Signal != "":
		text = "the agent was ended by " + exit.Signal
	}
	return failure(provider.Unknown, true, strings.TrimSuffix(text+": "+s.child.Stderr(), ": "))
}

// settleTime is how long a program that closed its input or its output has to
// end by itself.
const settleTime = 2 * time.Second

// settle waits for a program that seems to be ending, and says whether it did.
func (s *session) settle() bool {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	return s.child.Wait(ctx)
}
