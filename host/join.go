package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/proc/process"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/internal/version"
)

// Name returns the name of a machine among those that serve one engine: the one by which it has joined another, or else
// that of the system.
func Name(runsDir string) string {
	if home, _, err := hosts.ReadHome(runsDir); err == nil {
		return home.Name
	}
	name, _ := os.Hostname()
	return hosts.NameOf(name)
}

// Admit opens the door for hosts that join the server of a team, which is not an engine of this machine: those that
// `starter host join` invites. The door closes with Stop.
func (h *Host) Admit(o temporalclient.Options) (*hosts.Door, error) {
	target, err := temporalclient.Resolve(o)
	if err != nil {
		return nil, err
	}
	key, err := engine.MakeKey(h.config.RunsDir)
	var server hosts.Server
	if err == nil {
		server, err = target.Behind(key)
	}
	if err != nil {
		return nil, fmt.Errorf("-admit-hosts: %w", err)
	}
	return hosts.Open(h.config.RunsDir, server, o.Logger), nil
}

// Joined is the connection by which this host learns that the home machine has removed it.
type Joined struct {
	Name string

	host     *Host
	survey   hosts.Survey
	presence *hosts.Presence
}

// Join joins the home machine of a code by a name, or greets the one that this host has joined if the text is empty. It
// returns nil if there is none. The home machine learns what this host has.
func (h *Host) Join(ctx context.Context, text, name string) (*Joined, error) {
	target, _ := temporalclient.Resolve(temporalclient.Options{RunsDir: h.config.RunsDir})
	switch {
	case text == "" && target.Host == "":
		return nil, nil // it has not joined; what is wrong is reported by the caller that dials
	case target.Source == temporalclient.Configuration:
		return nil, errors.New("TEMPORAL_ADDRESS, or a profile of Temporal's configuration, names another server: unset it, or start the worker without -join")
	}
	var code hosts.Code
	if text != "" {
		var err error
		if code, err = hosts.ParseCode(text); err != nil {
			return nil, err
		}
		if f, err := engine.ReadFile(h.config.RunsDir); err == nil && process.Runs(f.UpPID, f.UpKey) {
			return nil, fmt.Errorf("`starter up` serves %s on this machine: stop it first, or join with another -runs-dir", h.config.RunsDir)
		}
	}
	j := &Joined{host: h, survey: h.survey(ctx)}
	if text != "" {
		w, err := hosts.Join(ctx, h.config.RunsDir, code, name, j.survey)
		if err == nil && w.Name != name {
			err = fmt.Errorf("this host has joined as %s already: start it without -join and -host", w.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	err := j.greet(ctx)
	if _, refused := errors.AsType[*hosts.RefusedError](err); err != nil && !refused {
		return nil, &temporalclient.Unreachable{Address: target.Address, Source: temporalclient.Joined, Err: err}
	}
	return j, err
}

func (j *Joined) greet(ctx context.Context) error {
	w, presence, err := hosts.Greet(ctx, j.host.config.RunsDir, j.survey)
	if err != nil {
		return err
	}
	if skew := hosts.DescribeSkew(time.Since(w.Time)); skew != "" {
		j.host.config.warn(fmt.Errorf("the clock of this host is %s, compared with that of the home machine: times in records are wrong until it is set", skew))
	}
	j.Name, j.presence = w.Name, presence
	return nil
}

// regreetEvery is the time between two tries to reach the home machine.
const regreetEvery = time.Second

// Await stays in contact with the home machine. It returns the reason for which that machine takes this host no longer, or
// nil when ctx ends.
func (j *Joined) Await(ctx context.Context) error {
	for {
		err := j.presence.Await(ctx)
		for err != nil {
			if refused, ok := errors.AsType[*hosts.RefusedError](err); ok {
				return refused
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(regreetEvery):
			}
			err = j.greet(ctx)
		}
	}
}

// programs are looked for on a host that joins.
var programs = []string{"git", "go", "node", "python3", "cargo", "java", "make"}

// survey says what this host has.
func (h *Host) survey(ctx context.Context) hosts.Survey {
	s := hosts.Survey{
		Version: version.Read().Version, System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Sandbox: string(h.Sandbox.Policy),
	}
	if h.Sandbox.Missing != nil {
		s.NoBox = h.Sandbox.Missing.Error()
	}
	for _, m := range h.config.collectManifests(ctx, h.config.RunsDir, h.Sandbox) {
		switch {
		case m.Installed:
			s.Agents = append(s.Agents, strings.TrimSpace(m.Label+" "+m.Version))
		default:
			s.Missing = append(s.Missing, m.Label)
		}
	}
	for _, name := range programs {
		if _, err := proc.LookPath(name, "", h.config.Environ); err == nil {
			s.Programs = append(s.Programs, name)
		}
	}
	return s
}

// Has says in one line what the host has, and what it lacks.
func (j *Joined) Has() string { return j.survey.String() }
