// Package temporalclient makes the Temporal client of every binary, and the worker options that
// belong to it.
//
// The client uses the first of three servers: the engine that the caller started itself, the server
// that the standard Temporal client configuration names (environment variables, a profile of the
// config file, TLS, API key), or the engine that the runs directory names: that of the home machine that this host has
// joined (home.json), or the one on this machine (engine.json).
// Without any of them there is no server: the program at Temporal's usual port may belong to
// anyone. Engine and client know each other by the certificate in the runs directory, unless the
// engine is open.
package temporalclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"path/filepath"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
)

// TaskQueue is the task queue of Ratchet's workflows and activities.
const TaskQueue = "ratchet"

// QueueOf returns the task queue of a host that has joined another machine. No other host serves it.
func QueueOf(host string) string { return TaskQueue + "@" + host }

// HostOf returns the host that has joined another machine and has the task queue; empty: none has.
func HostOf(queue string) string {
	if host, ok := strings.CutPrefix(queue, TaskQueue+"@"); ok {
		return host
	}
	return ""
}

const (
	boxedPool   = TaskQueue + "-pool"
	unboxedPool = TaskQueue + "-pool-off"
)

// PoolOf returns the task queue of runs with a repository on a server, if their records are in a bucket: every host with
// the bucket, and with that policy for the sandbox, serves it.
func PoolOf(policy run.Sandbox) string {
	if policy.Off() {
		return unboxedPool
	}
	return boxedPool
}

// IsPool reports whether several hosts serve a task queue.
func IsPool(queue string) bool { return queue == boxedPool || queue == unboxedPool }

// OfOneHost reports whether a task queue is the usual one of a host.
func OfOneHost(queue string) bool {
	return queue == TaskQueue || HostOf(queue) != ""
}

// Limits of Dial. A server on this machine that has ended refuses the connection at once. One that only is slow, because
// the machine is busy, deserves more time than a server behind a network that is silent.
const (
	dialTimeout  = 5 * time.Second
	localTimeout = 30 * time.Second
)

// Options state where Dial looks and how the client reports. The zero Options are usable.
type Options struct {
	Engine   string                // host:port of an engine of the caller's own; empty: the other sources are asked
	Key      engine.Key            // of Engine
	Open     bool                  // Engine has no TLS
	API      string                // of Engine: URL of its HTTP API
	RunsDir  string                // directory whose engine.json is read; empty: none
	Logger   *slog.Logger          // nil: the client and its workers log nothing
	Identity string                // empty: the SDK's own, pid@host
	Metrics  client.MetricsHandler // of the client and its workers; nil: none
	Beat     time.Duration         // interval at which workers report themselves to the server; zero: the SDK's
	Timeout  time.Duration         // limit of Dial; zero: 30 s for an engine on this machine, 5 s for a configured server
}

// Dial returns a client of the server that Resolve found, after the server has answered once. The
// error is an *Unreachable when the server cannot be reached or refuses the credentials. A
// configuration that cannot be read is another error.
func Dial(ctx context.Context, o Options) (client.Client, error) {
	target, err := Resolve(o)
	if err != nil {
		return nil, err
	}
	return target.Dial(ctx, o)
}

// Dial is the function Dial for a server that Resolve has found.
func (t Target) Dial(ctx context.Context, o Options) (client.Client, error) {
	timeout := cmp.Or(o.Timeout, t.patience())
	opts := t.options
	opts.Identity, opts.MetricsHandler, opts.WorkerHeartbeatInterval = o.Identity, o.Metrics, o.Beat
	opts.Logger = sdklog.NewStructuredLogger(quiet(o.Logger))
	opts.ConnectionOptions.GetSystemInfoTimeout = timeout
	opts.ConnectionOptions.DialOptions = append([]grpc.DialOption{grpc.WithChainUnaryInterceptor(patient)}, opts.ConnectionOptions.DialOptions...)

	dialCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := client.DialContext(dialCtx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("reach temporal at %s: %w", t.Address, ctx.Err())
		}
		return nil, &Unreachable{Address: t.Address, Source: t.Source, Err: err}
	}
	return c, nil
}

// Remote reports whether the server may be on another machine, and others may use it.
func (t Target) Remote() bool { return t.Source == Configuration || t.Source == Joined }

// patience returns how long the server has for its first answer.
func (t Target) patience() time.Duration {
	if t.Remote() {
		return dialTimeout
	}
	return localTimeout
}

func quiet(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Behind returns the server as one behind a door for other hosts, who know this machine by a key. It refuses a server that
// tells clients apart by more than their connection.
func (t Target) Behind(key engine.Key) (hosts.Server, error) {
	switch {
	case t.Source == Joined:
		return hosts.Server{}, fmt.Errorf("this machine has joined another as %s, which admits hosts itself", t.Host)
	case t.Source != Configuration:
		return hosts.Server{}, errors.New("the server is the engine of `starter up`, which admits hosts itself")
	case t.options.Credentials != nil || t.options.HeadersProvider != nil:
		return hosts.Server{}, fmt.Errorf("the server at %s knows this machine by %s, which hosts that join do not have: start each worker with TEMPORAL_ variables of its own", t.Address, t.Credentials())
	}
	return hosts.Server{Key: key, Address: t.Address, TLS: t.options.ConnectionOptions.TLS, Namespace: t.Namespace}, nil
}

// HasProfile reports whether a file of the standard configuration says something that would reach a
// client. It also returns true for a file that cannot be read.
func HasProfile() bool {
	p, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{DisableEnv: true})
	return err != nil || p.Address+p.Namespace+p.APIKey+p.Authority != "" || p.TLS != nil || p.Codec != nil || len(p.GRPCMeta) > 0
}

// Target is the server that Dial would connect to.
type Target struct {
	Address   string
	Namespace string
	Source    Source
	RunsDir   string // whose engine.json or home.json names the server; empty for the other sources
	Host      string // the name by which this machine has joined the server's; empty: it has not

	options client.Options
	key     engine.Key // of an engine
	api     string     // of an engine of the caller's own
}

// Credentials says in a few words by what a configured server can know this client, and whether
// others on the way can. It is empty when there is nothing.
func (t Target) Credentials() string {
	var by []string
	if tls := t.options.ConnectionOptions.TLS; tls != nil {
		by = append(by, "TLS")
		if len(tls.Certificates) > 0 {
			by = append(by, "a client certificate")
		}
	}
	if t.options.Credentials != nil {
		by = append(by, "an API key")
	}
	if t.options.HeadersProvider != nil {
		by = append(by, "headers")
	}
	return strings.Join(by, ", ")
}

// Resolve finds the server without a connection to it. The error is an *Unreachable when nothing
// names a server, and when engine.json does not belong to this user. An engine is reached without
// the credentials and the namespace of the standard configuration, because they belong to another
// server. The variables of `starter env` lead to the engine.json beside the key that they name.
func Resolve(o Options) (Target, error) {
	if o.Engine != "" {
		return ofEngine(OwnEngine, engine.File{Address: o.Engine, API: o.API, Open: o.Open}, o.Key), nil
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return Target{}, fmt.Errorf("read the temporal client configuration: %w", err)
	}
	home, err := ofHome(o.RunsDir)
	if profile.Address == "" && !errors.Is(err, fs.ErrNotExist) {
		return home, err
	}
	dir := o.RunsDir
	if tls := profile.TLS; tls != nil && filepath.Base(tls.ClientKeyPath) == engine.KeyFile {
		dir = filepath.Dir(tls.ClientKeyPath)
	}
	f, key, err := readFile(dir)
	switch {
	case profile.Address == "" && err != nil:
		return Target{}, err
	case profile.Address == "", err == nil && namesEngine(profile, f, key):
		t := ofEngine(EngineFile, f, key)
		t.RunsDir = dir
		return t, nil
	}
	opts, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return Target{}, fmt.Errorf("read the temporal client configuration: %w", err)
	}
	opts.Namespace = cmp.Or(opts.Namespace, client.DefaultNamespace)
	return Target{Address: opts.HostPort, Namespace: opts.Namespace, Source: Configuration, options: opts}, nil
}

// namesEngine reports whether a configuration names the engine of engine.json and its key. Another server may have the
// address of an engine that has ended.
func namesEngine(profile envconfig.ClientConfigProfile, f engine.File, key engine.Key) bool {
	return profile.Address == f.Address && profile.TLS != nil && profile.TLS.ClientKeyPath == key.Path && profile.APIKey == "" &&
		(profile.Namespace == "" || profile.Namespace == client.DefaultNamespace)
}

// readFile returns what engine.json of a runs directory says, and the key of its engine, which an open one does not ask
// for.
func readFile(runsDir string) (engine.File, engine.Key, error) {
	if runsDir == "" {
		return engine.File{}, engine.Key{}, &Unreachable{Source: Nowhere, Err: errNoConfiguration}
	}
	f, err := engine.ReadFile(runsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, engine.Key{}, &Unreachable{Source: Nowhere, Err: fmt.Errorf("%s does not exist in %s, and %w", engine.FileName, runsDir, errNoConfiguration)}
	}
	var key engine.Key
	if err == nil {
		key, err = engine.ReadKey(runsDir)
	}
	if err == nil {
		if foreign := rundir.Check(context.Background(), runsDir); foreign != nil {
			err = &Unreachable{Address: f.Address, Source: EngineFile, Err: foreign}
		}
	}
	if errors.Is(err, engine.ErrNotOurs) || errors.Is(err, fs.ErrNotExist) {
		err = &Unreachable{Address: f.Address, Source: EngineFile, Err: err}
	}
	return f, key, err
}

// ofEngine returns the target of an engine.
func ofEngine(source Source, f engine.File, key engine.Key) Target {
	opts := client.Options{HostPort: f.Address, Namespace: client.DefaultNamespace}
	// It is on this machine: compressing costs both sides more than what it saves.
	opts.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if !f.Open {
		opts.ConnectionOptions.TLS = key.TLS()
	}
	return Target{Address: f.Address, Namespace: opts.Namespace, Source: source, options: opts, key: key, api: f.API}
}

// ofHome returns the target of a host that has joined another machine. The error is fs.ErrNotExist if it has not.
func ofHome(runsDir string) (Target, error) {
	h, tls, err := hosts.ReadHome(runsDir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			err = &Unreachable{Source: Joined, Err: err}
		}
		return Target{}, err
	}
	opts := client.Options{HostPort: h.Address, Namespace: cmp.Or(h.Namespace, client.DefaultNamespace)}
	opts.ConnectionOptions.TLS = tls
	return Target{Address: h.Address, Namespace: opts.Namespace, Source: Joined, RunsDir: runsDir, Host: h.Name, options: opts}, nil
}

// Knock returns what engine.json of a runs directory says, after the engine has answered. It looks at no other
// configuration. The error is an *Unreachable when there is no engine, or another program in its place.
func Knock(ctx context.Context, runsDir string) (engine.File, error) {
	f, key, err := readFile(runsDir)
	if err != nil {
		return f, err
	}
	c, err := ofEngine(EngineFile, f, key).Dial(ctx, Options{})
	if err != nil {
		return f, err
	}
	c.Close()
	return f, nil
}

// WebUI returns a transport to the HTTP API and the Web UI of the engine, wherever it is after a restart. The host of a
// request has to be 127.0.0.1, by https. It returns nil for a server that is no engine.
func (t Target) WebUI() http.RoundTripper {
	if t.Remote() {
		return nil
	}
	return &http.Transport{TLSClientConfig: t.key.TLS(), DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		api := t.api
		if f, err := engine.ReadFile(t.RunsDir); t.RunsDir != "" && err == nil {
			api = f.API
		}
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(api, "https://"))
	}}
}

// Describe returns what the server says of a workflow. An empty run id means the last execution.
func Describe(ctx context.Context, c client.Client, id, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := c.DescribeWorkflow(ctx, id, runID)
	if err != nil {
		return nil, err
	}
	return d.RawResponse, nil
}
