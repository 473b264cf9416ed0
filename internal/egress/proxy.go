package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/egress/forwarder"
	"github.com/ratchet-dev/ratchet/internal/file"
)

// Limits bound what the programs in one box can take from this process. Zero values mean the
// defaults.
type Limits struct {
	Connections int           // at once, 256; more wait until one ends
	HeaderBytes int           // of one request, 32 KiB
	HeaderTime  time.Duration // for the head of one request, 20 s
	DialTime    time.Duration // for the name and the connection of one target, 30 s
	Idle        time.Duration // without a byte in either direction, 30 min
}

func (l Limits) withDefaults() Limits {
	set := func(value *time.Duration, fallback time.Duration) {
		if *value <= 0 {
			*value = fallback
		}
	}
	if l.Connections <= 0 {
		l.Connections = 256
	}
	if l.HeaderBytes <= 0 {
		l.HeaderBytes = 32 << 10
	}
	set(&l.HeaderTime, 20*time.Second)
	set(&l.DialTime, 30*time.Second)
	set(&l.Idle, 30*time.Minute)
	return l
}

// Config describes a Proxy.
type Config struct {
	// Dir is an existing directory; the socket gets a directory of its own in it, with mode 0700.
	// Empty means the system's directory for temporary files. A socket's path has at most 107 bytes.
	Dir     string
	Targets []allow.Target
	Limits  Limits
	// Lookup returns the addresses of a name; nil means the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Own returns the addresses of this host; nil means the addresses of its interfaces.
	Own func() ([]netip.Addr, error)
	// Refused is called with a short printable text at the first refusal of each target; nil: no calls. It must not block.
	Refused func(target string)
}

// Proxy serves the programs of one box.
type Proxy struct {
	dir     string
	dialer  dialer
	targets map[string]allow.Target // by their texts
	limits  Limits
	book    book
	server  *http.Server
	plain   *httputil.ReverseProxy
	done    chan struct{} // closed when Serve has returned
	// open ends at Close. It replaces the contexts of requests, which end when a client has sent all
	// that it has to say.
	open context.Context
	end  context.CancelFunc

	listener *listener

	mu      sync.Mutex
	closed  bool
	status  *session // the forwarder's own connection
	problem string   // why the forwarder did not start the program
	working sync.WaitGroup
}

// Open makes the socket and serves it until Close. A second call makes another Proxy.
func Open(c Config) (*Proxy, error) {
	dir, err := os.MkdirTemp(cmp.Or(c.Dir, file.SocketDir()), "net-")
	if err != nil {
		return nil, fmt.Errorf("directory of the proxy's socket: %w", err)
	}
	p := &Proxy{
		dir: dir, dialer: newDialer(c), targets: make(map[string]allow.Target, len(c.Targets)),
		limits: c.Limits.withDefaults(), done: make(chan struct{}),
	}
	p.book.tell = c.Refused
	p.open, p.end = context.WithCancel(context.Background())
	for _, t := range c.Targets {
		p.targets[t.String()] = t
	}
	unix, err := net.Listen("unix", p.Socket())
	if err == nil {
		err = os.Chmod(p.Socket(), 0o600)
	}
	if err != nil {
		p.end()
		return nil, errors.Join(fmt.Errorf("listen for the sandbox: %w", err), os.RemoveAll(dir))
	}
	p.listener = &listener{Listener: unix, free: make(chan struct{}, p.limits.Connections), closed: make(chan struct{}), open: map[*session]bool{}}
	p.serve()
	return p, nil
}

// Socket returns the path of the Unix socket. It is there until the forwarder is ready.
func (p *Proxy) Socket() string { return filepath.Join(p.dir, "s") }

// Forwarder returns the options of the forwarder for a box that has the socket at the path inside.
func (p *Proxy) Forwarder(inside string) forwarder.Options {
	o := forwarder.Options{Socket: inside, Proxy: proxyAddress(p.targets)}
	for text, t := range p.targets {
		if t.Loopback() {
			o.Tunnels = append(o.Tunnels, text)
		}
	}
	return o
}

// proxyAddress returns an address that none of the targets has.
func proxyAddress(targets map[string]allow.Target) string {
	t := allow.Target{Host: "127.0.0.1", Port: forwarder.DefaultPort}
	for targets[t.String()] != (allow.Target{}) {
		t.Port++
	}
	return t.String()
}

// Close ends all connections, removes the socket, and returns when everything of the proxy has
// ended. A second call does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.server.Close()
	p.listener.closeAll()
	<-p.done
	p.working.Wait()
	p.plain.Transport.(*http.Transport).CloseIdleConnections()
	return os.RemoveAll(p.dir)
}

// beginWork counts one more piece of work that Close waits for, and reports false after Close.
func (p *Proxy) beginWork() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.working.Add(1)
	}
	return !p.closed
}

func (p *Proxy) serve() {
	p.plain = p.newPlain()
	p.server = &http.Server{
		Handler: p,

		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
		ReadHeaderTimeout:            p.limits.HeaderTime,
		IdleTimeout:                  p.limits.HeaderTime,
		MaxHeaderBytes:               p.limits.HeaderBytes,
		ErrorLog:                     log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, sessionKey{}, c)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if s := c.(*session); state == http.StateClosed && s.unanswered.Load() {
				p.book.refuse("", "an incomplete request")
			}
		},
	}
	go func() {
		defer close(p.done)
		p.server.Serve(p.listener) // ends by Close
	}()
}

type sessionKey struct{}
