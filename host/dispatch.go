package host

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	dispatchacts "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/pi"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/dispatch"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
)

// openDispatch wires the activities of dispatches to the registry of this host.
func (c Config) openDispatch(dirs citizen.Dirs) (*dispatchacts.Activities, error) {
	argv, err := pi.Argv(c.Environ)
	if err != nil {
		return nil, err
	}
	others, err := c.resumedBackends()
	if err != nil {
		return nil, err
	}
	observe, _ := c.lookup(ObserveVariable)
	return dispatchacts.New(dispatchacts.Config{
		Dirs: dirs, Redact: c.redactor(), Observe: ParseObserveTimeout(observe),
		Resume: func(b dispatch.Backend, approve bool) (dispatchacts.Resumer, bool) {
			if b == dispatch.Pi {
				return c.resumerOfPi(argv, approve), true
			}
			r, ok := others[b]
			return r, ok
		},
	})
}

func (c Config) resumerOfPi(argv []string, approve bool) dispatchacts.Resumer {
	p := pi.Config{Argv: argv, Environ: c.Environ, Allow: c.ProviderEnv, Trust: pi.TrustUser}
	if approve {
		p.Trust = pi.TrustProject
	}
	return dispatchacts.Resumer{Adapter: pi.New(p), Options: agent.Options{Sandbox: agent.FullAccess, Network: true}}
}

// ObserveVariable names the variable that holds the number of milliseconds that a resumed session
// may take to begin (docs/contracts/dispatch.md, 10).
const ObserveVariable = "ENTWURF_V2_OBSERVE_TIMEOUT_MS"

// ParseObserveTimeout reads the value of ObserveVariable. It returns zero, which means the default,
// if the value is not a positive number.
func ParseObserveTimeout(text string) time.Duration {
	ms, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if limit := float64(math.MaxInt64 / time.Millisecond); err != nil || !(ms > 0 && ms < limit) {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// ResumeVariable names the variable that lists the backends besides pi whose dormant sessions dispatches resume. An entry
// is the name of a backend or of its agent; commas separate entries. The list is empty by default: by the contract those
// sessions receive only mail.
const ResumeVariable = "RATCHET_RESUME"

// resumedBackends returns the backends of ResumeVariable.
func (c Config) resumedBackends() (map[dispatch.Backend]dispatchacts.Resumer, error) {
	all := catalog.Resumables(c.catalogEnv())
	chosen := map[dispatch.Backend]dispatchacts.Resumer{}
	list, _ := c.lookup(ResumeVariable)
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" || name == string(dispatch.Pi) {
			continue
		}
		i := slices.IndexFunc(all, func(r catalog.Resumable) bool { return name == string(r.Backend) || name == string(r.Kind) })
		if i < 0 {
			return nil, fmt.Errorf("%s: invalid agent %q: want %s, or several separated by commas", ResumeVariable, name, listBackends(all))
		}
		chosen[all[i].Backend] = dispatchacts.Resumer{Adapter: all[i].Adapter, Options: all[i].Options}
	}
	return chosen, nil
}

func listBackends(all []catalog.Resumable) string {
	var names []string
	for _, r := range all {
		names = append(names, string(r.Backend))
	}
	return strings.Join(names, ", ")
}
