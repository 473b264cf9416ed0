// Package forgetest is a server of repositories for tests: the few calls of GitHub's or Gitea's API that package forge
// makes, and git by HTTP, on loopback. What it holds can be compared after a test, and it can fail, refuse, limit its
// callers and lose answers on the way.
package forgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/forge"
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

// New starts a server with an empty repository whose default branch is main.
func New(t *testing.T, kind forge.Kind) *Server {
	t.Helper()
	root := t.TempDir()
	s := &Server{Kind: kind, Dir: filepath.Join(root, Owner, Name+".git"), statuses: map[string][]forge.Status{}, faults: map[string][]Fault{}, issues: map[int]*Issue{}, checks: map[string][]Check{}, logs: map[string]string{}, merges: map[string]string{}}
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--initial-branch=main", s.Dir}, {"-C", s.Dir, "config", "http.receivepack", "true"}} {
		cmd := exec.Command("git", args...)
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
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
			if _, password, _ := r.BasicAuth(); password != Token {
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

// Restart serves at the same address as before.
func (s *Server) Restart() {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		panic(fmt.Sprintf("forgetest: %v", err))
	}
	s.address, s.web = l.Addr().String(), &http.Server{Handler: s.handler}
	go s.web.Serve(l) // ends by Kill
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

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	prefix := "/api/v3"
	if s.Kind == forge.Gitea {
		prefix = "/api/v1"
	}
	path, below := strings.CutPrefix(r.URL.Path, prefix+"/repos/"+Owner+"/"+Name)
	if r.URL.Path == prefix+"/user" {
		path, below = "/user", true
	}
	if r.URL.Path == "/api/graphql" && s.Kind == forge.GitHub {
		path, below = "/graphql", true
	}
	if !below {
		answer(w, http.StatusNotFound, message("Not Found"))
		return
	}
	words := strings.Split(strings.Trim(path, "/"), "/")
	if words[0] == "storage" { // which knows no token, and must not get one
		s.serveLog(w, r, words[1:])
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		answer(w, http.StatusUnauthorized, message("Bad credentials"))
		return
	}
	call := strings.TrimSpace(r.Method + " " + words[0])
	fault := s.nextFault(call)
	time.Sleep(fault.Late)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if s.limited != nil {
		if header := s.limited(); header != nil {
			s.refused++
			fault = Fault{Code: http.StatusTooManyRequests, Header: header}
		}
	}
	if fault.Code != 0 {
		for name, values := range fault.Header {
			w.Header()[name] = values
		}
		answer(w, fault.Code, message("planted"))
		return
	}
	code, out := s.do(r, words)
	out = s.secondPage(r, out)
	if fault.Cut {
		b, _ := json.Marshal(out)
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.WriteHeader(code)
		_, _ = w.Write(b[:len(b)/2])
		return
	}
	if fault.Lose {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
		return
	}
	s.answer(w, r, code, out)
}

func (s *Server) nextFault(call string) (f Fault) {
	s.set(func() {
		if list := s.faults[call]; len(list) > 0 {
			f, s.faults[call] = list[0], list[1:]
		}
	})
	return f
}

// answer answers as the kind does: GitHub tells an entity tag, and answers 304 to who knows it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, code int, out any) {
	if s.Kind == forge.GitHub {
		w.Header().Set("X-RateLimit-Limit", "5000")
		if s.scopes != "" {
			w.Header().Set("X-OAuth-Scopes", s.scopes)
		}
		w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(5000-len(s.calls)+s.same))
		w.Header().Set("X-RateLimit-Reset", "1790003600")
	}
	if s.Kind == forge.GitHub && r.Method == http.MethodGet && code == http.StatusOK {
		b, _ := json.Marshal(out)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(b))
		w.Header().Set("ETag", tag)
		switch known := r.Header.Get("If-None-Match"); {
		case known == tag:
			s.same++
			w.WriteHeader(http.StatusNotModified)
			return
		case known != "":
			s.fresh++
		}
	}
	answer(w, code, out)
}

func message(text string) map[string]string { return map[string]string{"message": text} }

func answer(w http.ResponseWriter, code int, body any) {
	if text, ok := body.(rawText); ok {
		_, _ = io.WriteString(w, string(text))
		return
	}
	if code == http.StatusFound {
		w.Header().Set("Location", body.(string))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// do has the effect of a call.
func (s *Server) do(r *http.Request, words []string) (code int, out any) {
	var in struct {
		Title, Head, Base, Body, Query string
		Draft                          bool
		Variables                      struct{ ID string }
		forge.Status
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	if code, out := s.ofTicket(r, words, in.Query, in.Body); code != 0 {
		return code, out
	}
	switch {
	case words[0] == "" && r.Method == http.MethodGet:
		return http.StatusOK, map[string]any{"default_branch": "main", "archived": s.archived, "permissions": map[string]bool{"push": !s.noPush}}
	case words[0] == "graphql" && strings.Contains(in.Query, "markPullRequestReadyForReview"):
		for _, p := range s.pulls {
			if fmt.Sprintf("PR_%d", p.Number) == in.Variables.ID {
				p.Draft = false
				return http.StatusOK, map[string]any{"data": map[string]any{}}
			}
		}
		return http.StatusOK, map[string]any{"errors": []any{message("no such node")}}
	case words[0] == "pulls" && r.Method == http.MethodGet && len(words) == 1:
		return http.StatusOK, s.list(r)
	case words[0] == "pulls" && r.Method == http.MethodPost:
		return s.open(in.Title, in.Head, in.Base, in.Body, in.Draft)
	case words[0] == "pulls" && r.Method == http.MethodPatch && len(words) == 2:
		for _, p := range s.pulls {
			if fmt.Sprint(p.Number) == words[1] {
				if in.Body != "" {
					p.Body = in.Body
				}
				if in.Title != "" {
					p.Title = in.Title
				}
				p.changed = s.tick()
				return http.StatusOK, s.wire(p)
			}
		}
	case words[0] == "commits" && len(words) == 3 && words[2] == "statuses":
		list := []map[string]any{}
		for _, e := range s.statuses[words[1]] {
			word := "state"
			if s.Kind == forge.Gitea {
				word = "status"
			}
			list = append(list, map[string]any{word: e.State, "context": e.Context, "description": e.Description, "target_url": e.TargetURL})
		}
		return http.StatusOK, list
	case words[0] == "statuses" && r.Method == http.MethodPost && len(words) == 2:
		if !s.has(words[1]) {
			return http.StatusUnprocessableEntity, message("No commit found for SHA: " + words[1])
		}
		s.statuses[words[1]] = slices.Insert(s.statuses[words[1]], 0, in.Status)
		return http.StatusCreated, in.Status
	}
	return http.StatusNotFound, message("Not Found")
}

// list returns a page of the pull requests, the newest first.
func (s *Server) list(r *http.Request) []any {
	list := []any{}
	head := r.URL.Query().Get("head")
	for _, p := range slices.Backward(s.pulls) {
		if s.Kind == forge.Gitea || head == "" || head == Owner+":"+p.Head {
			list = append(list, s.wire(p))
		}
	}
	return list
}

// paged are the members of answers that are lists.
var paged = []string{"statuses", "check_runs", "check_suites"}

// secondPage returns what a page of a list holds: all is on the first. Gitea has all comments on each page.
func (s *Server) secondPage(r *http.Request, out any) any {
	if page := r.URL.Query().Get("page"); page == "" || page == "1" || s.Kind == forge.Gitea && strings.HasSuffix(r.URL.Path, "/comments") {
		return out
	}
	if m, ok := out.(map[string]any); ok {
		for _, member := range paged {
			if m[member] != nil {
				m[member] = []any{}
			}
		}
		return m
	}
	return []any{}
}

func (s *Server) open(title, head, base, body string, draft bool) (int, any) {
	for _, branch := range []string{head, base} {
		if !s.has("refs/heads/" + branch) {
			return http.StatusUnprocessableEntity, message("no branch " + branch)
		}
	}
	for _, p := range s.pulls {
		if p.Head == head && p.Base == base && p.State == "open" && !s.lax {
			if s.Kind == forge.Gitea {
				return http.StatusConflict, message("pull request already exists for these targets")
			}
			return http.StatusUnprocessableEntity, message("A pull request already exists for " + Owner + ":" + head + ".")
		}
	}
	p := &Pull{Number: len(s.pulls) + 1, Head: head, Base: base, Title: title, Body: body, Draft: draft && s.Kind == forge.GitHub, State: "open", changed: s.tick()}
	s.pulls = append(s.pulls, p)
	return http.StatusCreated, s.wire(p)
}

func (s *Server) wire(p *Pull) map[string]any {
	sha, _ := s.git("rev-parse", "refs/heads/"+p.Head)
	base, _ := s.git("rev-parse", "refs/heads/"+p.Base)
	out := map[string]any{
		"number": p.Number, "node_id": fmt.Sprintf("PR_%d", p.Number), "html_url": fmt.Sprintf("%s/%s/%s/pull/%d", s.URL, Owner, Name, p.Number),
		"state": p.State, "title": p.Title, "body": p.Body,
		"head": map[string]any{"ref": p.Head, "sha": sha, "repo": map[string]string{"full_name": Owner + "/" + Name}},
		"base": map[string]any{"ref": p.Base, "sha": base},
	}
	state := s.mergeable(base, sha)
	if s.Kind == forge.GitHub {
		out["draft"], out["mergeable_state"] = p.Draft, state
	} else {
		out["mergeable"] = state != "dirty"
	}
	if p.Merged {
		out["merged_at"] = "2026-11-28T00:00:00Z"
	}
	return out
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
