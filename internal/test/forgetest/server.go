// Package forgetest is a server of repositories for tests: the few calls of GitHub's or Gitea's API that package forge
// makes, and git by HTTP, on loopback. What it holds can be compared after a test, and it can fail, refuse, limit its
// callers and lose answers on the way.
package forgetest

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
)

// Token is the token that the server admits.
const Token = "forge-test-token-0123456789"

// Owner and Name name the server's only repository.
const (
	Owner = "acme"
	Name  = "shop"
)

// Pull is a pull request of the server.
type Pull struct {
	Number      int
	Head, Base  string // branches
	Title, Body string
	Draft       bool
	State       string // open or closed
	Merged      bool
	Reviews     []*Review
	Comments    []*Comment
	changed     int64 // at this time of the server's clock
}

// Fault is what becomes of a call.
type Fault struct {
	Lose   bool          // the call has its effect, and the connection ends before the answer,
	Cut    bool          // or in the middle of it
	Late   time.Duration // the answer comes so much later
	Code   int           // if set: the call has no effect, and the answer is this code,
	Header http.Header   // with these headers
}

// Server is a fake server of one kind.
type Server struct {
	Kind forge.Kind
	URL  string
	Dir  string // the bare repository

	handler http.Handler
	web     *http.Server
	address string // host:port

	mu       sync.Mutex
	pulls    []*Pull
	statuses map[string][]forge.Status // by commit, the newest first
	calls    []string                  // METHOD path
	faults   map[string][]Fault        // by METHOD and the first word of the path below the repository
	noPush   bool
	archived bool
	admin    bool // the token's account
	app      *app // nil: Token is admitted
	issues   map[int]*Issue
	writers  []string           // accounts that may write
	checks   map[string][]Check // by commit
	logs     map[string]string  // of failed checks, by name
	last     int64              // id of a comment or review
	clock    int64              // counts the changes of issues and pull requests
	fresh    int                // answers to conditional calls that were not 304
	same     int                // 304s
	limited  func() http.Header // nil, or nil headers: no caller is limited
	refused  int                // calls that were limited
	lax      bool
	scopes   string
	strict   bool              // branches have to be up to date
	merges   map[string]string // mergeable states by the commits
}

var empty gittest.Template // of a repository

// New starts a server with an empty repository whose default branch is main.
func New(t *testing.T, kind forge.Kind) *Server {
	t.Helper()
	root := t.TempDir()
	s := &Server{Kind: kind, Dir: filepath.Join(root, Owner, Name+".git"), statuses: map[string][]forge.Status{}, faults: map[string][]Fault{}, issues: map[int]*Issue{}, checks: map[string][]Check{}, logs: map[string]string{}, merges: map[string]string{}}
	empty.Copy(t, s.Dir, func(dir string) {
		gittest.Run(t, dir, "init", "--quiet", "--bare", "--initial-branch=main")
		gittest.Run(t, dir, "config", "http.receivepack", "true")
	})
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	git := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
	}
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/"+Owner+"/"+Name+".git/") {
			if _, password, _ := r.BasicAuth(); !s.admits(password) {
				w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			git.ServeHTTP(w, r)
			if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
				s.set(s.notePush)
			}
			return
		}
		s.serveAPI(w, r)
	})
	s.address = "127.0.0.1:0"
	s.Restart()
	t.Cleanup(s.Kill)
	s.URL = "http://" + s.address
	return s
}

// Kill ends the server as SIGKILL does: it takes no call any more, and no caller gets an answer. What it holds stays, as
// it would in a database. A call that is under way may have its effect.
func (s *Server) Kill() { _ = s.web.Close() }

// Restart serves at the same address as before. The kernel gives its port to outgoing connections, too: Restart waits until
// such a one has ended.
func (s *Server) Restart() {
	l, err := net.Listen("tcp", s.address)
	for limit := time.Now().Add(time.Minute); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(limit); l, err = net.Listen("tcp", s.address) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		panic(fmt.Sprintf("forgetest: %v", err))
	}
	s.address, s.web = l.Addr().String(), &http.Server{Handler: s.handler}
	go s.web.Serve(l) // ends by Kill
}

// UseTLS serves by HTTPS at another address, which is the server's from now on. It returns the file with the certificate.
func (s *Server) UseTLS(t *testing.T) (ca string) {
	t.Helper()
	tls := httptest.NewTLSServer(s.handler)
	t.Cleanup(tls.Close)
	s.set(func() { s.URL = tls.URL })
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca
}

// Forge returns the server as a worker is configured for it.
func (s *Server) Forge() forge.Server { return forge.Server{Kind: s.Kind, URL: s.URL, Token: Token} }

// Remote returns the URL of the repository.
func (s *Server) Remote() string { return s.URL + "/" + Owner + "/" + Name + ".git" }

// Fail has the next calls of a method to a part of the repository, such as "POST pulls", end with these faults.
func (s *Server) Fail(call string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[call] = append(s.faults[call], faults...)
}

// AllowTwins has the server open a second pull request for a branch that has one, as no real server does.
func (s *Server) AllowTwins() { s.set(func() { s.lax = true }) }

// RequireUpToDate has the server merge no branch that its base is not merged into.
func (s *Server) RequireUpToDate() { s.set(func() { s.strict = true }) }

// SetScopes has the server tell the scopes of the token, as GitHub does of a classic one.
func (s *Server) SetScopes(scopes string) { s.set(func() { s.scopes = scopes }) }

// Limit refuses all calls with 429 and the headers while there are some. Limited returns how many it has refused.
func (s *Server) Limit(headers func() http.Header) { s.set(func() { s.limited = headers }) }

// Limited returns the number of calls that were refused by Limit.
func (s *Server) Limited() (n int) {
	s.set(func() { n = s.refused })
	return n
}

// Forbid takes the right to push away.
func (s *Server) Forbid() { s.set(func() { s.noPush = true }) }

// Archive archives the repository.
func (s *Server) Archive() { s.set(func() { s.archived = true }) }

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Pulls returns copies of the pull requests.
func (s *Server) Pulls() (list []Pull) {
	s.set(func() {
		for _, p := range s.pulls {
			list = append(list, *p)
		}
	})
	return list
}

// Change changes a pull request, as a person does on its page.
func (s *Server) Change(number int, change func(*Pull)) {
	s.set(func() {
		change(s.pulls[number-1])
		s.pulls[number-1].changed = s.tick()
	})
}

// tick returns the next time of the server's clock, which counts seconds.
func (s *Server) tick() int64 {
	s.clock++
	return s.clock
}

func timeOf(tick int64) string { return time.Unix(1_790_000_000+tick, 0).UTC().Format(time.RFC3339) }

// notePush notes that pull requests may have changed.
func (s *Server) notePush() {
	at := s.tick()
	for _, p := range s.pulls {
		p.changed = at
	}
}

// Statuses returns the statuses of a commit, the newest first.
func (s *Server) Statuses(commit string) (list []forge.Status) {
	s.set(func() { list = slices.Clone(s.statuses[commit]) })
	return list
}

// Calls returns the calls of the API so far.
func (s *Server) Calls() (list []string) {
	s.set(func() { list = slices.Clone(s.calls) })
	return list
}

// mergeable returns GitHub's word for whether a commit can be merged into a base.
func (s *Server) mergeable(base, head string) string {
	key := base + " " + head
	state, known := s.merges[key]
	if !known {
		state = "clean"
		if _, err := s.git("merge-base", "--is-ancestor", base, head); err != nil {
			state = "behind"
		}
		if _, err := s.git("merge-tree", "--write-tree", base, head); err != nil {
			state = "dirty"
		}
		s.merges[key] = state
	}
	if state == "behind" && !s.strict {
		return "clean"
	}
	return state
}

func (s *Server) has(revision string) bool {
	_, err := s.git("rev-parse", "--quiet", "--verify", revision+"^{commit}")
	return err == nil
}

func (s *Server) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"--git-dir", s.Dir}, args...)...)
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// Branch returns the commit of a branch of the server; empty: it has none.
func (s *Server) Branch(name string) string {
	out, err := s.git("rev-parse", "--quiet", "--verify", "refs/heads/"+name)
	if err != nil {
		return ""
	}
	return out
}
