// Package temporalclient makes the Temporal client of every binary, and the worker options that
// belong to it.
//
// The client uses the first of three servers: the engine that the caller started itself, the server
// that the standard Temporal client configuration names (environment variables, a profile of the
// config file, TLS, API key), or the engine whose address is in engine.json of the runs directory.
// Without any of them there is no server: the program at Temporal's usual port may belong to
// anyone. An engine has to prove with each answer that it is the engine that wrote engine.json. A
// configured server does not, unless EngineVariable says that it is an engine.
package temporalclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// TaskQueue is the task queue of Ratchet's workflows and activities.
const TaskQueue = "ratchet"

// Limits of Dial. A server on this machine that has ended refuses the connection at once. One that only is slow, because
// the machine is busy, deserves more time than a server behind a network that is silent.
const (
	dialTimeout  = 5 * time.Second
	localTimeout = 30 * time.Second
)

// Options state where Dial looks and how the client reports. The zero Options are usable.
type Options struct {
	Engine   string        // host:port of an engine of the caller's own; empty: the other sources are asked
	Token    engine.Token  // of Engine; empty: Engine need not prove itself
	RunsDir  string        // directory whose engine.json is read; empty: none
	Logger   *slog.Logger  // nil: the client and its workers log nothing
	Identity string        // empty: the SDK's own, pid@host
	Timeout  time.Duration // limit of Dial; zero: 30 s for an engine on this machine, 5 s for a configured server
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
	opts.Identity = o.Identity
	opts.Logger = sdklog.NewStructuredLogger(quiet(o.Logger))
	opts.ConnectionOptions.GetSystemInfoTimeout = timeout
	// patient wraps the interceptor that refuses an answer without a proof: the engine has not
	// refused a heartbeat that it did not answer.
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

// patience returns how long the server has for its first answer.
func (t Target) patience() time.Duration {
	if t.Source == Configuration {
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
	RunsDir   string // of the engine.json that names the server; empty for the other sources

	options client.Options
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
// server. The variables of `starter env` lead to the engine of an engine.json too, which proves itself: the file of the
// runs directory, or the one that EngineVariable names.
func Resolve(o Options) (Target, error) {
	if o.Engine != "" {
		return ofEngine(OwnEngine, engine.File{Address: o.Engine, Token: o.Token}), nil
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return Target{}, fmt.Errorf("read the temporal client configuration: %w", err)
	}
	f, err := readFile(o.RunsDir)
	switch {
	case profile.Address == "" && err != nil:
		return Target{}, err
	case profile.Address == "", err == nil && namesEngine(profile, f):
		return ofEngineFile(o.RunsDir, f), nil
	}
	if path := os.Getenv(EngineVariable); path != "" {
		return ofNamedFile(path, profile)
	}
	opts, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return Target{}, fmt.Errorf("read the temporal client configuration: %w", err)
	}
	opts.Namespace = cmp.Or(opts.Namespace, client.DefaultNamespace)
	return Target{Address: opts.HostPort, Namespace: opts.Namespace, Source: Configuration, options: opts}, nil
}

// EngineVariable is the variable in which `starter env` names the engine.json of its engine. A client in any
// directory asks what has the address of the configuration for the proof of that engine.
const EngineVariable = "RATCHET_ENGINE_FILE"

// ofNamedFile returns the engine of the engine.json that EngineVariable names. The error is an *Unreachable when the
// configuration leads elsewhere: the engine may have ended since, and another program may have its address.
func ofNamedFile(path string, profile envconfig.ClientConfigProfile) (Target, error) {
	if !filepath.IsAbs(path) || filepath.Base(path) != engine.FileName {
		return Target{}, &Unreachable{Address: profile.Address, Source: NamedFile, Err: fmt.Errorf("%s=%q is not the absolute path of an %s", EngineVariable, path, engine.FileName)}
	}
	dir := filepath.Dir(path)
	f, err := readFile(dir)
	if err != nil {
		return Target{}, &Unreachable{Address: profile.Address, Source: NamedFile, Err: err}
	}
	if profile.Address != f.Address || profile.APIKey != "" || cmp.Or(profile.Namespace, client.DefaultNamespace) != client.DefaultNamespace {
		return Target{}, &Unreachable{Address: profile.Address, Source: NamedFile, Err: fmt.Errorf("%s names the engine at %s", path, f.Address)}
	}
	return ofEngineFile(dir, f), nil
}

func ofEngineFile(runsDir string, f engine.File) Target {
	t := ofEngine(EngineFile, f)
	t.RunsDir = runsDir
	return t
}

// namesEngine reports whether a configuration names the engine of engine.json and has a key to it.
// Another server may have the address of an engine that has ended.
func namesEngine(profile envconfig.ClientConfigProfile, f engine.File) bool {
	return profile.Address == f.Address && profile.GRPCMeta["authorization"] != "" && profile.APIKey == "" &&
		(profile.Namespace == "" || profile.Namespace == client.DefaultNamespace)
}

// readFile returns what engine.json of a runs directory says.
func readFile(runsDir string) (engine.File, error) {
	if runsDir == "" {
		return engine.File{}, &Unreachable{Source: Nowhere, Err: errNoConfiguration}
	}
	f, err := engine.ReadFile(runsDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return engine.File{}, &Unreachable{Source: Nowhere, Err: fmt.Errorf("there is no %s in %s, and %w", engine.FileName, runsDir, errNoConfiguration)}
	case errors.Is(err, engine.ErrNotOurs), errors.Is(err, engine.ErrNotHere):
		return engine.File{}, &Unreachable{Source: EngineFile, Err: err}
	case err != nil:
		return engine.File{}, err
	case f.Token == "":
		return engine.File{}, &Unreachable{Address: f.Address, Source: EngineFile, Err: errNoToken}
	}
	return f, nil
}

func ofEngine(source Source, f engine.File) Target {
	opts := client.Options{HostPort: f.Address, Namespace: client.DefaultNamespace}
	// It is on this machine: compressing costs both sides more than what it saves.
	opts.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	if f.Token != "" {
		opts.ConnectionOptions.DialOptions = (&prover{address: f.Address, token: f.Token}).options()
	}
	return Target{Address: f.Address, Namespace: opts.Namespace, Source: source, options: opts}
}
