package activities

import (
	"context"
	"io"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Local says what the activities of a worker on this machine work with.
type Local struct {
	RunsDir string // made where it does not exist
	// Environ is the worker's environment, as os.Environ gives it. Its secrets
	// are taken out of all that is recorded.
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

// OpenDesk wires the desk of every binary that has a worker. Its registry is
// found from HOME and the variables that other programs use.
func (l Local) OpenDesk() (*Desk, error) {
	dirs, err := citizen.FindDirs(l.lookup)
	if err != nil {
		return nil, err
	}
	argv, err := catalog.PiArgv(l.Environ)
	if err != nil {
		return nil, err
	}
	return NewDesk(DeskConfig{Dirs: dirs, Resume: func(approve bool) agent.Adapter {
		c := pi.Config{Argv: argv, Environ: l.Environ, Allow: l.ProviderEnv, Trust: pi.TrustUser}
		if approve {
			c.Trust = pi.TrustProject
		}
		return pi.New(c)
	}})
}

func (l Local) survey(ctx context.Context) []agent.Manifest {
	return agent.Survey(ctx, catalog.Adapters(catalog.Env{Dir: l.RunsDir, Environ: l.Environ, Allow: l.ProviderEnv}))
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

// lookup finds a variable in Environ; of two with one name the last counts.
func (l Local) lookup(name string) (value string, ok bool) {
	for _, entry := range l.Environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value, ok = v, true
		}
	}
	return value, ok
}
