// Package host runs a worker on this machine. It is the place where the providers, the adapters of
// agents and the registry of sessions become the dependencies of the activities, and it serves the
// workflows and activities to an engine. Every binary that has a worker has it from here. Packages
// workflows and activities know none of the vendors behind their dependencies.
package host

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/activities"
	deliveryacts "github.com/ratchet-dev/ratchet/activities/delivery"
	dispatchacts "github.com/ratchet-dev/ratchet/activities/dispatch"
	"github.com/ratchet-dev/ratchet/activities/notify"
	sessionacts "github.com/ratchet-dev/ratchet/activities/session"
	"github.com/ratchet-dev/ratchet/host/review"
	"github.com/ratchet-dev/ratchet/host/telemetry"
	"github.com/ratchet-dev/ratchet/internal/agent"
	"github.com/ratchet-dev/ratchet/internal/agent/child"
	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/citizen"
	"github.com/ratchet-dev/ratchet/internal/citizen/mailbox"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/provider"
	"github.com/ratchet-dev/ratchet/internal/provider/catalog"
	"github.com/ratchet-dev/ratchet/internal/provider/session"
	"github.com/ratchet-dev/ratchet/internal/redact"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// Config configures a worker on this machine.
type Config struct {
	RunsDir   string // made if it does not exist
	TaskQueue string // to serve; empty means temporalclient.TaskQueue
	// Environ is the worker's environment, in the form of os.Environ. Its secrets are removed from
	// everything that is recorded.
	Environ []string
	// ProviderEnv names the variables that the programs of providers see besides
	// the few that every program needs.
	ProviderEnv []string
	// ProviderNetwork names what the programs of providers may reach from the box besides the APIs of
	// the models whose clients they are: host:port, or presets, as package allow reads them.
	ProviderNetwork []string
	// Toolchains are directories that checks, agents and programs of providers see in the box besides the
	// toolchains that a check's tools are known to have. The programs of checks are looked up in them first.
	Toolchains []string
	// Sandbox is the worker's part of the sandbox policy; empty means run.SandboxRequired. Runs and
	// worker must both say off for programs outside of the box.
	Sandbox run.Sandbox
	// CachedRuns bounds the workflows that the worker holds in memory between their steps, of runs and
	// dispatches; zero means DefaultCachedRuns.
	CachedRuns int
	// Deployment and BuildID name the version that the worker is of, for a server that routes tasks by versions of workers;
	// both empty: it has none. Open runs go on with the current version.
	Deployment, BuildID string
	// Review says where the worker serves the review page; nil: it serves none.
	Review *review.Config
	// Sessions bounds the agents of standing sessions that live at once; zero means
	// sessionacts.DefaultMost. SessionIdle is how long one without a turn lives; zero means
	// sessionacts.DefaultIdle.
	Sessions    int
	SessionIdle time.Duration
	// Notify says how the worker notifies people about runs. Its Link, Environ, Secret and Redact are the host's to set.
	Notify notify.Config
	// Metrics is the host:port at which the worker serves its metrics as Prometheus text; empty: it does not.
	Metrics string
	// ForgeCA is a file with the certificates of those who sign the servers'; empty: the system's.
	ForgeCA string
	// ForgePace is the time between two looks at a pull request whose checks run; zero means the default.
	ForgePace time.Duration
	// Warn receives the reason of each thing that the worker does not serve; nil drops it.
	Warn func(error)

	forges  []forgeFlag    // that AddFlags has read
	bots    []string       // likewise
	servers []forge.Server // with their tokens; set by Open
}

// DefaultCachedRuns is the number of workflows that a worker holds in memory. Each takes some 50 KB. The next step of
// one that it does not hold begins with its history, which takes milliseconds.
const DefaultCachedRuns = 500

// maxCachedRuns bounds Config.CachedRuns in AddFlags: so many take 5 GB.
const maxCachedRuns = 100_000

// AddFlags adds the flags that every binary with a worker has. The binaries find the runs directory
// and the task queue in flags of their own.
func (c *Config) AddFlags(flags *flag.FlagSet) {
	flags.Func("provider-env", "`name` of a variable that provider programs may see; repeatable", func(name string) error {
		c.ProviderEnv = append(c.ProviderEnv, name)
		return nil
	})
	flags.Func("provider-network", "`host:port` that provider programs may reach from the sandbox, such as a model's API from their own configuration; repeatable", func(entry string) error {
		c.ProviderNetwork = append(c.ProviderNetwork, entry)
		return allow.Check(entry)
	})
	flags.Func("toolchain", ToolchainUsage, c.AddToolchain)
	flags.Func("sandbox", "`required` or off: run checks, providers and agents in the sandbox, or serve runs started with off, whose programs can do everything that this user can; default: required", func(word string) error {
		return c.Sandbox.UnmarshalText([]byte(word))
	})
	flags.Func("cached-runs", fmt.Sprintf("`number` of runs and dispatches that the worker keeps in memory between steps, 1 to %d; others are replayed from their history; default: %d", maxCachedRuns, DefaultCachedRuns), func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxCachedRuns {
			return fmt.Errorf("want a number from 1 to %d", maxCachedRuns)
		}
		c.CachedRuns = n
		return nil
	})
	flags.StringVar(&c.Deployment, "deployment", "", "`name` of the worker deployment that this worker is a version of; needs -build-id; default: none")
	flags.StringVar(&c.BuildID, "build-id", "", "`id` of this worker's version in its deployment")
	c.addSessionFlags(flags)
	c.addReviewFlags(flags)
	c.addNotifyFlags(flags)
	c.addForgeFlags(flags)
	flags.Func("metrics-listen", "`host:port` at which the worker serves metrics as Prometheus text, such as 127.0.0.1:9464; whoever reaches it can read them", func(text string) error {
		c.Metrics = text
		return telemetry.CheckListen(text)
	})
}

// reviewConfig returns the configuration of the review page, which the first flag of it makes.
func (c *Config) reviewConfig() *review.Config {
	if c.Review == nil {
		c.Review = &review.Config{}
	}
	return c.Review
}

// addReviewFlags adds the flags of the review page.
func (c *Config) addReviewFlags(flags *flag.FlagSet) {
	flags.Func("review", "`host:port` of the review page, or off; starter up: "+review.DefaultAddress+", or another port if that one is taken", func(text string) error {
		c.reviewConfig().Address = text
		return review.Config{Address: text, Cert: "any", Key: "any", URL: "https://any"}.Check()
	})
	text := func(name, usage string, field func(*review.Config) *string) {
		flags.Func(name, usage, func(text string) error {
			*field(c.reviewConfig()) = text
			return nil
		})
	}
	text("review-url", "`URL` of the review page for browsers, if it is behind a proxy or uses TLS, such as https://ratchet.example.com", func(r *review.Config) *string { return &r.URL })
	text("review-cert", "`file` with the certificate of the review page, to serve it over TLS", func(r *review.Config) *string { return &r.Cert })
	text("review-key", "`file` with the key of the certificate", func(r *review.Config) *string { return &r.Key })
	flags.Func("review-proxy", "`HEADER@FROM`: the header in which a proxy names the authenticated user, and the proxy itself: uid:USER on this machine, or an address of another", func(text string) (err error) {
		c.reviewConfig().Proxy, err = review.ParseProxy(text)
		return err
	})
}

// ToolchainUsage is the usage of the flag whose values AddToolchain takes.
const ToolchainUsage = "`directory` of a toolchain outside of /usr that programs in the sandbox can read; repeatable"

// AddToolchain adds a directory that a box can show. The error names the fault.
func (c *Config) AddToolchain(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	home, _ := os.UserHomeDir() // a worker without one has none to protect
	if err := box.CheckPath(abs, home); err != nil {
		return err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return errors.New("it is not a directory")
	}
	c.Toolchains = append(c.Toolchains, abs)
	return nil
}

// Host holds the activities of a worker that serves no engine yet.
type Host struct {
	Activities *activities.Activities
	Sessions   *sessionacts.Activities
	Deliveries *deliveryacts.Activities
	Dispatch   *dispatchacts.Activities // nil: the host has no registry of sessions
	Sandbox    activities.Sandbox
	Notify     notify.Config

	config Config
	boxes  mailbox.Mailboxes // of the registry
}

// Open wires the activities and tests the box, which starts programs of ours for 3 seconds at most. It
// reaches no engine. It refuses a runs directory as rundir.Check does. A host without a registry of
// sessions, as without a HOME, serves no dispatches, and Open warns of it.
func Open(ctx context.Context, c Config) (*Host, error) {
	runs, err := rundir.Open(ctx, c.RunsDir)
	if err != nil {
		return nil, err
	}
	if err := c.openStore(ctx); err != nil {
		return nil, err
	}
	if (c.Deployment == "") != (c.BuildID == "") {
		return nil, errors.New("a deployment and a build id belong together: give both, or neither")
	}
	if c.servers, err = c.openForges(); err != nil {
		return nil, err
	}
	h := &Host{config: c, Sandbox: c.openSandbox(ctx)}
	if h.Notify, err = c.openNotify(); err != nil {
		return nil, err
	}
	dirs, missing := citizen.FindDirs(c.lookup)
	if h.Activities, err = c.openActivities(runs, dirs, missing == nil, h.Sandbox); err != nil {
		return nil, err
	}
	var peers sessionacts.Host
	if missing == nil {
		peers = citizen.Host{Dirs: dirs}
	}
	if h.Sessions, err = c.openSessions(runs, h.Sandbox, activities.FindKits(h.Activities), peers); err != nil {
		return nil, err
	}
	if h.Deliveries, err = c.openDeliveries(h.Sessions); err != nil {
		return nil, err
	}
	if missing != nil {
		c.warn(fmt.Errorf("messages to sessions are not served: %w: %w", errNoRegistry, missing))
		return h, nil
	}
	if h.Dispatch, err = c.openDispatch(dirs); err != nil {
		return nil, err
	}
	h.boxes.Dirs = dirs
	return h, nil
}

var errNoRegistry = errors.New("the registry of sessions is missing")

func (c Config) openActivities(runs *rundir.Store, dirs citizen.Dirs, registry bool, sandbox activities.Sandbox) (*activities.Activities, error) {
	agents := session.NewPool(0)
	env := c.catalogEnv()
	env.Redact, env.Agents, env.State = c.redactor(), agents, c.RunsDir
	if words := env.Redact.WordNames(); len(words) > 0 {
		c.warn(fmt.Errorf("the values of %s are ordinary words, so they are not redacted from records and logs", strings.Join(words, ", ")))
	}
	if short := env.Redact.ShortNames(); len(short) > 0 {
		c.warn(fmt.Errorf("the values of %s have fewer than %d characters, so they are not redacted from records and logs", strings.Join(short, ", "), redact.MinLength))
	}
	config := activities.Config{
		Runs: runs, Redact: env.Redact, Agents: agents, LookupEnv: c.lookup, Sandbox: sandbox, Toolchains: c.Toolchains,
		Notify: c.Notify.Channels(),
		Survey: func(ctx context.Context) []agent.Manifest { return c.collectManifests(ctx, c.RunsDir, sandbox) },
	}
	if registry {
		host := citizen.Host{Dirs: dirs}
		if _, err := host.Sweep(context.Background()); err != nil {
			c.warn(fmt.Errorf("sessions of ended workers stay registered: %w", err))
		}
		env.Host, config.Forget = host, host.Forget
	}
	config.Open, config.Probe = providerOpener(env, sandbox), providerProber(env, sandbox)
	return activities.New(config)
}

// catalogEnv returns the surroundings of every program that the catalogue starts here.
func (c Config) catalogEnv() catalog.Env {
	return catalog.Env{Environ: c.Environ, Allow: c.ProviderEnv, Sandbox: child.Sandbox{Network: c.ProviderNetwork, Toolchains: c.Toolchains}}
}

// CollectManifests returns the manifests of the agents on this machine, asked in the directory. Of the
// configuration it needs the environment and the policy of the sandbox alone. It tests the box.
func (c Config) CollectManifests(ctx context.Context, dir string) []agent.Manifest {
	sandbox := activities.Sandbox{Policy: c.Sandbox.WithDefault()}
	if !sandbox.Policy.Off() {
		sandbox.Box, sandbox.Missing = c.OpenBox(ctx) // doctor says why there is none
	}
	return c.collectManifests(ctx, dir, sandbox)
}

// collectManifests notes in the manifests of programs that the box holds them. A gateway runs already.
func (c Config) collectManifests(ctx context.Context, dir string, sandbox activities.Sandbox) []agent.Manifest {
	env, held := c.catalogEnv(), sandbox.Box
	env.Dir, env.Greeting = dir, greetingUnder(sandbox, sandbox.Policy)
	list := agent.CollectManifests(ctx, catalog.NewAdapters(env))
	for i := range list {
		if held != nil && list[i].Installed && !list[i].Kind.Traits().Gateway {
			list[i].Box = held.String()
		}
	}
	return list
}

// providerOpener returns the opener of the catalogue's providers. It makes none whose programs the
// sandbox does not admit.
func providerOpener(env catalog.Env, sandbox activities.Sandbox) activities.OpenProvider {
	return func(o activities.Opening) (provider.Provider, error) {
		env := env
		spec, err := catalog.Parse(o.Spec)
		if err != nil {
			return nil, err
		}
		if spec.Starts() {
			if env.Sandbox.Box, err = sandbox.Admit(o.Sandbox); err != nil {
				return nil, err
			}
		}
		env.Dir, env.Log = o.Dir, o.Log
		return spec.Open(env)
	}
}

// providerProber returns the prober of the catalogue's providers.
func providerProber(env catalog.Env, sandbox activities.Sandbox) func(context.Context, activities.Opening) error {
	return func(ctx context.Context, o activities.Opening) error {
		spec, err := catalog.Parse(o.Spec)
		if err != nil {
			return err
		}
		env := env
		env.Dir, env.Greeting = o.Dir, greetingUnder(sandbox, o.Sandbox)
		if err := spec.Probe(ctx, env); err != nil {
			return err
		}
		return spec.CheckOptions(ctx, env, o.Options)
	}
}

// lookup returns the value of a variable in Environ. If Environ has the name twice, the last entry
// counts.
func (c Config) lookup(name string) (value string, ok bool) {
	for _, entry := range c.Environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value, ok = v, true
		}
	}
	return value, ok
}
