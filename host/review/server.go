// Package review serves the page on which people look at runs and decide. The page shows the answers of a run's queries
// and its record. Each action of a person is one update of that run, or one command of the program. The package stores
// only which commands are in progress. docs/review.md says who may use the page.
package review

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ratchet-dev/ratchet/host/inbox"
	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/merge"
	"github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/internal/rundir"
	"github.com/ratchet-dev/ratchet/internal/session"
	"github.com/ratchet-dev/ratchet/workflows/forge"
)

// Runs is the part of runs.Client that the page needs.
type Runs interface {
	runs.Lister
	Find(ctx context.Context, name string) (run.ID, error)
	View(context.Context, run.ID) (runs.View, error)
	Events(ctx context.Context, id run.ID, after string) ([]run.Event, error)
	// Changes returns a channel that holds a value when the run has gone on since the last one was taken.
	Changes(context.Context, run.ID) <-chan struct{}

	Decide(context.Context, run.ID, run.Decision) error
	Reply(context.Context, run.ID, run.Reply) error
	// NoteOnce leaves a note. Two calls with one name leave one note.
	NoteOnce(ctx context.Context, id run.ID, once string, n run.Note) error
	Cancel(context.Context, run.ID) error
}

// Record reads a run's record and repository on the disk of this host. For a run of another host both are missing.
type Record interface {
	// Load returns the artifact of a reference.
	Load(run.ID, run.Ref) ([]byte, error)
	// Usage returns what a run has used; zero: not known.
	Usage(run.ID) run.Usage
	// Diff returns what the commits of a run change.
	Diff(context.Context, rundir.Facts) ([]byte, error)
	// Standing returns where the commits of a run are.
	Standing(context.Context, rundir.Facts) (merge.Standing, error)
	// MarkMerged sets Merged of the completed runs whose commits a branch of the user's has.
	MarkMerged(context.Context, []runs.Listed)
}

// Sessions is the part of sessions.Client that the page needs.
type Sessions interface {
	inbox.Sessions
	Find(ctx context.Context, name string) (session.ID, error)
	Send(ctx context.Context, id session.ID, name, updateID string, message, out any) error
}

// Tickets is the part of runs.Client for tickets and pull requests that the page needs.
type Tickets interface {
	inbox.Tickets
	Ticket(ctx context.Context, name string) (runs.TicketView, error)
	AnswerTicket(ctx context.Context, name, text string) error
	// PullOf returns the pull request of a run; ok is false where there is none.
	PullOf(context.Context, run.ID) (out forge.Result, ok bool)
}

// Commands are the commands of the program that the page offers as buttons. Each makes all checks that it makes at a
// terminal.
type Commands interface {
	// Merge brings the commits of a run to a branch. The error matches *merge.ConflictError if both have changed the same
	// lines.
	Merge(ctx context.Context, id run.ID, into, by string) error
	// Undo takes back what the merge of a run brought to a branch.
	Undo(ctx context.Context, id run.ID, from, by string) error
	// Retry starts a run in place of one that is over: at its last commit, or at the branch onto.
	Retry(ctx context.Context, id run.ID, onto string) (run.ID, error)
	// Start starts a run by the settings.
	Start(context.Context, NewRun) (run.ID, error)
	// Goals lists the saved goals of the user and of a repository.
	Goals(ctx context.Context, repository string) ([]SavedGoal, error)
}

// NewRun is a run to start. An empty provider means the one in the settings. Saved says that the goal is the name of a
// saved goal, and Set has the values of its parameters, as name=value.
type NewRun struct {
	Repository, Goal, Provider string
	Saved                      bool
	Set                        []string
}

// SavedGoal is a goal that has a name.
type SavedGoal struct {
	Name       string   `json:"name"` // without the @
	Text       string   `json:"text"`
	Parameters []string `json:"parameters"`
}

// Off is the Address of a page that is not served.
const Off = "off"

// DefaultAddress is where the page is served when nothing else is said and the port is free.
const DefaultAddress = "127.0.0.1:8234"

// Config says where and for whom the page is served.
type Config struct {
	// Address is host:port to listen at; Off serves no page. Empty means DefaultAddress, or another port of the loopback
	// interface if that one is taken.
	Address string
	// URL is where browsers find the page, if that is another place: behind a proxy, or a name of the certificate.
	URL string
	// Cert and Key are the files of a certificate. With them the page is served by TLS.
	Cert, Key string
	// Proxy names the user of a request; nil: each browser logs in by a link.
	Proxy *Proxy
	// WebUI leads to the Web UI of the engine; nil: the page serves none.
	WebUI http.RoundTripper
	// ReplySecret is the key of signed replies to webhooks; nil: none are taken.
	ReplySecret notify.Secret
	// Sessions, Tickets and Commands are shown and offered; nil: none are.
	Sessions Sessions
	Tickets  Tickets
	Commands Commands
	// Hosts says in one line what the hosts that have joined do, or nothing; nil: nothing is said.
	Hosts func(context.Context) string
}

// Check returns an error for a configuration with a fault.
func (c Config) Check() error {
	if c.Address == Off {
		return nil
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("give both a certificate and its key, or neither")
	}
	u, err := c.publicURL()
	if err != nil {
		return err
	}
	if c.Address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("invalid address %q: want host:port, such as %s, or off", c.Address, DefaultAddress)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && ip == nil {
		return fmt.Errorf("invalid address %q: want the IP address of an interface, such as 127.0.0.1 or 0.0.0.0", host)
	}
	if ip != nil && !ip.IsLoopback() && c.Cert == "" && (c.Proxy == nil || c.Proxy.User != unknownUser) {
		return fmt.Errorf("other machines can reach %s: give a certificate or a proxy on another machine, or listen on the loopback interface", c.Address)
	}
	if ip != nil && ip.IsUnspecified() && u == nil {
		return fmt.Errorf("%s is on all interfaces: give the URL that browsers use, because the page answers to its own names only", c.Address)
	}
	return nil
}

// publicURL returns the URL of the configuration; nil: none.
func (c Config) publicURL() (*url.URL, error) {
	if c.URL == "" {
		return nil, nil
	}
	u, err := url.Parse(strings.TrimSuffix(c.URL, "/"))
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("invalid URL %q: want a scheme and a host, such as https://ratchet.example.com", c.URL)
	}
	if standard := map[string]string{"https": "443", "http": "80"}[u.Scheme]; u.Port() == standard {
		u.Host = strings.TrimSuffix(u.Host, ":"+standard) // as browsers name it
	}
	return u, nil
}

// Server is a page that is served.
type Server struct {
	URL  string // that links begin with
	key  Key
	tls  bool
	ui   bool
	door *door

	answers *answers

	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Start listens and serves until Stop.
func Start(c Config, engine Runs, record Record) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l, err := c.listenAt()
	if err != nil {
		return nil, fmt.Errorf("listen for the review page: %w", err)
	}
	s, err := newServer(c, l, engine, record)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.listener) // ends by Stop
	}()
	return s, nil
}

func newServer(c Config, l net.Listener, engine Runs, record Record) (*Server, error) {
	public, err := c.publicURL()
	if err != nil {
		return nil, err
	}
	byTLS := c.Cert != ""
	secure := byTLS || public != nil && public.Scheme == "https"
	hosts, origins := ownNames(l.Addr().String(), public, byTLS)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	s := &Server{URL: origins[0], key: NewKey(), tls: byTLS, ui: c.WebUI != nil, listener: l, done: make(chan struct{})}
	d := &door{
		key: s.key, hosts: hosts, origins: origins, port: port, secure: secure, proxy: c.Proxy,
		now: time.Now, used: map[string]bool{}, links: map[string]shortLink{},
	}
	s.door, s.answers = d, &answers{runs: engine, sessions: c.Sessions, secret: c.ReplySecret, now: time.Now, open: map[string]oneAnswer{}}
	d.answers = s.answers
	if c.WebUI != nil {
		d.webUI = newWebUI(c.WebUI)
	}
	p := &page{inbox: inbox.Inbox{Runs: engine, Sessions: c.Sessions, Tickets: c.Tickets}, runs: engine, record: record, sessions: c.Sessions, tickets: c.Tickets, commands: c.Commands, hosts: c.Hosts, now: time.Now, live: newLive(engine, c.Sessions), works: newWorks()}
	s.http = &http.Server{
		Handler: d.guardHandler(p.serveRequest), ConnContext: withPeer, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader, ErrorLog: discard,
	}
	if byTLS {
		cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate of the review page: %w", err)
		}
		s.listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	}
	return s, nil
}

// maxHeader has room for the address of a page of a workflow, which the Web UI sends whole: some 60 KB.
const maxHeader = 128 << 10

// listenAt listens at the address. A default port that is taken is replaced by another.
func (c Config) listenAt() (net.Listener, error) {
	l, err := net.Listen("tcp", cmp.Or(c.Address, DefaultAddress))
	if c.Address == "" && errors.Is(err, syscall.EADDRINUSE) {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return l, err
}

// Place returns how other processes of this user reach the page.
func (s *Server) Place() Place {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	n, _ := strconv.Atoi(port)
	return Place{URL: s.URL, Address: net.JoinHostPort(host, port), Port: n, PID: os.Getpid(), Key: s.key, TLS: s.tls, WebUI: s.ui}
}

// Short returns a short link in place of a login link of this page.
func (s *Server) Short(link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	if short, err := s.door.shorten(fragment); err == nil {
		return short
	}
	return link
}

// NoticeLife is the time in which the link of a notice logs in: people read them late.
const NoticeLife = 24 * time.Hour

// NoticePath returns the path of what a notice is about; empty: it is about nothing that has a page.
func NoticePath(n notify.Notice) string {
	switch {
	case n.Session != "":
		return sessionPath(session.ID(n.Session))
	case n.RunID != "":
		return RunPath(n.RunID)
	}
	return ""
}

// NoticeLink returns a link to a path for a notice. It logs in once. The person may decide, but not open the Web UI.
func (s *Server) NoticeLink(name, path string) string {
	return s.Short(s.URL + loginPath + "#" + s.key.loginCode(name, time.Now().Add(NoticeLife)) + path)
}

// Stop ends the page, open streams included. A second call does nothing.
func (s *Server) Stop() {
	_ = s.http.Close()
	<-s.done
}
