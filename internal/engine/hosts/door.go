package hosts

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/version"
)

const (
	// lookEvery is how often the door reads the book: a host that is removed is cut off within that time.
	lookEvery = 200 * time.Millisecond
	// strangerLimit bounds the time that a connection has until it is known.
	strangerLimit = 10 * time.Second
	// maxUnknown bounds the connections of one address that are not known yet, maxStrangers those of all.
	maxUnknown, maxStrangers = 8, 256
	// wrongPause is the time that the door takes no code after a wrong one.
	wrongPause = 100 * time.Millisecond
)

// Server is the Temporal server behind a door.
type Server struct {
	Key       engine.Key  // by which hosts know this machine
	Address   string      // host:port
	TLS       *tls.Config // by which this machine reaches it; nil: without TLS
	Namespace string      // empty: the default one
}

// OfEngine returns an engine as the server of a door.
func OfEngine(e *engine.Engine) Server {
	s := Server{Key: e.Key, Address: e.Address}
	if !e.Open {
		s.TLS = e.Key.TLS()
	}
	return s
}

func (s Server) dial(ctx context.Context) (net.Conn, error) {
	if s.TLS == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	}
	config := s.TLS.Clone()
	config.NextProtos = []string{passThrough}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.Address)
}

// Door is the listener for other hosts. It is closed unless the book says that it is to be open.
type Door struct {
	runsDir string
	tls     *tls.Config
	server  Server
	log     *slog.Logger

	stop context.CancelFunc
	all  sync.WaitGroup

	code sync.Mutex // held while a code is looked up

	mu      sync.Mutex
	unknown map[string]int // connections that are not known yet, by their address
	total   int            // of unknown
	known   map[net.Conn]admitted
}

// admitted is an open connection of a host.
type admitted struct {
	certificate string
	tell        func(error) // reports to the host why the connection ends; nil: it is one to the server
}

// Open serves the hosts in the book of a runs directory, until Stop. It says in the log why it cannot listen.
func Open(runsDir string, s Server, log *slog.Logger) *Door {
	ctx, cancel := context.WithCancel(context.Background())
	d := &Door{runsDir: runsDir, server: s, log: log, stop: cancel, unknown: map[string]int{}, known: map[net.Conn]admitted{}}
	d.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.Key.Pair()}, ClientAuth: tls.RequireAnyClientCert,
		NextProtos: []string{passThrough, protocol}, SessionTicketsDisabled: true,
		VerifyConnection: d.verify,
	}
	d.all.Go(func() { d.keep(ctx) })
	return d
}

// Stop closes the door and all connections, and waits for their ends.
func (d *Door) Stop() {
	d.stop()
	d.all.Wait()
}

// keep listens where the book says, and cuts the connections of hosts that are not in it.
func (d *Door) keep(ctx context.Context) {
	var l net.Listener
	at, wrong := "", ""
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		book, err := Read(d.runsDir) // of one that cannot be read no host is known
		wanted := ""
		if err == nil && book.Open(time.Now()) {
			wanted = book.Listen
		}
		if l != nil && wanted != at {
			l.Close()
			l, at = nil, ""
		}
		if l == nil && wanted != "" {
			if l, err = net.Listen("tcp", wanted); err == nil {
				at = wanted
				d.all.Go(func() { d.accept(ctx, l) })
			}
		}
		if text := fmt.Sprint(err); err != nil && text != wrong {
			d.log.Warn("other hosts are not served", "error", text)
			wrong = text
		}
		d.cut(book)
		select {
		case <-ctx.Done():
			if l != nil {
				l.Close()
			}
			return
		case <-tick.C:
		}
	}
}

// cut closes the connections of hosts that the book does not have.
func (d *Door) cut(book Book) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn, of := range d.known {
		if book.byCertificate(of.certificate) != nil {
			continue
		}
		if of.tell != nil {
			_ = conn.SetWriteDeadline(time.Now().Add(strangerLimit))
			of.tell(errUnknownHost)
		}
		conn.Close()
	}
}

func (d *Door) accept(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptor is free
			time.Sleep(lookEvery)
			continue
		}
		from, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		if !d.begin(from) {
			conn.Close()
			continue
		}
		d.all.Go(func() { d.serve(ctx, conn, sync.OnceFunc(func() { d.end(from) })) })
	}
}

// begin counts a connection that is not known yet; false: there are too many.
func (d *Door) begin(from string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unknown[from] >= maxUnknown || d.total >= maxStrangers {
		return false
	}
	d.unknown[from]++
	d.total++
	return true
}

func (d *Door) end(from string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total--
	if d.unknown[from]--; d.unknown[from] == 0 {
		delete(d.unknown, from)
	}
}

// verify refuses, in the handshake, a connection to the engine with a certificate that is not in the book.
func (d *Door) verify(s tls.ConnectionState) error {
	book, err := Read(d.runsDir)
	if err == nil && s.NegotiatedProtocol == passThrough && book.byCertificate(certificateOf(s)) == nil {
		err = errUnknownHost
	}
	return err
}

var errUnknownHost = errors.New("this host has not joined, or was removed: `starter host join` on the home machine prints how to join")

func certificateOf(s tls.ConnectionState) string { return digest(s.PeerCertificates[0].Raw) }

// serve serves one connection. It calls named once the connection is of a host in the book.
func (d *Door) serve(ctx context.Context, raw net.Conn, named func()) {
	defer raw.Close()
	defer named()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	_ = raw.SetDeadline(time.Now().Add(strangerLimit))
	conn := tls.Server(raw, d.tls)
	if conn.HandshakeContext(ctx) != nil {
		return
	}
	certificate := certificateOf(conn.ConnectionState())
	switch conn.ConnectionState().NegotiatedProtocol {
	case passThrough:
		d.hold(raw, admitted{certificate: certificate}, named, func() { d.pass(ctx, conn) })
	case protocol:
		name, err := d.greet(ctx, conn, certificate)
		answer := Welcome{Name: name, Namespace: d.server.Namespace, Version: version.Read().Version, Time: time.Now()}
		if err != nil {
			answer.Error = err.Error()
		}
		tell := func(why error) { _ = send(conn, Welcome{Error: why.Error()}) }
		if send(conn, answer) == nil && err == nil { // the connection stays, so that the host learns that it is removed
			d.hold(raw, admitted{certificate, tell}, named, func() { _, _ = io.Copy(io.Discard, conn) })
			d.seen(certificate)
		}
	}
}

// hold calls serve with a connection that cut closes when its host is removed.
func (d *Door) hold(raw net.Conn, of admitted, named, serve func()) {
	d.mu.Lock()
	d.known[raw] = of
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.known, raw)
	}()
	if book, err := Read(d.runsDir); err != nil || book.byCertificate(of.certificate) == nil {
		if of.tell != nil { // it was removed meanwhile, maybe before cut could see it
			of.tell(errUnknownHost)
		}
		return
	}
	named()
	_ = raw.SetDeadline(time.Time{})
	serve()
}

// pass copies the bytes of a connection to the engine and back, until one of them ends.
func (d *Door) pass(ctx context.Context, conn net.Conn) {
	to, err := d.server.dial(ctx)
	if err != nil {
		d.log.Warn("a host does not reach the engine", "error", err)
		return
	}
	defer to.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{to, conn}, {conn, to}} {
		d.all.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		})
	}
	<-ended
	conn.Close()
}

// greet answers a greeting with the name by which the host is known, or with the reason why it is not welcome.
func (d *Door) greet(ctx context.Context, conn net.Conn, certificate string) (name string, err error) {
	var g greeting
	if receive(conn, &g) != nil {
		return "", errors.New("the greeting cannot be read: use the same version of Ratchet on both machines")
	}
	joins := len(g.Secret) > 0
	if joins {
		d.code.Lock()
		defer d.code.Unlock()
		own, _ := os.Hostname()
		if err := CheckName(g.Name); err != nil {
			return "", err
		}
		if g.Name == NameOf(own) {
			return "", fmt.Errorf("%s is the name of the home machine: give this host another with -host NAME", g.Name)
		}
	}
	err = update(ctx, d.runsDir, func(b *Book) error {
		h := b.byCertificate(certificate)
		if !joins && h == nil {
			return errUnknownHost
		}
		if here := version.Read().Version; g.Survey.Version != here && (h != nil || b.knows(g.Secret)) {
			return fmt.Errorf("this host has Ratchet %.60q, the home machine %q: install the same version on both", g.Survey.Version, here)
		}
		if joins {
			if h, err = b.redeem(g.Secret, certificate, g.Name, time.Now()); err != nil {
				return err
			}
		}
		name, h.Seen, h.Skew, h.Survey = h.Name, time.Now(), time.Until(g.Time), g.Survey
		return nil
	})
	if errors.Is(err, errUnknownCode) {
		time.Sleep(wrongPause)
	}
	return name, err
}

// seen notes that a connection of a host has just ended.
func (d *Door) seen(certificate string) {
	_ = update(context.Background(), d.runsDir, func(b *Book) error {
		if h := b.byCertificate(certificate); h != nil {
			h.Seen = time.Now()
		}
		return nil
	})
}
