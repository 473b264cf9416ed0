// Package sessionruns serves the agent of a standing session the tools by which it starts runs, and looks at those that
// it has started. The worker that owns the agent's process serves them, at a socket of its own. The agent
// chooses a goal. Everything else of a run is in the session's grant, which a person gave (docs/sessions.md).
package sessionruns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/file"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/toolserver"
)

// ServerName is the name of the tools' server in front of the agent.
const ServerName = "ratchet"

// Server serves the agents of a worker. It implements sessionacts.RunTools.
type Server struct {
	RunsDir string
	Queue   string // the task queue of the runs
}

// The bounds of what one agent takes of the worker.
const (
	maxConnections = 8
	maxCalls       = 8 // at once
)

// errDecides is the error of each message by which the server of an agent would settle, guide or end a run.
var errDecides = errors.New("an agent's server cannot decide")

// Serve implements sessionacts.RunTools.
func (s *Server) Serve(c sessionacts.Caller) (_ *agent.Bridge, closeAll func(), err error) {
	dir, err := os.MkdirTemp(file.SocketDir(), "mcp-") // mode 0700
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err == nil {
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	served := &served{Server: *s, Caller: c, client: runs.New(c.Temporal, s.Queue), calls: make(chan struct{}, maxCalls), starting: make(chan struct{}, 1)}
	served.client.MayDecide = func() error { return errDecides }
	served.client.By = c.Session.Runs.By
	ctx, end := context.WithCancel(context.Background())
	var peers sync.WaitGroup
	peers.Go(func() { served.acceptAll(ctx, l) })
	return &agent.Bridge{Name: ServerName, Socket: socket, Tools: toolNames}, func() {
		end()
		l.Close()
		peers.Wait()
		os.RemoveAll(dir)
	}, nil
}

// served is the server of one agent process.
type served struct {
	Server
	sessionacts.Caller
	client *runs.Client
	calls  chan struct{} // holds a token for each call in progress

	// starting holds a token while a run is started: the bounds of the grant count what there is.
	starting chan struct{}
	writing  sync.Mutex // of the ledger
}

// acceptAll serves connections until the listener is closed. It returns when all have ended.
func (s *served) acceptAll(ctx context.Context, l *net.UnixListener) {
	var peers sync.WaitGroup
	defer peers.Wait()
	free := make(chan struct{}, maxConnections)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := l.AcceptUnix()
		if err != nil {
			return
		}
		peers.Go(func() {
			defer func() { <-free }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			s.serve(ctx, conn)
		})
	}
}

const instructions = `Start runs of coding agents on this session's repository with ratchet_run_start, and look at the runs that you have started. A run works on the repository's last commit, not on your checkout; a person approves each of its patches, and its result is a branch. You cannot approve, answer or cancel.`

// serve serves one connection.
func (s *served) serve(ctx context.Context, conn *net.UnixConn) {
	p, err := peerOf(conn)
	if err != nil {
		return
	}
	_ = toolserver.Serve(ctx, toolserver.Config{
		Instructions: instructions, Log: slog.New(slog.DiscardHandler),
		Offer: func(m *mcp.Server) {
			m.AddReceivingMiddleware(s.admitCallers(p))
			s.offerTools(m)
		},
	}, conn, conn)
}

// peer is the process at the other end of a connection.
type peer struct {
	pid, uid int
	key      string // tells it from a later process with its number
}

var (
	errStranger = errors.New("this server belongs to another session, or the caller was not started by its agent")
	errCrowd    = fmt.Errorf("%d calls are in progress: wait until one ends", maxCalls)
)

// admitCallers returns middleware that lets the agent's own processes call tools, a few at a time. An agent asks for the list
// of the tools before its process is known.
func (s *served) admitCallers(p peer) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "tools/call" {
				return next(ctx, method, req)
			}
			if p.uid != os.Geteuid() || !process.Is(p.pid, p.key) || !s.Owns(p.pid) {
				return nil, errStranger
			}
			select {
			case s.calls <- struct{}{}:
				defer func() { <-s.calls }()
			default:
				return nil, errCrowd
			}
			return next(ctx, method, req)
		}
	}
}
