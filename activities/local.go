package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Local configures the activities of a worker on this machine.
type Local struct {
	RunsDir string // made if it does not exist
	// Environ is the worker's environment, in the form of os.Environ. Its secrets are removed from
	// everything that is recorded.
	Environ []string
	// ProviderEnv names the variables that the programs of providers see besides
	// the few that every program needs.
	ProviderEnv []string
}

// Open wires the activities of every binary that has a worker.
func (l Local) Open() (*Activities, error) {
	runs, err := rundir.Open(l.RunsDir)
	if err != nil {
		return nil, err
	}
	secrets := redact.New(l.Environ)
	agents := session.NewPool(0)
	c := Config{
		Runs: runs, Redact: secrets, Agents: agents, Survey: l.survey, LookupEnv: l.lookup,
	}
	env := catalog.Env{Environ: l.Environ, Allow: l.ProviderEnv, Redact: secrets, Agents: agents, State: l.RunsDir}
	if dirs, err := citizen.FindDirs(l.lookup); err == nil { // else there is no registry
		host := citizen.Host{Dirs: dirs}
		env.Host, c.Forget = host, host.Forget
	}
	c.Open = opener(env)
	return New(c)
}

// ErrNoRegistry reports that this host has no registry of sessions to dispatch to, as in a worker
// without a HOME.
var ErrNoRegistry = errors.New("there is no registry of sessions")

// NewDispatchActivities wires the activities of dispatches for every binary that has a worker. It
// finds the registry from HOME and the variables that other programs use.
func (l Local) NewDispatchActivities() (*DispatchActivities, error) {
	dirs, err := citizen.FindDirs(l.lookup)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRegistry, err)
	}
	argv, err := catalog.PiArgv(l.Environ)
	if err != nil {
		return nil, err
	}
	others, err := l.resumed()
	if err != nil {
		return nil, err
	}
	observe, _ := l.lookup(ObserveVariable)
	return NewDispatchActivities(DispatchConfig{Dirs: dirs, Redact: redact.New(l.Environ), Observe: ObserveTimeout(observe), Resume: func(b dispatch.Backend, approve bool) (Resumer, bool) {
		if b != dispatch.Pi {
			r, ok := others[b]
			return r, ok
		}
		c := pi.Config{Argv: argv, Environ: l.Environ, Allow: l.ProviderEnv, Trust: pi.TrustUser}
		if approve {
			c.Trust = pi.TrustProject
		}
		return Resumer{pi.New(c), agent.Options{Sandbox: agent.FullAccess, Network: true}}, true
	}})
}

// ObserveVariable names the variable that holds the number of milliseconds that a resumed session
// may take to begin (docs/contracts/dispatch.md, 10).
const ObserveVariable = "ENTWURF_V2_OBSERVE_TIMEOUT_MS"

// ObserveTimeout reads the value of ObserveVariable. It returns zero, which means the default, if
// the value is not a positive number.
func ObserveTimeout(text string) time.Duration {
	ms, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if limit := float64(math.MaxInt64 / time.Millisecond); err != nil || !(ms > 0 && ms < limit) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// ResumeVariable names the variable that lists the backends besides pi whose dormant sessions
// dispatches resume: claude-code (or claude) and codex, separated by commas. The list is empty by
// default: by the contract those sessions receive only mail.
const ResumeVariable = "RATCHET_RESUME"

// resumed returns the backends of ResumeVariable. Every request of their agents that would need a
// person is denied. The agents therefore have the files of the working directory, and the commands
// that the user's own settings, or the sandbox of Codex, let through. The sessions belong to the
// user and have the user's MCP servers.
func (l Local) resumed() (map[dispatch.Backend]Resumer, error) {
	all := map[dispatch.Backend]Resumer{}
	env := catalog.Env{Environ: l.Environ, Allow: l.ProviderEnv}
	for b, text := range map[dispatch.Backend]string{dispatch.ClaudeCode: "claude", dispatch.Codex: "codex"} {
		a, err := catalog.NewAdapter(text, env)
		if err != nil {
			return nil, err
		}
		all[b] = Resumer{a, agent.Options{Sandbox: agent.WorkspaceWrite, Sticky: agent.Choice{Mode: "acceptEdits"}, UserServers: true}}
	}
	chosen := map[dispatch.Backend]Resumer{}
	list, _ := l.lookup(ResumeVariable)
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" || name == string(dispatch.Pi) {
			continue
		}
		if name == "claude" {
			name = string(dispatch.ClaudeCode)
		}
		r, ok := all[dispatch.Backend(name)]
		if !ok {
			return nil, fmt.Errorf("%s: %q cannot be resumed: list claude-code, codex, or both", ResumeVariable, name)
		}
		chosen[dispatch.Backend(name)] = r
	}
	return chosen, nil
}

func (l Local) survey(ctx context.Context) []agent.Manifest {
	return agent.CollectManifests(ctx, catalog.NewAdapters(catalog.Env{Dir: l.RunsDir, Environ: l.Environ, Allow: l.ProviderEnv}))
}

func opener(env catalog.Env) OpenProvider {
	return func(text, dir string, log io.Writer) (provider.Provider, error) {
		spec, err := catalog.Parse(text)
		if err != nil {
			return nil, err
		}
		env := env
		env.Dir, env.Log = dir, log
		return spec.Open(env)
	}
}

// lookup returns the value of a variable in Environ. If Environ has the name twice, the last entry
// counts.
func (l Local) lookup(name string) (value string, ok bool) {
	for _, entry := range l.Environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value, ok = v, true
		}
	}
	return value, ok
}
