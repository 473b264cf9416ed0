package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/egress/forwarder"
)

// ServeHTTP serves one request of the box. The target of a request is the text of its first line,
// compared as it is with the texts of the list: no spelling of an address is read, and the
// dialed address comes from the list alone.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.beginWork() {
		return
	}
	defer p.working.Done()
	s := r.Context().Value(sessionKey{}).(*session)
	s.unanswered.Store(false)
	defer s.unanswered.Store(false)
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r, s)
	case r.URL.Host != "":
		p.forwardHTTP(w, r)
	case r.RequestURI == forwarder.ReadyPath, r.RequestURI == forwarder.FailedPath:
		p.noteForwarder(w, r, s)
	default:
		p.refuse(w, r.RequestURI, "not a request to a proxy")
	}
}

func (p *Proxy) refuse(w http.ResponseWriter, target, why string) {
	p.book.refuse(target, why)
	w.Header().Set("Connection", "close")
	http.Error(w, fmt.Sprintf("ratchet: %.200q: %s", target, why), http.StatusForbidden)
}

const notAllowed = "this sandbox may not reach it: allow its host and port"

// connect serves a tunnel.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, s *session) {
	target, ok := p.targets[r.RequestURI]
	if !ok {
		p.refuse(w, r.RequestURI, notAllowed)
		return
	}
	upstream, err := p.dial(p.open, target)
	if err != nil {
		p.answerDial(w, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		upstream.Close()
		return
	}
	p.working.Add(1)
	go func() {
		defer p.working.Done()
		defer conn.Close()
		defer upstream.Close()
		defer context.AfterFunc(p.open, func() { upstream.Close() })() // a target may stay silent when the box has ended
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return
		}
		early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
		newTunnel(s, upstream, p.limits.Idle).run(early)
	}()
}

// answerDial reports to the box that a target was not reached.
func (p *Proxy) answerDial(w http.ResponseWriter, err error) {
	w.Header().Set("Connection", "close")
	if _, refused := errors.AsType[*refusedError](err); refused {
		http.Error(w, "ratchet: "+err.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, "ratchet: "+strings.ReplaceAll(err.Error(), "\n", "; "), http.StatusBadGateway)
}

// dial connects to a target and notes it.
func (p *Proxy) dial(ctx context.Context, target allow.Target) (*outside, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.DialTime)
	defer cancel()
	conn, err := p.dialer.dial(ctx, target)
	if refused, ok := errors.AsType[*refusedError](err); ok {
		p.book.refuse(target.String(), refused.why)
		return nil, err
	}
	p.book.noteReached(target.String(), err == nil)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", target, err)
	}
	return &outside{conn, p.limits.Idle}, nil
}

// forwardHTTP serves a request of plain HTTP.
func (p *Proxy) forwardHTTP(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Host
	if !strings.Contains(strings.TrimPrefix(text, "["), "]:") && r.URL.Port() == "" {
		text += ":80"
	}
	// The line itself begins with the scheme and the host: no user name stands between them.
	if _, ok := p.targets[text]; !ok || !strings.HasPrefix(r.RequestURI, "http://"+r.URL.Host) {
		p.refuse(w, r.RequestURI, notAllowed)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(p.open, cancel)()
	p.plain.ServeHTTP(w, r.WithContext(ctx))
}

// newPlain returns the part that serves plain HTTP. It frames requests again, follows no redirect,
// and dials what the list says.
func (p *Proxy) newPlain() *httputil.ReverseProxy {
	transport := &http.Transport{
		DisableCompression: true,
		IdleConnTimeout:    p.limits.HeaderTime,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			target, ok := p.targets[address]
			if !ok {
				return nil, &refusedError{target: address, why: notAllowed}
			}
			return p.dial(ctx, target)
		},
	}
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: r.In.URL.Host, Path: r.In.URL.Path, RawPath: r.In.URL.RawPath, RawQuery: r.In.URL.RawQuery}
			r.Out.Host = r.In.URL.Host
			r.Out.Header.Del("Connection") // a connection that changes its protocol belongs into CONNECT
			r.Out.Header.Del("Upgrade")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { p.answerDial(w, err) },
	}
}

// maxProblem bounds the reason that a forwarder gives, in bytes.
const maxProblem = 500

// noteForwarder notes what the forwarder says. The first connection that says it is ready is the
// forwarder's: no program of the box runs before, and none can write to that connection.
func (p *Proxy) noteForwarder(w http.ResponseWriter, r *http.Request, s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch failed := r.RequestURI == forwarder.FailedPath; {
	case !failed && p.status == nil:
		p.status = s
		os.RemoveAll(p.dir) // the box has the socket bound in: a worker that is killed leaves nothing
	case failed && (p.status == s || p.status == nil) && p.problem == "":
		text, _ := io.ReadAll(io.LimitReader(r.Body, maxProblem))
		p.status, p.problem = s, string(text)
	default:
		p.refuse(w, r.RequestURI, "said before")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// Begun returns nil if the forwarder has started the program of the box, and the reason otherwise.
// Where it is not nil, the exit code says nothing about the program.
func (p *Proxy) Begun() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.problem != "":
		return fmt.Errorf("the forwarder of the sandbox: %s", p.problem)
	case p.status == nil:
		return errors.New("the forwarder of the sandbox did not start")
	}
	return nil
}
