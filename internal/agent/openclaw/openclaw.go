// Package openclaw attaches to a running OpenClaw gateway
// (CLIENT.md, 1 to 4; protocol 4). A session is a session of the
// gateway under a key that begins with our prefix. It has no process here, and the
// gateway keeps it. The gateway asks about commands only. Files are protected by the
// permission mode of the session: this package sets the mode, and names it again
// with every turn, so that no turn runs under another mode.
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
	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/failure"
	"github.com/ratchet-dev/ratchet/internal/setup"
)

// The default gateway, and the variables that name another.
const (
	DefaultURL    = "ws://127.0.0.1:18789"
	URLVariable   = "OPENCLAW_GATEWAY_URL"
	TokenVariable = "OPENCLAW_GATEWAY_TOKEN"
)

// KeyName is the name of the file with the key of our device.
const KeyName = "openclaw-device.key"

// Config names the gateway and our identity for it.
type Config struct {
	// URL and Token of the gateway; an empty member is taken from Environ. Without
	// TLS only loopback addresses are accepted, since the token is sent.
	URL, Token string
	// KeyFile is the file with the key of our device; it is made if it is missing.
	// If it is empty, the device lasts as long as this adapter. The gateway shows the
	// requests of a run only to the device that began the run, and a remote gateway
	// accepts a new device only after a person has approved it.
	KeyFile string
	// Environ is our own environment, which may set URLVariable and TokenVariable.
	Environ []string
}

type adapter struct {
	Config
	device func() (device, error)
}

// New returns the adapter. It does nothing until it is used.
func New(c Config) agent.Adapter { return adapter{c, deviceOpener(c.KeyFile)} }

func (adapter) Kind() agent.Kind { return setup.OpenClaw }

// The permission modes of a session that need no administrator (the gateway's own
// documentation, "Session permission modes"). The empty mode leaves the choice to
// the gateway's configuration.
const (
	readOnly  = "read-only" // no commands, no changes of files
	guarded   = "guarded"   // files within the directory; commands need a permission
	reviewed  = "workspace" // the same, but a model of the gateway answers first
	unguarded = ""
)

var modes = []agent.Mode{
	{Code: guarded, Label: "Guarded", Description: "changes files in its directory; asks before commands", Default: true},
	{Code: reviewed, Label: "Workspace", Description: "a model of the gateway reviews commands and asks if it is in doubt"},
	{Code: readOnly, Label: "Read only", Description: "reads files in its directory; runs and changes nothing"},
}

// Start begins a session, or resumes one that this package began. It aborts a run
// that an earlier connection left behind in the session.
func (a adapter) Start(ctx context.Context, o agent.Options) (agent.Session, error) {
	t, err := newTerms(o)
	if err != nil {
		return nil, err
	}
	c, err := a.connectGateway(ctx, o.Env)
	if err != nil {
		return nil, err
	}
	s := &session{conn: c, terms: t, system: t.system, queue: agent.NewQueue(), done: make(chan struct{})}
	go s.readEvents()
	if err := s.openSession(ctx, o.Resume); err != nil {
		s.abandonStart()
		return nil, classifyError(err)
	}
	return s, nil
}

// sessionTerms holds the settings under which a session runs.
type sessionTerms struct {
	dir, system, model, mode string
	denies                   bool // every request
}

func newTerms(o agent.Options) (sessionTerms, error) {
	if info, err := os.Stat(o.Dir); err != nil || !filepath.IsAbs(o.Dir) || !info.IsDir() {
		return sessionTerms{}, badRequest("working directory %q: want an absolute path of a directory that exists", o.Dir)
	}
	mode, err := permissionMode(o.Sandbox, o.Choice().Mode)
	return sessionTerms{
		dir: o.Dir, system: o.System, model: o.Choice().Model, mode: mode, denies: o.Sandbox == agent.ReadOnly,
	}, err
}

// permissionMode returns the permission mode for a sandbox: the chosen one, unless
// the sandbox is read-only. Full access is the gateway's own configuration.
func permissionMode(s agent.Sandbox, chosen string) (string, error) {
	known := func(m agent.Mode) bool { return m.Code == chosen }
	switch {
	case !slices.Contains([]agent.Sandbox{agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess}, s):
		return "", badRequest("sandbox %q: want %s, %s or %s", s, agent.ReadOnly, agent.WorkspaceWrite, agent.FullAccess)
	case chosen != "" && !slices.ContainsFunc(modes, known):
		return "", badRequest("mode %q: want one of the manifest", chosen)
	case s == agent.ReadOnly:
		return readOnly, nil
	case chosen != "":
		return chosen, nil
	case s == agent.WorkspaceWrite:
		return guarded, nil
	}
	return unguarded, nil
}

// CheckOptions implements agent.OptionChecker.
func (adapter) CheckOptions(_ context.Context, o agent.Options) error {
	_, err := permissionMode(o.Sandbox, o.Choice().Mode)
	return err
}

func badRequest(format string, args ...any) *failure.Error {
	return &failure.Error{Code: failure.BadRequest, Message: display.Clip(fmt.Sprintf(format, args...), failure.MaxMessage)}
}

func (a adapter) connectGateway(ctx context.Context, env []string) (*conn, error) {
	at, err := a.gatewayAddress(env)
	if err != nil {
		return nil, err
	}
	d, err := a.device()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrUnavailable, err)
	}
	shaking, cancel := context.WithTimeout(ctx, shakeTimeout)
	defer cancel()
	c, err := dialGateway(shaking, at, d)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c, err
}

// gatewayAddress returns the address of the gateway. The session's own variables
// count first, then the configuration, then our environment.
func (a adapter) gatewayAddress(env []string) (address, error) {
	return newAddress(
		cmp.Or(lookupVariable(env, URLVariable), a.URL, lookupVariable(a.Environ, URLVariable), DefaultURL),
		cmp.Or(lookupVariable(env, TokenVariable), a.Token, lookupVariable(a.Environ, TokenVariable)),
	)
}

// lookupVariable returns the value of the last entry with that name.
func lookupVariable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
