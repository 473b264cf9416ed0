package gittest

import (
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// User and Password are those that a server of an Origin admits.
const (
	User     = "kim"
	Password = "origin-password-0123456789"
)

// Origin is a bare repository, as a server has it, with a file and a commit on main.
type Origin struct {
	Dir string

	t        testing.TB
	readOnly atomic.Bool
}

// NewOrigin makes one.
func NewOrigin(t testing.TB) *Origin {
	t.Helper()
	o := &Origin{Dir: filepath.Join(t.TempDir(), "shop.git"), t: t}
	Run(t, ".", "init", "-q", "--bare", "-b", "main", o.Dir)
	o.Git("config", "http.receivepack", "true")
	o.Commit("main", "first")
	return o
}

// Git runs git in the repository and returns its output.
func (o *Origin) Git(args ...string) string {
	o.t.Helper()
	return Run(o.t, o.Dir, args...)
}

// Commit adds a commit with a file of the message to a branch, and returns it.
func (o *Origin) Commit(branch, message string) string {
	o.t.Helper()
	args := []string{"commit-tree", "-m", message, o.Tree("100644 blob " + o.Blob(message+"\n") + "\tREADME\n")}
	if tip := o.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch); tip != "" {
		args = append(args, "-p", tip)
	}
	commit := o.Git(args...)
	o.Git("update-ref", "refs/heads/"+branch, commit)
	return commit
}

// Blob stores a file and returns its id.
func (o *Origin) Blob(text string) string { return o.store(text, "hash-object", "-w", "--stdin") }

// Tree stores a directory of the lines of git mktree, and returns its id.
func (o *Origin) Tree(lines string) string { return o.store(lines, "mktree", "--missing") }

func (o *Origin) store(text string, args ...string) string {
	o.t.Helper()
	cmd := Command(o.t.Context(), o.Dir, args...)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// FileURL returns its URL on this machine.
func (o *Origin) FileURL() string { return "file://" + o.Dir }

// ReadOnly has the server refuse every push from now on.
func (o *Origin) ReadOnly() { o.readOnly.Store(true) }

// Serve serves the repository over HTTPS to User with Password alone, and returns its URL.
func (o *Origin) Serve(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(o.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != User || password != Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if o.readOnly.Load() && strings.Contains(r.URL.RequestURI(), "receive-pack") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_SSL_CAINFO", ca)
	return server.URL + "/" + filepath.Base(o.Dir)
}

// UseHelper gives this user's git a credential helper that knows the password.
func (o *Origin) UseHelper(t testing.TB) {
	t.Helper()
	UseHelper(t, User, Password)
}

// UseHelper gives this user's git a credential helper that knows a user and a password.
func UseHelper(t testing.TB, user, password string) {
	t.Helper()
	helper := filepath.Join(t.TempDir(), "helper")
	text := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = get ] && echo username=%s && echo password=%s\nexit 0\n", user, password)
	if err := proctest.WriteProgram(helper, text); err != nil {
		t.Fatal(err)
	}
	configure(t, "[credential]\n\thelper = "+helper+"\n")
}

// configure adds to the configuration of the user, which is one of the test's own, until the test ends.
func configure(t testing.TB, text string) {
	t.Helper()
	before, err := os.ReadFile(cmp.Or(os.Getenv("GIT_CONFIG_GLOBAL"), os.DevNull))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(name, append(before, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", name)
}
