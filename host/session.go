package host

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/worker"

	"github.com/ratchet-dev/ratchet/activities"
	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host/sessionruns"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/delivery/ledger"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	sessionflow "github.com/ratchet-dev/ratchet/workflows/session"
)

// openSessions wires the activities of standing sessions. Their agents run in the same box as the
// agents of runs.
func (c Config) openSessions(runs *rundir.Store, sandbox activities.Sandbox, kits activities.KitFinder, host sessionacts.Host) (*sessionacts.Activities, error) {
	env := c.catalogEnv()
	env.State = c.RunsDir
	return sessionacts.New(sessionacts.Config{
		Runs: runs, Redact: c.redactor(), LookupEnv: c.lookup, Queue: fmt.Sprintf("ratchet-owner-%d-%s", os.Getpid(), uuid.NewString()), Most: c.Sessions, Idle: c.SessionIdle, Host: host, Kit: kits,
		Tools: &sessionruns.Server{RunsDir: c.RunsDir, Queue: cmp.Or(c.TaskQueue, temporalclient.TaskQueue)},
		Open: func(o sessionacts.Opening) (agent.Adapter, error) {
			spec, err := catalog.Parse(o.Spec)
			if err != nil {
				return nil, err
			}
			env := env
			env.Dir = o.Dir
			if spec.Starts() {
				if env.Sandbox.Box, err = sandbox.Admit(o.Sandbox); err != nil {
					return nil, err
				}
			}
			return catalog.NewAdapter(o.Spec, env)
		},
	})
}

// steerVariable opens the gate of the steers if it is 1 (docs/contracts/delivery.md, 2). It is the word of the worker's
// operator: no run, session or command opens it.
const steerVariable = "RATCHET_STEER"

// openDeliveries wires the activities of the deliveries into the sessions.
func (c Config) openDeliveries(sessions *sessionacts.Activities) (*deliveryacts.Activities, error) {
	steer, _ := c.lookup(steerVariable)
	return deliveryacts.New(deliveryacts.Config{Sessions: sessionacts.NewProcesses(sessions), Ledger: ledger.In(c.RunsDir), Steer: steer == "1"})
}

// sessionWorkers returns the workers of the two task queues for agent processes: the one from which any worker of
// the host starts one, and the one of this worker's own. An agent process lasts for hours, and
// must not take the place of a run's activity.
func (h *Host) sessionWorkers(w *Worker, liveness *Liveness) []worker.Worker {
	options := w.options(liveness)
	options.DisableWorkflowWorker, options.MaxConcurrentActivityTaskPollers = true, 2
	owner := worker.New(w.Client, h.Sessions.Queue, options)
	sessionflow.RegisterOwner(owner, sessionacts.NewOwner(h.Sessions))
	owner.RegisterActivity(h.Deliveries)
	options.MaxConcurrentActivityExecutionSize = h.Sessions.Most + waitingProcesses
	processes := worker.New(w.Client, sessionflow.AgentQueue(w.TaskQueue), options)
	processes.RegisterActivity(h.Sessions)
	return []worker.Worker{owner, processes}
}

// waitingProcesses is the number of agent processes that wait in a worker until an idle agent has made room. More
// wait in the engine.
const waitingProcesses = 2

// The bounds of the flags of sessions.
const (
	maxSessions    = 1000
	minSessionIdle = time.Second
)

// addSessionFlags adds the flags of standing sessions.
func (c *Config) addSessionFlags(flags *flag.FlagSet) {
	flags.Func("sessions", fmt.Sprintf("`number` of sessions whose agents run at the same time, 1 to %d; others sleep until their next message; default: %d", maxSessions, sessionacts.DefaultMost), func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxSessions {
			return fmt.Errorf("want a number from 1 to %d", maxSessions)
		}
		c.Sessions = n
		return nil
	})
	flags.Func("session-idle", fmt.Sprintf("`duration` after which the agent of an idle session is put to sleep; default: %v", sessionacts.DefaultIdle), func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < minSessionIdle {
			return fmt.Errorf("want a duration of at least %v, such as 10m", minSessionIdle)
		}
		c.SessionIdle = d
		return nil
	})
}
