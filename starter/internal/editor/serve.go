// Package editor serves runs to an editor, as an agent of the Agent Client Protocol (ACP). A session of the editor is a
// run: its prompts are the goal, answers and notes; its permission requests are the run's approvals and questions. A run
// outlives the turn, the connection and the editor.
package editor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/version"
	"github.com/ratchet-dev/ratchet/internal/workspace"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/follow"
)

// Client holds the methods of a client of runs that an editor needs.
type Client interface {
	follow.Watched
	Changes(ctx context.Context, id run.ID) <-chan struct{}
	List(ctx context.Context, f runs.Filter) ([]runs.Listed, error)
}

// Config is what a server needs of the program.
type Config struct {
	*factory.Factory
	// Dial reaches the engine. What there is to say meanwhile goes to say.
	Dial func(ctx context.Context, say func(string)) (Client, func(), error)
	// Start starts a run with that id; Continue starts one from the last commit of another, which is over.
	Start    func(ctx context.Context, id run.ID, repository, goal string) error
	Continue func(ctx context.Context, from, id run.ID, note string) error
	// Merge merges a run that has completed, and returns what there is to say of it.
	Merge func(ctx context.Context, id run.ID) (string, error)
}

// server serves one editor.
type server struct {
	Config
	conn *sdk.Connection

	mu       sync.Mutex
	sessions map[run.ID]*session
	turns    sync.WaitGroup
}

// Serve serves the editor at the factory's input and output until the input ends. Runs continue then.
func Serve(ctx context.Context, c Config) error {
	out := &lockedWriter{w: c.Out}
	s := &server{Config: c, sessions: map[run.ID]*session{}}
	in, ready := newMessages(c.In, out), make(chan struct{})
	s.conn = sdk.NewConnection(func(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
		<-ready
		return s.handle(ctx, method, params)
	}, out, in)
	s.conn.SetLogger(slog.New(slog.DiscardHandler)) // messages have texts of the user's
	close(ready)
	select {
	case <-ctx.Done():
	case <-s.conn.Done():
	}
	s.mu.Lock()
	for _, one := range s.sessions {
		one.stop()
	}
	s.mu.Unlock()
	s.turns.Wait()
	return nil
}

// handle answers a request, or takes a notification.
func (s *server) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	switch method {
	case sdk.AgentMethodInitialize:
		return answer(params, func(p *sdk.InitializeRequest) (sdk.InitializeResponse, error) { return initialize(), nil })
	case sdk.AgentMethodSessionNew:
		return answer(params, func(p *sdk.NewSessionRequest) (sdk.NewSessionResponse, error) { return s.newSession(ctx, p.Cwd) })
	case sdk.AgentMethodSessionLoad:
		return answer(params, func(p *sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
			return sdk.LoadSessionResponse{}, s.loadSession(ctx, run.ID(p.SessionId))
		})
	case sdk.AgentMethodSessionList:
		return answer(params, func(p *sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) { return s.listSessions(ctx, p.Cwd) })
	case sdk.AgentMethodSessionPrompt:
		return answer(params, func(p *sdk.PromptRequest) (sdk.PromptResponse, error) { return s.prompt(ctx, p) })
	case sdk.AgentMethodSessionCancel:
		return answer(params, func(p *sdk.CancelNotification) (any, error) {
			if one := s.session(run.ID(p.SessionId)); one != nil {
				one.stop()
			}
			return nil, nil
		})
	}
	return nil, &sdk.RequestError{Code: sdk.NewMethodNotFound(method).Code, Message: fmt.Sprintf(
		"unknown method %s: this agent has initialize, session/new, session/load, session/list, session/prompt and session/cancel", display.OneLine(method, 80))}
}

// answer decodes the parameters of a method and calls it.
func answer[P, R any, V interface {
	*P
	Validate() error
}](params json.RawMessage, call func(*P) (R, error)) (any, *sdk.RequestError) {
	p := V(new(P))
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	err := json.Unmarshal(params, p)
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return nil, invalid("the parameters are not those of the method: %w", err)
	}
	r, err := call((*P)(p))
	if err == nil {
		return r, nil
	}
	if refused, ok := errors.AsType[*sdk.RequestError](err); ok {
		return nil, refused
	}
	return nil, &sdk.RequestError{Code: sdk.NewInternalError(nil).Code, Message: display.OneLine(err.Error(), 600)}
}

// invalid returns the error of a request that the editor, or its user, has to change.
func invalid(format string, args ...any) *sdk.RequestError {
	return &sdk.RequestError{Code: sdk.NewInvalidParams(nil).Code, Message: display.OneLine(fmt.Errorf(format, args...).Error(), 600)}
}

func initialize() sdk.InitializeResponse {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, AuthMethods: []sdk.AuthMethod{},
		AgentInfo: &sdk.Implementation{Name: "ratchet", Title: sdk.Ptr("Ratchet"), Version: cmp.Or(version.Release(), "devel")},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession: true, PromptCapabilities: sdk.PromptCapabilities{EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{List: &sdk.SessionListCapabilities{}},
		},
	}
}

// rootOf returns the repository of a directory that an editor names.
func rootOf(ctx context.Context, dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", invalid("cwd %q is not an absolute path: open the folder of a git repository", dir)
	}
	root, err := workspace.Root(ctx, dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		return "", invalid("cwd %s is not in a git repository: open the folder of one, or run `git init` and commit there", dir)
	}
	if err != nil {
		return "", invalid("cwd %s: %w", dir, err)
	}
	return root, nil
}

func (s *server) newSession(ctx context.Context, cwd string) (r sdk.NewSessionResponse, err error) {
	if _, err := rootOf(ctx, cwd); err != nil {
		return r, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return r, err
	}
	one := s.open(run.ID(id.String()))
	one.cwd = cwd
	r.SessionId = sdk.SessionId(one.id)
	return r, nil
}

// open keeps a session. A turn of an earlier one with the same id ends.
func (s *server) open(id run.ID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.sessions[id]; before != nil {
		before.stop()
	}
	s.sessions[id] = &session{server: s, id: id}
	return s.sessions[id]
}

func (s *server) session(id run.ID) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *server) loadSession(ctx context.Context, id run.ID) error {
	if err := id.Validate(); err != nil {
		return invalid("session %q: %w", id, err)
	}
	client, done, err := s.Dial(ctx, func(string) {})
	if err != nil {
		return err
	}
	defer done()
	_, err = client.Describe(ctx, id)
	if _, unknown := errors.AsType[*runs.NotFoundError](err); unknown {
		return invalid("session %s has no run: open a new session; `%s` shows all runs", id, s.Hint("list"))
	}
	if err != nil {
		return err
	}
	return s.open(id).replay(ctx, client)
}

// maxListed is the most sessions that a list has.
const maxListed = 50

func (s *server) listSessions(ctx context.Context, cwd *string) (r sdk.ListSessionsResponse, err error) {
	r.Sessions = []sdk.SessionInfo{}
	f := runs.Filter{Max: maxListed}
	if cwd != nil {
		if f.Repository, err = rootOf(ctx, *cwd); err != nil {
			return r, err
		}
	}
	client, done, err := s.Dial(ctx, func(string) {})
	if err != nil {
		return r, err
	}
	defer done()
	list, err := client.List(ctx, f)
	for _, l := range list {
		at := l.Started
		if l.Ended != nil {
			at = *l.Ended
		}
		r.Sessions = append(r.Sessions, sdk.SessionInfo{
			Cwd: l.Repository, SessionId: sdk.SessionId(l.ID), Title: sdk.Ptr(display.Line(l.Goal)), UpdatedAt: sdk.Ptr(at.UTC().Format(time.RFC3339)),
		})
	}
	return r, err
}

func (s *server) prompt(ctx context.Context, p *sdk.PromptRequest) (r sdk.PromptResponse, err error) {
	one := s.session(run.ID(p.SessionId))
	if one == nil {
		return r, invalid("session %q is not open: send session/load for a run, or session/new", string(p.SessionId))
	}
	text, err := textOf(p.Prompt)
	if err != nil {
		return r, err
	}
	s.turns.Add(1)
	defer s.turns.Done()
	r.StopReason, err = one.turn(ctx, text)
	return r, err
}
