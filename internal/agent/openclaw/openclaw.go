// Package openclaw attaches to an OpenClaw gateway that runs already (docs/contracts/openclaw.md, 1 to 4; protocol 4). A session is one of the gateway's
// own under a key that begins with ours; it has no process here, and the
// gateway keeps it. The gateway asks about commands only: files are held by
// the permission mode of the session, which this package sets and which every
// turn names again, so that a turn never runs under another one.
package openclaw

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/provider"
)

// The gateway where none is configured, and the variables that name another.
const (
	DefaultURL    = "ws://127.0.0.1:18789"
	URLVariable   = "OPENCLAW_GATEWAY_URL"
	TokenVariable = "OPENCLAW_GATEWAY_TOKEN"
)

// Config says where the gateway is, and who we are to it.
type Config struct {
	// URL and Token of the gateway; empty members are those of Environ. Without
	// TLS only loopback addresses are taken, since the token is sent.
	URL, Token string
	// KeyFile keeps the key of our device; it is made when it is missing. Empty
	// makes a device for the life of this adapter. The gateway shows what a run
	// asks only to the device that began the run, and a gateway elsewhere takes a
	// new device only when somebody approves it.
	KeyFile string
	// Environ is our own environment, in which URLVariable and TokenVariable are
	// looked up.
	Environ []string
}

type adapter struct {
	Config
	device func() (device, error)
}

// New makes the adapter. It does nothing until it is used.
func New(c Config) agent.Adapter { return adapter{c, opener(c.KeyFile)} }

func (adapter) Kind() agent.Kind { return agent.OpenClaw }

// The permission modes of a session that need no administrator (the gateway's
// own documentation, "Session permission modes"). The unnamed one leaves it to
// the gateway's configuration.
const (
	readOnly  = "read-only" // no commands, no changes of files
	guarded   = "guarded"   // files within the directory; commands are asked about
	reviewed  = "workspace" // the same, but a model of the gateway answers first
	unguarded = ""
)

var modes = []agent.Mode{
	{Code: guarded, Label: "Guarded", Description: "changes files within its directory; asks before commands", Default: true},
	{Code: reviewed, Label: "Workspace", Description: "a model of the gateway reviews commands and asks where it doubts"},
	{Code: readOnly, Label: "Read only", Description: "reads files within its directory; runs and changes nothing"},
}

// Start begins a session, or goes on with one that this package began. A run
// that an earlier connection left behind in it is aborted.
func (a adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	t, err := agree(o)
	if err != nil {
		return nil, err
	}
	c, err := a.connect(ctx, o.Env)
	if err != nil {
		return nil, err
	}
	s := newSession(c, t)
	go s.run()
	if err := s.open(ctx, o.Resume); err != nil {
		s.abandon()
		return nil, classify(err)
	}
	return s, nil
}

// terms are what a session runs under.
type terms struct {
	dir, system, model, mode string
	denies                   bool // whatever is asked
}

func agree(o agent.Options) (terms, error) {
	if info, err := os.Stat(o.Dir); err != nil || !filepath.IsAbs(o.Dir) || !info.IsDir() {
		return terms{}, refuse("working directory %q: want an absolute path of a directory that exists", o.Dir)
	}
	mode, err := modeOf(o.Sandbox, o.Choice().Mode)
	return terms{
		dir: o.Dir, system: o.System, model: o.Choice().Model, mode: mode, denies: o.Sandbox == agent.ReadOnly,
	}, err
}

// modeOf is the permission mode for a sandbox: the chosen one unless nothing
// may be changed. Full access is what the gateway's configuration gives.
func modeOf(s agent.Sandbox, chosen string) (string, error) {
	known := func(m agent.Mode) bool { return m.Code == chosen }
	switch {
	case !slices.Contains([]agent.Sandbox{agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess}, s):
		return "", refuse("sandbox %q: want %s, %s or %s", s, agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess)
	case chosen != "" && !slices.ContainsFunc(modes, known):
		return "", refuse("mode %q: want one of the manifest", chosen)
	case s == agent.ReadOnly:
		return readOnly, nil
	case chosen != "":
		return chosen, nil
	case s == agent.WorkspaceWrite:
		return guarded, nil
	}
	return unguarded, nil
}

func refuse(format string, args ...any) *provider.Error {
	return &provider.Error{Code: provider.BadRequest, Message: provider.Clip(fmt.Sprintf(format, args...), provider.MaxMessage)}
}

func (a adapter) connect(ctx context.Context, env []string) (*conn, error) {
	at, err := a.address(env)
	if err != nil {
		return nil, err
	}
	d, err := a.device()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	shaking, cancel := context.WithTimeout(ctx, shakeTimeout)
	defer cancel()
	c, err := dial(shaking, at, d)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c, err
}

// address is where the gateway is: what a session's own variables say, then
// the configuration, then our environment.
func (a adapter) address(env []string) (address, error) {
	return newAddress(
		cmp.Or(variable(env, URLVariable), a.URL, variable(a.Environ, URLVariable), DefaultURL),
		cmp.Or(variable(env, TokenVariable), a.Token, variable(a.Environ, TokenVariable)),
	)
}

// variable is the value of the last entry of that name.
func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
